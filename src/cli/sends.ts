import { type Database, query, sql } from '../db/database.ts';
import { type Control, pauseSends, readControl, resumeSends } from '../ledger/control.ts';
import { cancelSend } from '../ledger/plans.ts';
import { findSend, listSends, readSend, type Send, type SendState } from '../ledger/send.ts';
import { settleManually } from '../ledger/settle.ts';
import { sendReasonWords, sendStateWords, toTheSecond } from '../ops/format.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { maskNumbers } from '../shared/masking.ts';
import { openDatabase } from './environment.ts';
import { type ConsentFlags, confirm, renderColumns } from './terminal.ts';

interface Json {
  readonly json?: boolean;
}

export function runList({ state, limit, json }: Json & { state?: SendState; limit: number }): Promise<void> {
  return inLedger(async (db, timeZone) => {
    const sends = (await listSends(db, state, limit)).map(listed);
    if (json) return console.log(JSON.stringify(sends));
    if (sends.length === 0) return console.log(state === undefined ? 'There is no send.' : `No send is ${state}.`);
    const head = ['id', 'planned', 'rule', 'line', 'to', 'mode', 'state', 'why', 'cost'];
    const rows = sends.map((send) => {
      const { sendId, plannedAt, rule, line, number, state: is, reason, settledMicros } = send;
      const cost = settledMicros === null ? '' : dollars(settledMicros);
      // Shortened on a terminal; commands accept the beginning of an id.
      const id = process.stdout.isTTY ? sendId.slice(0, 8) : sendId;
      const words = [sendStateWords(is, reason), reason === null ? '' : sendReasonWords(is, reason)];
      return [id, toTheSecond(plannedAt, timeZone), rule, line, number, modeOf(send), ...words, cost];
    });
    console.log(renderColumns(head, rows));
    const simulated = sends.filter((send) => modeOf(send) === 'dry-run').length;
    if (simulated > 0)
      console.log(`${simulated} of ${sends.length} are dry-run: they were only simulated and are never sent.`);
    const { isPaused, reason } = await readControl(db);
    if (isPaused) console.log(`All sends are paused: ${reason}. ${toType('sends resume')} resumes them.`);
  });
}

/** Also "dry-run" for a live send that was stopped by its worker's RULES_MODE, or by a later mode of its rule. */
function modeOf({ mode, reason }: Pick<Send, 'mode' | 'reason'>): Send['mode'] {
  return reason === 'dry_run' ? 'dry-run' : mode;
}

function listed({ text: _, baseline: __, number, line, trigger: { kind, at }, ...send }: Send) {
  return { ...send, line: maskNumbers(line), number: maskNumbers(number), trigger: { kind, at } };
}

export function runShow(given: string, { json }: Json): Promise<void> {
  return inLedger(async (db, timeZone) => {
    const found = await sendOf(db, given);
    if (json) return console.log(JSON.stringify({ ...found.send, events: found.events }));
    const { send, events } = found;
    const lines: Record<string, unknown> = {
      state: `${inWords(send.state, send.reason)} (${send.state})`,
      rule: send.ruleVersion === null ? send.rule : `${send.rule}, version ${send.ruleVersion}`,
      mode: modeOf(send) === 'live' ? 'live' : 'dry-run: only simulated, nothing is sent',
      from: send.line,
      to: send.number,
      answers: `${send.trigger.kind} ${send.trigger.id} of ${toTheSecond(send.trigger.at, timeZone)}`,
      segments: send.units ?? 'not counted',
      cost: costOf(send),
      message: send.messageId ?? 'none known',
    };
    for (const [name, value] of Object.entries(lines)) console.log(`${name.padEnd(8)}  ${value}`);
    console.log(`\n${send.text}\n`);
    for (const { at, to, reason, actor } of events) {
      console.log(`${toTheSecond(at, timeZone)}  ${actor.padEnd(8)}  ${inWords(to, reason)}`);
    }
  });
}

/** A state and its reason; codes are for `--json`. */
function inWords(state: SendState, reason: string | null): string {
  return `${sendStateWords(state, reason)}${reason === null ? '' : `: ${sendReasonWords(state, reason)}`}`;
}

function costOf({ settledMicros, reservedMicros, state }: Send): string {
  if (settledMicros !== null) return dollars(settledMicros);
  if (reservedMicros > 0) return `at most ${dollars(reservedMicros)}`;
  return state === 'SENT' ? 'not reported' : 'nothing';
}

