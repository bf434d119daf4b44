import { bumpTargets } from '../../inbox/bumps.ts';
import { inTransaction, query, type Transaction } from '../../warehouse/database.ts';
import { senderForm } from '../../warehouse/entities/directory/lines.ts';
import { threadKey } from '../../warehouse/entities/texts/conversations.ts';
import { release, spend } from '../budgets.ts';
import { holdControl, noteUnitPrice, pauseOnUnknowns, readControl } from '../control.ts';
import { readFacts } from '../gates/facts.ts';
import { judge, type Verdict } from '../gates/gates.ts';
import type { Ledger } from '../ledger.ts';
import { findSend, lockSend, type Send, type SendPlan } from '../send.ts';
import { isOpenSend } from '../states.ts';
import { takeStep } from '../transitions.ts';
import { type Outcome, outcomeOfAnswer, outcomeOfError } from './outcome.ts';
import { type Reserved, refuse } from './preparation.ts';

/** How the way from a reservation ended. `lost`: somebody else had it meanwhile, and nothing was done. */
export type Delivered =
  | 'sent'
  | 'skipped'
  | 'rejected'
  | 'not_sent'
  | 'unknown'
  | 'denied'
  | 'held'
  | 'expired'
  | 'paused'
  | 'taken_back'
  | 'lost';

/** A send whose request may leave now, with its line as the service wants it named. */
interface Dispatched extends Send {
  readonly from: string;
}

/** Tries that provably had no effect, before it is given up. The age of what is answered ends most of them sooner. */
const mostTries = 200;

/** Each wait after such a try is longer by this factor, and none is longer than `longestRetryMs`. */
const retryGrowth = 1.25;
const longestRetryMs = 60_000;

/** RESERVED to an outcome: a fresh read, the commit that lets it out, one request, and what that came to. */
export async function deliver(ledger: Ledger, reserved: Reserved): Promise<Delivered> {
  const { sendId, line, number } = reserved;
  let blocked: boolean;
  try {
    const isWhole = await ledger.look({ line, number, participants: [] });
    if (!isWhole) return await takeBack(ledger, reserved, 'the thread could not be read whole');
    blocked = await ledger.isBlocked(line, number);
  } catch (error) {
    ledger.log.info({ err: error, sendId }, 'The thread of a send could not be read; the send waits');
    return await takeBack(ledger, reserved, 'the thread could not be read');
  }
  // Before the transaction: whoever stands still during its commit learns of it only when the others have gone on.
  const mayLeave = within(ledger.timing.stallMs);
  const dispatched = await inTransaction(ledger.db, (tx) => dispatch(tx, ledger, reserved, blocked));
  if (typeof dispatched === 'string') return dispatched;
  const outcome = await post(ledger, dispatched, mayLeave);
  return settle(ledger, dispatched, outcome);
}

/**
 * The commit of this transaction comes before the first byte. It holds the kill switch, so that whoever throws it waits
 * for the commit, and lets nothing out after it.
 */
async function dispatch(
  tx: Transaction,
  ledger: Ledger,
  { sendId, fence }: Reserved,
  isBlocked: boolean,
): Promise<Dispatched | Delivered> {
  await commitDurably(tx);
  const control = await readControl(tx, 'share');
  const send = await lockSend(tx, sendId);
  // When the lease is over, it is somebody else's.
  if (send?.state !== 'RESERVED' || send.fence !== fence || send.isDue) return 'lost';
  const facts = await readFacts(tx, send);
  if (control.isPaused || facts.ruleMode === 'unknown') {
    await release(tx, send);
    const set = { reserved_micros: 0 };
    const reason = control.isPaused ? 'paused' : 'no rules in force';
    await takeStep(tx, { sendId, from: ['RESERVED'], fence, to: 'PLANNED', reason, dueInMs: 0, set });
    return 'paused';
  }
  // Other sends have shown a higher price since the reservation.
  const { unitMicros } = ledger.limits();
  if (send.reservedMicros < (send.units ?? 1) * Math.max(unitMicros, control.highestUnitMicros)) {
    await release(tx, send);
    const set = { reserved_micros: 0 };
    const reason = 'the price has risen since it was reserved';
    await takeStep(tx, { sendId, from: ['RESERVED'], fence, to: 'PLANNED', reason, dueInMs: 0, set });
    return 'taken_back';
  }
  const judged = judge(send, facts, isBlocked, ledger.limits());
  const isDry = judged.kind === 'pass' && facts.ruleMode === 'dry-run';
  const verdict: Verdict = isDry ? { kind: 'deny', reason: 'dry_run' } : judged;
  if (verdict.kind !== 'pass') {
    await release(tx, send);
    return refuse(tx, ledger, send, verdict);
  }
  const baseline = await messagesOf(tx, send);
  await takeStep(tx, {
    sendId,
    from: ['RESERVED'],
    fence,
    to: 'DISPATCHED',
    dueInMs: ledger.timing.leaseMs,
    set: { baseline_message_ids: baseline },
  });
  return { ...send, from: await senderForm(tx, send.line) };
}

