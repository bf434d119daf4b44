import { type Answer, reasonOf, ServiceError } from '../api-client/client.ts';
import type { Sent } from '../api-client/entities/text-schemas.ts';
import { type Database, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import { markDirty } from '../inbox/targets.ts';
import { backoffMs } from '../shared/backoff.ts';
import { threadKey } from '../shared/thread.ts';
import { chargeBudget, releaseBudget } from './budgets.ts';
import { lockControl, pauseOnUnknowns, recordUnitPrice } from './control.ts';
import type { Ledger } from './ledger.ts';
import { findSend, isOpenSend, lockSend, type Send, transition } from './send.ts';

/** The outcome of the only request of a send. */
export type Outcome =
  | {
      readonly kind: 'sent';
      /** Undefined if the gateway returned none. */
      readonly messageId: string | undefined;
      readonly type: string | undefined;
      readonly units: number | undefined;
      /** Micro-dollars, like `unitMicros`. */
      readonly micros: number | undefined;
      readonly unitMicros: number | undefined;
    }
  | { readonly kind: 'skipped'; readonly reason: string; readonly hasOptedOut: boolean }
  | { readonly kind: 'rejected'; readonly reason: string }
  /** Provably nothing was sent or charged, so a retry is safe. */
  | {
      readonly kind: 'not_sent';
      readonly reason: string;
      readonly retryAfterMs: number | undefined;
      /** False if no request left, or if the service only asked for a pause. */
      readonly countsAsTry: boolean;
    }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Sections 2.3 and 7: 201 means sent and charged; 200 means that every recipient was skipped and nothing charged. */
export function classifyAnswer({ status, data }: Answer<Sent>): Outcome {
  const { billing, messages = [], skipped = [] } = data;
  if (status === 201) {
    const [message] = messages;
    return {
      kind: 'sent',
      messageId: message?.id === undefined ? undefined : String(message.id),
      type: billing?.type,
      units: billing?.units,
      micros: toMicros(billing?.totalPrice),
      unitMicros: toMicros(message?.unitPrice),
    };
  }
  if (status === 200 && messages.length === 0 && billing?.totalPrice === 0) {
    const reasons = [...new Set(skipped.map(({ reason }) => reason ?? 'no reason'))];
    return {
      kind: 'skipped',
      reason: reasons.length > 0 ? reasons.join(', ') : 'no reason',
      hasOptedOut: reasons.includes('opted_out'),
    };
  }
  return { kind: 'unknown', reason: `status ${status} does not fit its answer` };
}

/** Errors of requests that never left, or that the service was too busy to process. */
const untried: ReadonlySet<ServiceError['code']> = new Set([
  'account_unrecognized',
  'circuit_open',
  'aborted',
  'stalled',
  'rate_limited',
]);

/** An error is final only if the API client proves that the request had no effect. */
export function classifyError(error: unknown): Outcome {
  if (!(error instanceof ServiceError)) {
    return { kind: 'unknown', reason: error instanceof Error ? error.name : 'an unexpected error' };
  }
  const { code, effect, advice, retryAfterMs } = error;
  const reason = reasonOf(error, false);
  if (effect === 'unknown') return { kind: 'unknown', reason };
  if (advice !== 'retry') return { kind: 'rejected', reason };
  return { kind: 'not_sent', reason, retryAfterMs, countsAsTry: !untried.has(code) };
}

function toMicros(dollars: number | undefined): number | undefined {
  if (dollars === undefined || !Number.isFinite(dollars) || dollars < 0) return undefined;
  return Math.round(dollars * 1_000_000);
}

/** `lost`: another worker has taken the send over, and nothing was changed. */
export type RecordedOutcome = Outcome['kind'] | 'lost';

/**
 * Records the outcome of the request. An answer after the end of the lease still counts, because it belongs to the only
 * request with this fence, unless the message was found in the thread before.
 */
export async function recordOutcome(ledger: Ledger, dispatched: Send, outcome: Outcome): Promise<RecordedOutcome> {
  const { db, log, notify } = ledger;
  const { sendId, fence, line, number } = dispatched;
  const [result, due] = await inTransaction(db, async (tx) => {
    if (outcome.kind === 'unknown') await lockControl(tx);
    // Reads without a lock: the kill switch has to be locked before any send, and a higher price updates it.
    const send = await findSend(tx, sendId);
    if (send?.fence !== fence) return ['lost', []] as const;
    const recorded = await recordIn(tx, ledger, send, outcome);
    if (recorded !== 'sent') return [recorded, []] as const;
    const thread = threadKey({ line, number, participants: [] });
    return [recorded, await markDirty(tx, [{ kind: 'thread', key: thread }])] as const;
  });
  notify(due);
  const reason = 'reason' in outcome ? outcome.reason : undefined;
  if (result === 'unknown') {
    log.warn({ sendId, reason }, 'The outcome of a send is unknown; it will be looked for in the thread');
  }
  if (result === 'rejected') log.warn({ sendId, reason }, 'The service rejected a send; nothing was charged');
  return result;
}

/** Maximum number of counted tries without effect. Most sends expire earlier. */
const maxTries = 200;

async function recordIn(tx: Transaction, ledger: Ledger, send: Send, outcome: Outcome): Promise<RecordedOutcome> {
  if (outcome.kind === 'unknown') return markUnknown(tx, ledger, send, outcome.reason);
  const step = { sendId: send.sendId, fence: send.fence, from: ['DISPATCHED', 'UNKNOWN'] } as const;
  if (outcome.kind === 'sent') {
    const { messageId, micros, units, type, unitMicros } = outcome;
    const set = {
      reserved_micros: micros === undefined ? send.reservedMicros : 0,
      settled_micros: micros ?? null,
      units: units ?? send.units,
      message_type: type ?? 'sms',
      // A reset or restored service reuses ids: the id of another send doesn't identify the message.
      message_id: messageId === undefined || (await isTaken(tx, send, messageId)) ? null : messageId,
    };
    await recordUnitPrice(tx, unitPriceOf(send, micros, unitMicros));
    if (!(await transition(tx, { ...step, to: 'SENT', set }))) return 'lost';
    await chargeBudget(tx, send, micros ?? send.reservedMicros);
    return 'sent';
  }
  const { kind, reason } = outcome;
  const to = ({ skipped: 'SKIPPED', rejected: 'REJECTED', not_sent: 'NOT_SENT' } as const)[kind];
  const tries = send.tries + (kind === 'not_sent' && outcome.countsAsTry ? 1 : 0);
  if (!(await transition(tx, { ...step, to, reason, set: { reserved_micros: 0, tries } }))) return 'lost';
  await releaseBudget(tx, send);
  if (kind === 'skipped' && outcome.hasOptedOut) await recordOptOut(tx, send);
  if (kind === 'not_sent' && tries < maxTries && !(await hasSuccessor(tx, send))) {
    const dueInMs = await retryWait(tx, ledger, send, outcome.retryAfterMs);
    await transition(tx, { sendId: send.sendId, from: ['NOT_SENT'], to: 'PLANNED', reason, dueInMs });
  }
  return kind;
}

/**
 * The price of a segment, derived from an answer. High enough that the next reservation covers the full cost of this
 * text, even if the service bills more segments than we count.
 */
function unitPriceOf({ units }: Send, micros = 0, unitMicros = 0): number {
  return Math.max(unitMicros, Math.ceil(micros / Math.max(1, units ?? 1)));
}

async function isTaken(tx: Transaction, { sendId, line }: Send, messageId: string): Promise<boolean> {
  const others = await query(
    tx,
    sql`select from ops.sends where line = ${line} and message_id = ${messageId} and send_id <> ${sendId}`,
  );
  return others.length > 0;
}

/** Whether the thread has another open send. An UNKNOWN send blocks others only during its first scheduled reads. */
async function hasSuccessor(tx: Transaction, { sendId, line, number, mode }: Send): Promise<boolean> {
  const others = await query(
    tx,
    sql`select from ops.sends s
      where line = ${line} and number = ${number} and mode = ${mode} and send_id <> ${sendId} and ${sql.raw(isOpenSend)}`,
  );
  return others.length > 0;
}

/** Milliseconds before the next request. They grow with every request that had no effect. */
async function retryWait(tx: Transaction, { timing }: Ledger, { sendId }: Send, askedMs?: number): Promise<number> {
  const [row] = await query(
    tx,
    sql<{ count: number }>`select count(*)::integer from ops.send_events
      where send_id = ${sendId} and to_state = 'NOT_SENT'`,
  );
  const backoff = { firstMs: timing.retryMs, maxMs: 60_000, jitter: 0.2 };
  return backoffMs(backoff, row?.count ?? 1, { askedMs });
}

async function recordOptOut(tx: Transaction, { line, number }: Send): Promise<void> {
  await query(
    tx,
    sql`insert into ops.opt_outs (line, number) values (${line}, ${number})
      on conflict do nothing`,
  );
}

/** DISPATCHED to UNKNOWN. Keeps the reservation. The caller holds the lock of the kill switch. */
export async function markUnknown(
  tx: Transaction,
  { timing, log }: Ledger,
  { sendId, fence }: Send,
  reason: string,
): Promise<'unknown' | 'lost'> {
  const [dueInMs = 0] = timing.reconcileAtMs;
  if (!(await transition(tx, { sendId, fence, from: ['DISPATCHED'], to: 'UNKNOWN', reason, dueInMs }))) return 'lost';
  if (await pauseOnUnknowns(tx)) log.error({ sendId }, 'All sends are paused: too many outcomes are unknown');
  return 'unknown';
}

/**
 * Records the outcome of a send in manual review: `SENT` charges its reservation, `NOT_SENT` releases it. With
 * `isInsisted`, also accepts a send that is still UNKNOWN. Returns false for any other state. Nothing is sent again.
 */
export function settleManually(
  db: Database,
  sendId: string,
  to: 'SENT' | 'NOT_SENT',
  { isInsisted = false, by }: { readonly isInsisted?: boolean; readonly by?: string } = {},
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const send = await lockSend(tx, sendId);
    if (!send || !(send.state === 'NEEDS_HUMAN' || (isInsisted && send.state === 'UNKNOWN'))) return false;
    const set = to === 'NOT_SENT' ? { reserved_micros: 0 } : {};
    await transition(tx, { sendId, from: [send.state], to, reason: 'settled by hand', actor: 'operator', by, set });
    if (to === 'SENT') await chargeBudget(tx, send, send.reservedMicros);
    else await releaseBudget(tx, send);
    return true;
  });
}
