import { type Control, pauseSends, readControl, resumeSends } from '../../ledger/control.ts';
import { listSends, readSend, settleByHand } from '../../ledger/operations.ts';
import type { Send } from '../../ledger/send.ts';
import type { SendState } from '../../ledger/states.ts';
import { maskNumbers } from '../../masking.ts';
import { renderColumns } from '../../status/columns.ts';
import { toTheSecond } from '../../status/words.ts';
import { createDatabase, type Database, query } from '../../warehouse/database.ts';
import { type ConsentFlags, consents } from '../consent.ts';
import { commandSettings } from '../environment.ts';
import { CommandFailed } from '../exit.ts';
import { createRemarks } from '../remarks.ts';

interface Json {
  readonly json?: boolean;
}

export interface ListFlags extends Json {
  readonly state?: SendState;
  readonly limit: number;
}

/** Lists the newest sends; numbers masked, texts left out. */
export function runList({ state, limit, json }: ListFlags): Promise<void> {
  return inLedger(async (db) => {
    const sends = (await listSends(db, state, limit)).map(listed);
    if (json) return console.log(JSON.stringify(sends));
    if (sends.length === 0) return console.log(state === undefined ? 'There is no send.' : `No send is ${state}.`);
    const head = ['id', 'planned', 'rule', 'line', 'to', 'mode', 'state', 'why', 'cost'];
    const rows = sends.map((send) => {
      const { sendId, plannedAt, rule, line, number, state: is, reason, settledMicros } = send;
      const cost = settledMicros === null ? '' : dollars(settledMicros);
      // On a terminal there is no room for more; commands take the beginning of an id.
      const id = process.stdout.isTTY ? sendId.slice(0, 8) : sendId;
      return [id, toTheSecond(plannedAt), rule, line, number, modeOf(send), is, reason ?? '', cost];
    });
    console.log(renderColumns(head, rows));
    const simulated = sends.filter((send) => modeOf(send) === 'dry-run').length;
    if (simulated > 0)
      console.log(
        `${simulated} of ${sends.length} are dry-run: they were only simulated, and nothing of them was or will be sent.`,
      );
    const { isPaused, reason } = await readControl(db);
    if (isPaused) console.log(`All sends are paused: ${reason}. \`sends resume\` lets them out again.`);
  });
}

/** A live send that RULES_MODE of its worker, or its rule meanwhile, let get no further is dry-run as well. */
function modeOf({ mode, reason }: Pick<Send, 'mode' | 'reason'>): Send['mode'] {
  return reason === 'dry_run' ? 'dry-run' : mode;
}

function listed({ text: _, baseline: __, number, line, trigger: { kind, at }, ...send }: Send) {
  return { ...send, line: maskNumbers(line), number: maskNumbers(number), trigger: { kind, at } };
}

/** Shows one send in full, with its history. */
export function runShow(given: string, { json }: Json): Promise<void> {
  return inLedger(async (db) => {
    const found = await sendOf(db, given);
    if (json) return console.log(JSON.stringify({ ...found.send, events: found.events }));
    const { send, events } = found;
    const lines: Record<string, unknown> = {
      state: send.reason === null ? send.state : `${send.state} (${send.reason})`,
      rule: send.ruleVersion === null ? send.rule : `${send.rule}, version ${send.ruleVersion}`,
      mode: modeOf(send) === 'live' ? 'live' : 'dry-run: only simulated, nothing is sent',
      from: send.line,
      to: send.number,
      answers: `${send.trigger.kind} ${send.trigger.id} of ${toTheSecond(send.trigger.at)}`,
      segments: send.units ?? 'not counted',
      cost: costOf(send),
      message: send.messageId ?? 'none known',
    };
    for (const [name, value] of Object.entries(lines)) console.log(`${name.padEnd(8)}  ${value}`);
    console.log(`\n${send.text}\n`);
    for (const { at, to, reason, actor } of events) {
      console.log(`${toTheSecond(at)}  ${to.padEnd(11)}  ${actor}${reason === null ? '' : `: ${reason}`}`);
    }
  });
}

