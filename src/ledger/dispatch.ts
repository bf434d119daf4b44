import type { CallOptions } from '../api-client/client.ts';
import { inTransaction, query, sql, type Transaction } from '../db/database.ts';
import { senderForm } from '../warehouse/lines.ts';
import { awaitApproval, needsApproval } from './approvals.ts';
import { checkBudgets, costOf, maxSegments, releaseBudget, reserveBudget } from './budgets.ts';
import { lockControl, readControl } from './control.ts';
import { judge, type Verdict } from './gates/gates.ts';
import { readGateInputs } from './gates/inputs.ts';
import type { Ledger } from './ledger.ts';
import { defaultRuleLimits } from './limits.ts';
import { readOtherLines } from './other-lines.ts';
import {
  classifyAnswer,
  classifyError,
  markUnknown,
  type Outcome,
  type RecordedOutcome,
  recordOutcome,
} from './outcome.ts';
import { releaseSuperseded } from './plans.ts';
import { settleFound } from './reconcile.ts';
import { readLimits } from './rules-in-force.ts';
import { lockSend, type Send, transition } from './send.ts';
import { isUnsent } from './states.ts';

/** A send with a reserved budget, and the fence of that reservation. */
export type ReservedSend = Pick<Send, 'sendId' | 'fence' | 'line' | 'number'>;

type Refused = 'held' | 'denied' | 'expired' | 'awaiting';

/** PLANNED or HELD to RESERVED in one transaction: the gates (from the mirror), then the approval, then the budgets. */
export function reserveSend(
  ledger: Ledger,
  sendId: string,
): Promise<ReservedSend | Refused | 'nothing_due' | 'paused' | 'sent'> {
  return inTransaction(ledger.db, async (tx) => {
    const send = await lockSend(tx, sendId);
    if (!send?.isDue || !isUnsent(send) || send.state === 'RESERVED') return 'nothing_due';
    if (await settleFound(tx, send)) return 'sent';
    const inputs = await readGateInputs(tx, send);
    const limits = await readLimits(tx);
    // A worker that isn't live decides nothing about a live send, except that it has expired.
    if (send.mode === 'live' && ledger.mode !== 'live' && inputs.now <= send.expiresAt) return takeUpAgain(tx, sendId);
    const isDry = [send.mode, inputs.ruleMode].includes('dry-run');
    // For a live send, the service is asked about a block just before the dispatch. A dry run asks nothing.
    const verdict = judge(send, inputs, isDry && inputs.wasBlocked, limits);
    if (verdict.kind === 'deny' || verdict.kind === 'expire') return refuse(tx, ledger, send, verdict);
    if (needsApproval(send) && !isDry) return awaitApproval(tx, send);
    if (inputs.isPaused && !isDry) return 'paused';
    if (verdict.kind !== 'pass') return refuse(tx, ledger, send, verdict);

    const units = maxSegments(send.text);
    if (isDry) {
      const { worstMicros } = costOf(units, inputs.highestUnitMicros, limits);
      const usedUp = await checkBudgets(tx, send, worstMicros, limits);
      const reason = usedUp === undefined ? 'dry_run' : `gate:budget_${usedUp}`;
      return refuse(tx, ledger, send, { kind: 'deny', reason }, { units, message_type: 'sms' });
    }
    await releaseSuperseded(tx, send);
    const reserved = await reserveBudget(tx, send, units, limits);
    if ('usedUp' in reserved) {
      const kind = reserved.isFinal ? 'deny' : 'wait';
      return refuse(tx, ledger, send, { kind, reason: `gate:budget_${reserved.usedUp}` });
    }
    const fence = send.fence + 1;
    await transition(tx, {
      sendId,
      from: [send.state],
      to: 'RESERVED',
      dueInMs: ledger.timing.leaseMs,
      set: { fence, units, message_type: 'sms', reserved_micros: reserved.micros, budget_date: reserved.budgetDate },
    });
    return { sendId, fence, line: send.line, number: send.number };
  });
}