/** Records the outcome of a send in manual review; with `force` also of one that is still being reconciled. */
export function runSettle(
  given: string,
  { sent, force = false, ...flags }: ConsentFlags & { sent?: boolean; force?: boolean },
): Promise<void> {
  const to = sent ? 'SENT' : 'NOT_SENT';
  return inLedger(async (db) => {
    const { sendId, state, reservedMicros } = (await sendOf(db, given)).send;
    if (state === 'UNKNOWN' && !force) {
      throw new UserError('This send is UNKNOWN and still being reconciled. --force settles it anyway.');
    }
    if (state !== 'NEEDS_HUMAN' && state !== 'UNKNOWN') throw needsNoReview(state);
    const amount = dollars(reservedMicros);
    const isMeant = await confirm(flags, () => {
      const sentence = `It would be settled as ${to}, and ${amount} ${sent ? 'would count as spent' : 'would be free again'}.`;
      return Promise.resolve({ sentence, data: { sendId, state } });
    });
    if (!isMeant) return;
    // A worker, or another operator, may have settled it meanwhile.
    if (!(await settleManually(db, sendId, to, { isInsisted: force }))) throw needsNoReview('settled meanwhile');
    if (flags.json) return console.log(JSON.stringify({ sendId, state: to, isDone: true }));
    console.log(`Settled as ${to}; ${amount} ${sent ? 'count as spent' : 'are free again'}.`);
  });
}

function needsNoReview(state: string): UserError {
  return new UserError(`This send is ${state}: only sends in NEEDS_HUMAN can be settled by hand.`);
}

/** Cancels sends that wait. Exit code 1 if one of them could not be cancelled. */
export function runCancel(given: readonly string[], { json }: Json): Promise<void> {
  return inLedger(async (db) => {
    const ids: string[] = [];
    for (const each of given) ids.push((await sendOf(db, each)).send.sendId);
    const results: { sendId: string; state: SendState; isDone: boolean }[] = [];
    for (const sendId of new Set(ids)) {
      const isDone = await cancelSend(db, sendId);
      const state = (await findSend(db, sendId))?.state ?? 'DENIED';
      results.push({ sendId, state, isDone });
    }
    const left = results.filter(({ isDone }) => !isDone);
    if (left.length > 0) process.exitCode = 1;
    if (json) return console.log(JSON.stringify(results));
    const count = results.length - left.length;
    if (count > 0) console.log(`${count === 1 ? '1 send is' : `${count} sends are`} cancelled and will never be sent.`);
    for (const { sendId, state } of left) {
      console.error(`${sendId} is ${state}: only a send that waits (PLANNED, HELD, RESERVED) can be cancelled.`);
    }
  });
}

/** Pauses all sends. After it resolves, no send leaves. */
export function runPause(words: readonly string[], { json }: Json): Promise<void> {
  return inLedger(async (db) => {
    await pauseSends(db, words.length > 0 ? words.join(' ') : 'by the operator');
    print(await readControl(db), json);
  });
}

export function runResume({ json }: Json): Promise<void> {
  return inLedger(async (db) => {
    await resumeSends(db);
    print(await readControl(db), json);
  });
}

function print({ isPaused, reason }: Control, json: boolean | undefined): void {
  if (json) console.log(JSON.stringify({ isPaused, reason }));
  else console.log(isPaused ? `All sends are paused: ${reason}.` : 'Sends are resumed, as far as RULES_MODE allows.');
}

/** The only send whose id has this prefix. Rejects with `UserError` when there is none, or more than one. */
async function sendOf(db: Database, given: string) {
  const [from, to] = ['0', 'f'].map(
    (digit) => given + 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx'.slice(given.length).replaceAll('x', digit),
  );
  const ids = await query<{ id: string }>(
    db,
    sql`select send_id as id from ops.sends where send_id between ${from} and ${to} limit 2`,
  );
  if (ids.length > 1) throw new UserError(`Several sends begin with ${given}: give more characters of the id.`);
  const found = ids[0] && (await readSend(db, ids[0].id));
  if (!found) throw new UserError(`There is no send ${given}: ${toType('sends list')} shows them.`);
  return found;
}

async function inLedger(work: (db: Database, timeZone: string) => Promise<void>): Promise<void> {
  await using database = await openDatabase('sends', { alike: ['TIME_ZONE'] });
  await work(database.db, database.settings.timeZone);
}

function dollars(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(micros % 10_000 === 0 ? 2 : 6)}`;
}