function costOf({ settledMicros, reservedMicros, state }: Send): string {
  if (settledMicros !== null) return dollars(settledMicros);
  if (reservedMicros > 0) return `at most ${dollars(reservedMicros)}`;
  return state === 'SENT' ? 'not reported' : 'nothing';
}

export interface SettleFlags extends ConsentFlags {
  readonly sent?: boolean;
  readonly force?: boolean;
}

/** Settles a send that needs a person, with `force` one that is still looked for; after a look where one is wanted. */
export function runSettle(given: string, { sent, force = false, ...flags }: SettleFlags): Promise<void> {
  const to = sent ? 'SENT' : 'NOT_SENT';
  return inLedger(async (db) => {
    const { sendId, state, reservedMicros } = (await sendOf(db, given)).send;
    if (state === 'UNKNOWN' && !force) {
      throw new CommandFailed(
        'This send is UNKNOWN: its thread is still looked through. --force settles it all the same.',
      );
    }
    if (state !== 'NEEDS_HUMAN' && state !== 'UNKNOWN') throw needsNobody(state);
    const amount = dollars(reservedMicros);
    const isMeant = await consents(flags, () => {
      const sentence = `It would be settled as ${to}, and ${amount} ${sent ? 'would count as spent' : 'would be free again'}.`;
      return Promise.resolve({ sentence, facts: { sendId, state } });
    });
    if (!isMeant) return;
    // A worker may have found it meanwhile, or somebody else have said it.
    if (!(await settleByHand(db, sendId, to, { isInsisted: force }))) throw needsNobody('settled meanwhile');
    if (flags.json) return console.log(JSON.stringify({ sendId, state: to, isDone: true }));
    console.log(`Settled as ${to}; ${amount} ${sent ? 'count as spent' : 'are free again'}.`);
  });
}

function needsNobody(state: string): CommandFailed {
  return new CommandFailed(`This send is ${state} and needs nobody's word: only NEEDS_HUMAN is settled by hand.`);
}

/** Throws the kill switch: when this is over, nothing leaves any more. */
export function runPause(words: readonly string[], { json }: Json): Promise<void> {
  return inLedger(async (db) => {
    await pauseSends(db, words.length > 0 ? words.join(' ') : 'by the operator');
    tell(await readControl(db), json);
  });
}

export function runResume({ json }: Json): Promise<void> {
  return inLedger(async (db) => {
    await resumeSends(db);
    tell(await readControl(db), json);
  });
}

function tell({ isPaused, reason }: Control, json: boolean | undefined): void {
  if (json) console.log(JSON.stringify({ isPaused, reason }));
  else
    console.log(isPaused ? `All sends are paused: ${reason}.` : 'Sends go out again, as far as RULES_MODE lets them.');
}

/** The one send whose id begins so. Throws `CommandFailed` when there is none, or more than one. */
async function sendOf(db: Database, given: string) {
  const [from, to] = ['0', 'f'].map(
    (digit) => given + 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx'.slice(given.length).replaceAll('x', digit),
  );
  const ids = await query<{ id: string }>(
    db,
    'select send_id as id from ops.sends where send_id between $1 and $2 limit 2',
    [from, to],
  );
  if (ids.length > 1) throw new CommandFailed(`Several sends begin with ${given}: name more of the id.`);
  const found = ids[0] && (await readSend(db, ids[0].id));
  if (!found) throw noSuch(given);
  return found;
}

async function inLedger(work: (db: Database) => Promise<void>): Promise<void> {
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  const url = settings.databaseUrl ?? '';
  await using database = createDatabase({ url, log: createRemarks(), maxConnections: 1, name: 'sends' });
  await work(database.db);
}

function dollars(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(micros % 10_000 === 0 ? 2 : 6)}`;
}

function noSuch(sendId: string): CommandFailed {
  return new CommandFailed(`There is no send ${sendId}: \`sends list\` shows them.`);
}