/** Makes a send due again at once, for any worker. */
async function takeUpAgain(tx: Transaction, sendId: string): Promise<'nothing_due'> {
  await query(tx, sql`update ops.sends set enqueued_at = '-infinity' where send_id = ${sendId}`);
  return 'nothing_due';
}

/** Records why a send can't leave now, and releases its reservation. */
async function refuse(
  tx: Transaction,
  { timing }: Ledger,
  send: Send,
  verdict: Exclude<Verdict, { kind: 'pass' }>,
  details: { readonly units?: number; readonly message_type?: string } = {},
): Promise<Refused> {
  const step = { sendId: send.sendId, from: [send.state] };
  const set = { ...details, reserved_micros: 0 };
  if (send.state === 'RESERVED') await releaseBudget(tx, send);
  switch (verdict.kind) {
    case 'hold': {
      // Time spent in quiet hours doesn't count as age.
      const maxAgeMs = 1_000 * (send.limits.maxAgeSeconds ?? defaultRuleLimits.maxAgeSeconds);
      const times = { due_at: verdict.until, expires_at: new Date(verdict.until.getTime() + maxAgeMs) };
      await transition(tx, { ...step, to: 'HELD', reason: 'gate:quiet_hours', set: { ...set, ...times } });
      return 'held';
    }
    case 'wait':
      await transition(tx, { ...step, to: 'HELD', reason: verdict.reason, dueInMs: timing.waitMs, set });
      return 'held';
    case 'expire':
      await transition(tx, {
        ...step,
        to: 'EXPIRED',
        reason: needsApproval(send) ? 'not_approved' : 'gate:too_old',
        set,
      });
      return 'expired';
    case 'deny':
      await transition(tx, { ...step, to: 'DENIED', reason: verdict.reason, set });
      return 'denied';
  }
}

/** `lost`: another worker has taken the send over, and nothing was changed. */
export type DispatchResult = RecordedOutcome | Refused | 'paused' | 'replanned';

/**
 * RESERVED to an outcome: reads the thread, and threads on other lines that were never read, commits the dispatch,
 * sends one request and records its outcome.
 */
export async function dispatch(ledger: Ledger, reserved: ReservedSend): Promise<DispatchResult> {
  const { sendId, line, number } = reserved;
  let isBlocked: boolean;
  try {
    const isWhole =
      (await readOtherLines(ledger, reserved)) && (await ledger.readThread({ line, number, participants: [] }));
    if (!isWhole) return await giveUpReservation(ledger, reserved, 'the thread could not be read whole');
    isBlocked = await ledger.isBlocked(line, number);
  } catch (error) {
    ledger.log.info({ err: error, sendId }, 'The thread of a send could not be read; the send waits');
    return await giveUpReservation(ledger, reserved, 'the thread could not be read');
  }
  // Starts before the commit: the commit may hang until the lease has expired.
  const isInTime = startStallTimer(ledger.timing.stallMs);
  const dispatched = await inTransaction(ledger.db, (tx) => commitDispatch(tx, ledger, reserved, isBlocked));
  if (typeof dispatched === 'string') return dispatched;
  return recordOutcome(ledger, dispatched, await request(ledger, dispatched, isInTime));
}

/** A send whose request may leave now. */
interface DispatchedSend extends Send {
  /** The line as the service spells it. */
  readonly from: string;
}

/**
 * RESERVED to DISPATCHED. This transaction commits before the first byte of the request leaves. It share-locks the kill
 * switch: a pause or a new version of the rules waits for this commit, and applies to every later send.
 */