/**
 * A Postgres can be set to answer a commit before it is on the disk. What a crash took back of this one would be let out
 * again.
 */
async function commitDurably(tx: Transaction): Promise<void> {
  await query(
    tx,
    `select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'`,
    [],
  );
}

async function messagesOf(tx: Transaction, { line, number }: Send): Promise<string[]> {
  const rows = await query<{ id: string }>(
    tx,
    'select message_id as id from warehouse.sms_messages where line = $1 and number = $2',
    [line, number],
  );
  return rows.map(({ id }) => id);
}

/** Whether so many milliseconds from now are not over. Of two clocks, since one of them rests while a machine sleeps. */
function within(milliseconds: number): () => boolean {
  const [running, wall] = [performance.now(), Date.now()];
  return () => performance.now() - running <= milliseconds && Date.now() - wall <= milliseconds;
}

/** The one request of a send, which leaves in time or not at all. */
async function post({ messages, timing }: Ledger, send: Dispatched, mayLeave: () => boolean): Promise<Outcome> {
  try {
    const { from, number, text } = send;
    const call = { answerMs: timing.answerMs, mayLeave };
    return outcomeOfAnswer(await messages.send({ from, to: [number], message: text }, call));
  } catch (error) {
    return outcomeOfError(error);
  }
}

/**
 * Writes down what the request came to. An answer that comes after the lease still counts, as long as nobody has found
 * the message in the thread: it is the only one that this fence has made.
 */
async function settle(ledger: Ledger, { sendId, fence, line, number }: Send, outcome: Outcome): Promise<Delivered> {
  const { db, log, pauses, onRings } = ledger;
  const [how, rings] = await inTransaction(db, async (tx) => {
    if (outcome.kind === 'unknown') await holdControl(tx);
    const send = await findSend(tx, sendId);
    if (!send || send.fence !== fence) return ['lost', []] as const;
    const ended = await settleIn(tx, ledger, { ...send, fence: send.fence }, outcome);
    const thread = threadKey({ line, number, participants: [] });
    return [ended, ended === 'sent' ? await bumpTargets(tx, [{ kind: 'thread', key: thread }], pauses) : []] as const;
  });
  onRings(rings);
  if (how === 'unknown')
    log.warn({ sendId, ...reasonOf(outcome) }, 'The outcome of a send is unknown; the thread will tell');
  if (how === 'rejected') log.warn({ sendId, ...reasonOf(outcome) }, 'The service refused a send; nothing was charged');
  return how;
}

function reasonOf(outcome: Outcome): { reason?: string } {
  return outcome.kind === 'sent' ? {} : { reason: outcome.reason };
}

async function settleIn(tx: Transaction, ledger: Ledger, send: Send, outcome: Outcome): Promise<Delivered> {
  const step = { sendId: send.sendId, fence: send.fence, from: ['DISPATCHED', 'UNKNOWN'] } as const;
  const free = { reserved_micros: 0 };
  switch (outcome.kind) {
    case 'sent': {
      const { messageId, micros, units, type, unitMicros } = outcome;
      const set = {
        reserved_micros: micros === undefined ? send.reservedMicros : 0,
        settled_micros: micros ?? null,
        units: units ?? send.units,
        message_type: type ?? 'sms',
        // One that another send has is no more than none: the thread will tell.
        message_id: messageId === undefined || (await isTaken(tx, send, messageId)) ? null : messageId,
      };
      // The switch is locked before the send by everybody.
      await noteUnitPrice(tx, highestUnit(send, { micros, unitMicros }));
      if (!(await takeStep(tx, { ...step, to: 'SENT', set }))) return 'lost';
      await spend(tx, send, micros ?? send.reservedMicros);
      return 'sent';
    }
    case 'skipped':
      if (!(await takeStep(tx, { ...step, to: 'SKIPPED', reason: outcome.reason, set: free }))) return 'lost';
      await release(tx, send);
      if (outcome.hasOptedOut) await rememberOptOut(tx, send);
      return 'skipped';
    case 'rejected':
      if (!(await takeStep(tx, { ...step, to: 'REJECTED', reason: outcome.reason, set: free }))) return 'lost';
      await release(tx, send);
      return 'rejected';
    case 'not_sent': {
      const tries = send.tries + (outcome.countsAsTry ? 1 : 0);
      const set = { ...free, tries };
      if (!(await takeStep(tx, { ...step, to: 'NOT_SENT', reason: outcome.reason, set }))) return 'lost';
      await release(tx, send);
      if (tries >= mostTries || (await hasSuccessor(tx, send))) return 'not_sent';
      const again = { sendId: send.sendId, from: ['NOT_SENT'], to: 'PLANNED', reason: outcome.reason } as const;
      await takeStep(tx, { ...again, dueInMs: outcome.retryAfterMs ?? (await retryWait(tx, ledger, send)) });
      return 'not_sent';
    }
    case 'unknown':
      return becomeUnknown(tx, ledger, send, outcome.reason);
  }
}

