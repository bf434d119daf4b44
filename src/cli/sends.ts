import { type Database, query, sql } from '../db/database.ts';
import { approveSend, listProposals } from '../ledger/approvals.ts';
import { pauseSends, readControl, resumeSends } from '../ledger/control.ts';
import { settleManually } from '../ledger/outcome.ts';
import { cancelSend, rejectSend } from '../ledger/plans.ts';
import { findSend, readSend, type SendState } from '../ledger/send.ts';
import { decidedWords } from '../ledger/words.ts';
import { UserError } from '../shared/errors.ts';
import { countOf, price } from '../shared/format.ts';
import { maskNumbers } from '../shared/masking.ts';
import { openDatabase } from './environment.ts';
import type { Output } from './output.ts';
import { type ConsentFlags, confirm, operatorName } from './terminal.ts';

/** Who decides. Default: the user of the machine. */
interface Who {
  readonly by?: string;
}

/** Records the outcome of a send in manual review; with `force`, also of one that is still being reconciled. */
export function settleSend(
  given: string,
  { sent, force = false, ...flags }: ConsentFlags & { sent?: boolean; force?: boolean },
): Promise<Output> {
  const to = sent ? 'SENT' : 'NOT_SENT';
  return inLedger(async (db) => {
    const { sendId, state, reservedMicros } = (await sendOf(db, given)).send;
    if (state === 'UNKNOWN' && !force) {
      throw new UserError('This send is UNKNOWN and still being reconciled. --force settles it anyway.');
    }
    if (state !== 'NEEDS_HUMAN' && state !== 'UNKNOWN') throw needsNoReview(state);
    const amount = price(reservedMicros);
    const preview = await confirm(flags, async () => ({
      sentence: `It would be settled as ${to}, and ${amount} ${sent ? 'would count as spent' : 'would be free again'}.`,
      data: { sendId, state },
    }));
    if (preview) return preview;
    // A worker or another operator may have settled it meanwhile.
    if (!(await settleManually(db, sendId, to, { isInsisted: force, by: operatorName() })))
      throw needsNoReview('settled meanwhile');
    return {
      json: { sendId, state: to, isDone: true },
      text: `Settled as ${to}; ${amount} ${sent ? 'count as spent' : 'are free again'}.`,
    };
  });
}

function needsNoReview(state: string): UserError {
  return new UserError(`This send is ${state}: only sends in NEEDS_HUMAN can be settled by hand.`);
}

/** Approves the text of a send, which it shows first. */
export function approve(given: string, { by = operatorName(), ...flags }: ConsentFlags & Who): Promise<Output> {
  return inLedger(async (db) => {
    const found = await sendOf(db, given);
    const { sendId } = found.send;
    const [proposal] = await listProposals(db, 1, sendId);
    if (!proposal) throw new UserError(decidedWords(found));
    const { text, number, answers, newerCount, seen } = proposal;
    const preview = await confirm(flags, async () => ({
      sentence: [
        ...(answers === null ? [] : [`They wrote: ${answers}`]),
        ...(newerCount === 0 ? [] : [`They have written ${countOf(newerCount, 'text')} since: read the thread first.`]),
        `This would be sent to ${number}, if every gate still lets it pass:\n${text}`,
      ].join('\n'),
      data: { sendId, text, answers, newerCount },
    }));
    if (preview) return preview;
    const result = await approveSend(db, sendId, { by, seen });
    if (result === 'changed') throw new UserError('Nothing was approved: the text was changed, or they wrote again.');
    if (result === 'not_waiting') throw new UserError(decidedWords(await sendOf(db, sendId)));
    return {
      json: { sendId, by, isDone: true },
      text: `Approved by ${by}. It leaves within seconds if every gate still lets it pass.`,
    };
  });
}

/** Rejects the text of a send that waits for approval. */
export function reject(id: string, { by = operatorName(), why }: Who & { why?: string }): Promise<Output> {
  return inLedger(async (db) => {
    const { sendId } = (await sendOf(db, id)).send;
    const given = { by, why: why && maskNumbers(why) };
    if (!(await rejectSend(db, sendId, given))) throw new UserError(decidedWords(await sendOf(db, sendId)));
    return { json: { sendId, by, isDone: true }, text: `Rejected by ${by}: it will never be sent.` };
  });
}

/** Cancels waiting sends. Exit code 1 if one of them can't be cancelled. */
export function cancelSends(given: readonly string[]): Promise<Output> {
  return inLedger(async (db) => {
    const ids: string[] = [];
    for (const each of given) ids.push((await sendOf(db, each)).send.sendId);
    const json: { sendId: string; state: SendState; isDone: boolean }[] = [];
    for (const sendId of new Set(ids)) {
      const isDone = await cancelSend(db, sendId, { by: operatorName() });
      json.push({ sendId, state: (await findSend(db, sendId))?.state ?? 'DENIED', isDone });
    }
    const left = json.filter(({ isDone }) => !isDone);
    const count = json.length - left.length;
    const refusals = left.map(
      ({ sendId, state }) =>
        `${sendId} is ${state}: only a send that waits (PLANNED, HELD, AWAITING_APPROVAL, RESERVED) can be cancelled.`,
    );
    return {
      json,
      ...(count > 0 && {
        text: `${count === 1 ? '1 send is' : `${count} sends are`} cancelled and will never be sent.`,
      }),
      failed: refusals.length > 0 && new UserError(refusals.join('\n')),
    };
  });
}

/** Pauses all sends. Once it resolves, no send leaves. */
export function pause(words: readonly string[]): Promise<Output> {
  return inLedger(async (db) => {
    await pauseSends(db, words.length > 0 ? words.join(' ') : `from the ${operatorName()}`);
    return controlOf(db);
  });
}

export function resume(): Promise<Output> {
  return inLedger(async (db) => {
    await resumeSends(db, `from the ${operatorName()}`);
    return controlOf(db);
  });
}

async function controlOf(db: Database): Promise<Output> {
  const { isPaused, reason } = await readControl(db);
  const text = isPaused ? `All sends are paused: ${reason}.` : 'Sends are resumed, as far as RULES_MODE allows.';
  return { json: { isPaused, reason }, text };
}

/** The only send whose id has this prefix. Rejects with `UserError` if there is none, or more than one. */
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
  if (!found) throw new UserError(`There is no send ${given}: the page /sends lists them.`);
  return found;
}

async function inLedger(work: (db: Database, timeZone: string) => Promise<Output>): Promise<Output> {
  await using database = await openDatabase('sends');
  return await work(database.db, database.settings.timeZone);
}