async function commitDispatch(
  tx: Transaction,
  ledger: Ledger,
  { sendId, fence }: ReservedSend,
  isBlocked: boolean,
): Promise<DispatchedSend | DispatchResult> {
  await commitDurably(tx);
  const control = await readControl(tx, 'share');
  const send = await lockSend(tx, sendId);
  // Once the lease has ended, another worker may take up the send.
  if (send?.state !== 'RESERVED' || send.fence !== fence || send.isDue) return 'lost';
  // The service may have carried out the previous request although its answer was a refusal.
  if (await settleFound(tx, send)) return 'sent';
  const inputs = await readGateInputs(tx, send);
  if (control.isPaused) {
    await returnToPlanned(tx, send, 'paused', 0);
    return 'paused';
  }
  // Another send may have shown a higher price since the reservation.
  const limits = await readLimits(tx);
  if (send.reservedMicros < costOf(send.units ?? 1, control.highestUnitMicros, limits).micros) {
    await returnToPlanned(tx, send, 'the price has risen since it was reserved', 0);
    return 'replanned';
  }
  const judged = judge(send, inputs, isBlocked, limits);
  const isDry = judged.kind === 'pass' && inputs.ruleMode === 'dry-run';
  const verdict: Verdict = isDry ? { kind: 'deny', reason: 'dry_run' } : judged;
  if (verdict.kind !== 'pass') return refuse(tx, ledger, send, verdict);
  await transition(tx, {
    sendId,
    from: ['RESERVED'],
    fence,
    to: 'DISPATCHED',
    dueInMs: ledger.timing.leaseMs,
    set: { baseline_message_ids: await readMessageIds(tx, send) },
  });
  return { ...send, from: await senderForm(tx, send.line) };
}

/** With synchronous_commit = off, a crash of Postgres could lose this commit, and the request would be sent twice. */
async function commitDurably(tx: Transaction): Promise<void> {
  await query(
    tx,
    sql`select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'`,
  );
}

async function readMessageIds(tx: Transaction, { line, number }: Send): Promise<string[]> {
  const rows = await query(
    tx,
    sql<{
      id: string;
    }>`select message_id as id from warehouse.sms_messages where line = ${line} and number = ${number}`,
  );
  return rows.map(({ id }) => id);
}

/** Uses two clocks, because the monotonic one stops while a machine sleeps. */
function startStallTimer(milliseconds: number): () => boolean {
  const [monotonic, wall] = [performance.now(), Date.now()];
  return () => performance.now() - monotonic <= milliseconds && Date.now() - wall <= milliseconds;
}

/** The only request of a send. Nothing is sent once `isInTime` returns false. */
async function request({ messages, timing }: Ledger, send: DispatchedSend, isInTime: () => boolean): Promise<Outcome> {
  try {
    const { sendId, from, number, text } = send;
    const call: CallOptions = { answerMs: timing.answerMs, maySend: isInTime, requestId: sendId };
    return classifyAnswer(await messages.send({ from, to: [number], message: text }, call));
  } catch (error) {
    return classifyError(error);
  }
}

/** RESERVED to PLANNED, by the worker that holds the lease. */
function giveUpReservation(
  { db, timing }: Ledger,
  { sendId, fence }: ReservedSend,
  reason: string,
): Promise<'replanned' | 'lost'> {
  return inTransaction(db, async (tx) => {
    const send = await lockSend(tx, sendId);
    if (send?.state !== 'RESERVED' || send.fence !== fence) return 'lost';
    await returnToPlanned(tx, send, reason, timing.readRetryMs);
    return 'replanned';
  });
}

/** Ends an expired lease. A RESERVED send has sent nothing; a DISPATCHED one may have. */
export function endExpiredLease(
  ledger: Ledger,
  sendId: string,
): Promise<'replanned' | 'unknown' | 'lost' | 'nothing_due'> {
  return inTransaction(ledger.db, async (tx) => {
    await lockControl(tx);
    const send = await lockSend(tx, sendId);
    if (!send?.isDue) return 'nothing_due';
    if (send.state === 'DISPATCHED') return markUnknown(tx, ledger, send, 'the worker was gone before the answer');
    if (send.state !== 'RESERVED') return 'nothing_due';
    await returnToPlanned(tx, send, 'lease over', 0);
    return 'replanned';
  });
}

/** The caller has locked the send. No request has left, and none can leave with this fence. */
async function returnToPlanned(tx: Transaction, send: Send, reason: string, dueInMs: number): Promise<void> {
  await releaseBudget(tx, send);
  const set = { reserved_micros: 0 };
  await transition(tx, { sendId: send.sendId, from: ['RESERVED'], to: 'PLANNED', reason, dueInMs, set });
}