/**
 * The price of a segment that an answer shows: never less than what reserves as much for the same text as it cost now,
 * however its segments were counted.
 */
function highestUnit(
  { units }: Pick<Send, 'units'>,
  { micros = 0, unitMicros = 0 }: { readonly micros?: number | undefined; readonly unitMicros?: number | undefined },
): number {
  return Math.max(unitMicros, Math.ceil(micros / Math.max(1, units ?? 1)));
}

/** Whether another send of the thread is on its way: while this one's outcome was unknown, it no longer kept others out. */
async function hasSuccessor(tx: Transaction, { sendId, line, number, mode }: Send): Promise<boolean> {
  const others = await query(
    tx,
    `select from ops.sends s where line = $1 and number = $2 and mode = $3 and send_id <> $4 and ${isOpenSend}`,
    [line, number, mode, sendId],
  );
  return others.length > 0;
}

/** Grows with every try so far that had no effect, also with those that are not counted. */
async function retryWait(tx: Transaction, { timing }: Ledger, { sendId }: Send): Promise<number> {
  const [row] = await query<{ count: number }>(
    tx,
    `select count(*)::integer from ops.send_events where send_id = $1 and to_state = 'NOT_SENT'`,
    [sendId],
  );
  const wait = Math.min(longestRetryMs, timing.retryMs * retryGrowth ** ((row?.count ?? 1) - 1));
  return wait * (0.8 + 0.4 * Math.random());
}

async function isTaken(tx: Transaction, { sendId, line }: Send, messageId: string): Promise<boolean> {
  const others = await query(tx, 'select from ops.sends where line = $1 and message_id = $2 and send_id <> $3', [
    line,
    messageId,
    sendId,
  ]);
  return others.length > 0;
}

/** DISPATCHED to UNKNOWN; the caller holds the switch. Reservation and fence stay. */
export async function becomeUnknown(
  tx: Transaction,
  ledger: Ledger,
  { sendId, fence }: Send,
  reason: string,
): Promise<'unknown' | 'lost'> {
  const [first = 0] = ledger.timing.looksMs;
  const step = { sendId, fence, from: ['DISPATCHED'], to: 'UNKNOWN', reason, dueInMs: first } as const;
  if (!(await takeStep(tx, step))) return 'lost';
  if (await pauseOnUnknowns(tx)) ledger.log.error({ sendId }, 'All sends are paused: too many outcomes are unknown');
  return 'unknown';
}

/** RESERVED to PLANNED: no request has left, and none of this fence will. */
export function takeBack(ledger: Ledger, { sendId, fence }: Reserved, reason: string): Promise<'taken_back' | 'lost'> {
  return inTransaction(ledger.db, async (tx) => {
    const send = await lockSend(tx, sendId);
    if (send?.state !== 'RESERVED' || send.fence !== fence) return 'lost';
    await release(tx, send);
    const set = { reserved_micros: 0 };
    const step = { sendId, fence, from: ['RESERVED'], to: 'PLANNED', reason } as const;
    await takeStep(tx, { ...step, set, dueInMs: ledger.timing.pauseMs });
    return 'taken_back';
  });
}

async function rememberOptOut(tx: Transaction, { line, number }: Pick<SendPlan, 'line' | 'number'>): Promise<void> {
  await query(
    tx,
    `insert into ops.opt_outs (line, number) values ($1, $2)
     on conflict (number, line) do update set opted_out_at = now()`,
    [line, number],
  );
}
