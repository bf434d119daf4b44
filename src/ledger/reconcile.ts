import { hotQuery, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import { toType } from '../shared/command-name.ts';
import { normalizeNumber } from '../shared/numbers.ts';
import { recordFollowing } from '../warehouse/what-follows.ts';
import { bookBudget, chargeBudget, costOf, maxSegments, releaseBudget } from './budgets.ts';
import { readControl } from './control.ts';
import type { Ledger } from './ledger.ts';
import { readLimits } from './rules-in-force.ts';
import { lockSend, type Send, type SendRow, type SendState, sendColumns, toSend, transition } from './send.ts';

/**
 * Looks for the message of an UNKNOWN send in its thread. A single match is taken as the send, even if the thread
 * couldn't be read completely, unless another send may have produced it. Several matches, or none after the last
 * scheduled read, lead to manual review. So does a thread that still can't be read completely some time after that
 * read. Not finding a message proves nothing, so nothing is sent again.
 */
export async function reconcile(ledger: Ledger, unknown: Send): Promise<'sent' | 'unknown' | 'needs_human' | 'lost'> {
  const { db, log, timing } = ledger;
  const { sendId, number } = unknown;
  const isErased = number.startsWith('erased/');
  const isWhole = isErased || (await tryReadThread(ledger, unknown));
  const result = await inTransaction(db, async (tx) => {
    const send = await lockSend(tx, sendId);
    if (send?.state !== 'UNKNOWN') return 'lost';
    const { matches, contested, match } = await findMessage(tx, send);
    if (match) {
      await settleAs(tx, send, match);
      return 'sent';
    }
    const step = { sendId, fence: send.fence, from: ['UNKNOWN'] } as const;
    const isOver =
      isErased || (isWhole ? await countScheduledRead(tx, send, timing) : await postponeRead(tx, send, timing));
    if (matches.length <= 1 && !isOver) return 'unknown';
    const none = isWhole ? 'no message matches' : 'no message matches in a thread that cannot be read whole';
    const atMostOne = contested ? 'a message matches that another send may have become' : none;
    const reason = matches.length > 1 ? `${matches.length} messages match` : atMostOne;
    await transition(tx, { ...step, to: 'NEEDS_HUMAN', reason });
    return 'needs_human';
  });
  if (result === 'needs_human') {
    log.error({ sendId }, `A send may or may not have gone out; it needs manual review: ${toType('sends settle')}`);
  }
  return result;
}

/**
 * Looks for a send's message in its mirrored thread: all `matches`, and the `match` that only this send can have made.
 */
export async function findMessage(tx: Transaction, send: Send) {
  const candidates = await readCandidates(tx, send);
  const matches = findMatches(send, candidates);
  const claims = (await readRivals(tx, send)).map((rival) => findMatches(rival, candidates));
  const contested = isContested(matches, claims);
  return { matches, contested, match: matches.length === 1 && !contested ? matches[0] : undefined };
}

/** UNKNOWN to SENT, at the reserved cost: the lost answer had the actual price. */
export async function settleAs(tx: Transaction, send: Send, { messageId }: Candidate): Promise<void> {
  const set = { message_id: messageId, is_reconciled: true };
  const { sendId, fence } = send;
  await transition(tx, { sendId, fence, from: ['UNKNOWN'], to: 'SENT', reason: 'reconciled', set });
  await chargeBudget(tx, send, send.reservedMicros);
}

/**
 * Handles a send whose last request seemed to have no effect, although the mirror has its message: a single match that
 * no other send can have produced. Records it as SENT at its worst-case cost. The caller has locked the send. Returns
 * false if there is no such message.
 */
export async function settleFound(tx: Transaction, send: Send): Promise<boolean> {
  if (send.dispatchedAt === null || send.messageId !== null) return false;
  const { match } = await findMessage(tx, send);
  if (!match) return false;
  const { highestUnitMicros } = await readControl(tx);
  const { micros } = costOf(send.units ?? maxSegments(send.text), highestUnitMicros, await readLimits(tx));
  if (send.reservedMicros > 0) await releaseBudget(tx, send);
  const set = { message_id: match.messageId, is_reconciled: true, reserved_micros: micros };
  await transition(tx, { sendId: send.sendId, from: [send.state], to: 'SENT', reason: 'reconciled', set });
  await bookBudget(tx, send, micros);
  await query(
    tx,
    sql`update ops.rule_actions set state = 'done', reason = 'SENT reconciled'
      where send_id = ${send.sendId} and kind = 'reply' and state = 'skipped'`,
  );
  return true;
}

/** Sends that continue, or have ended, after a request that provably had no effect. */
export const isRefuted = sql`state in ('PLANNED', 'HELD', 'AWAITING_APPROVAL', 'NOT_SENT', 'REJECTED', 'DENIED', 'EXPIRED') and message_id is null
  and dispatched_at > now() - interval '48 hours'`;

/**
 * Looks for the message of each send whose thread has a new text of the same words, and settles the send if it's found.
 * Skips a send if another one has answered the same call since: only one of them may be SENT.
 */
export async function settleAllFound(ledger: Ledger): Promise<void> {
  const found = await hotQuery(
    ledger.db,
    sql<{ send_id: string }>`select send_id from ops.sends s where ${isRefuted}
      and exists (select from warehouse.sms_messages m where m.number = s.number and m.line = s.line and m.direction = 'out'
        and m.body = s.body and m.first_seen_at >= s.dispatched_at and m.send_id is null)
      and not exists (select from ops.sends o where s.trigger_kind = 'call' and o.trigger_kind = 'call' and o.trigger_id = s.trigger_id
        and o.mode = s.mode and o.send_id <> s.send_id and o.state not in ('SKIPPED', 'REJECTED', 'DENIED', 'EXPIRED')) limit ${maxLinks}`,
  );
  for (const { send_id: sendId } of found) {
    const isFound = await inTransaction(ledger.db, async (tx) => {
      const send = await lockSend(tx, sendId);
      if (!send || !refuted.includes(send.state)) return false;
      return settleFound(tx, send);
    }).catch((err: unknown) => {
      ledger.log.warn({ err, sendId }, 'A refused send whose text was found could not be settled; it stays as it is');
      return false;
    });
    if (isFound) {
      ledger.log.warn({ sendId }, 'The service had refused a send that it carried out; its cost is counted now');
    }
  }
}

const refuted: readonly SendState[] = [
  'PLANNED',
  'HELD',
  'AWAITING_APPROVAL',
  'NOT_SENT',
  'REJECTED',
  'DENIED',
  'EXPIRED',
];

/** An outbound text of the thread. */
interface Candidate {
  readonly messageId: string;
  readonly to: string | null;
  readonly text: string | null;
  readonly at: Date | null;
  readonly sentBy: string | null;
  readonly isScheduled: boolean;
  /** It is known to be another send's message. */
  readonly isClaimed: boolean;
}

/** Milliseconds by which the service's clock may be behind ours, and ahead of it with the time to process a request. */
const earlierMs = 120_000;
const laterMs = 900_000;

/**
 * The messages that a send may have produced (section 2.6): not in the baseline, same recipient, same text, within the
 * time window, not another send's, and without an author, like everything that an API key sends.
 */
function findMatches(
  send: Pick<Send, 'number' | 'text' | 'baseline' | 'trigger' | 'plannedAt' | 'dispatchedAt'>,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  const from = earliest(send);
  const to = latest(send);
  const baseline = new Set(send.baseline);
  return candidates.filter(
    ({ messageId, to: recipient, text, at, sentBy, isScheduled, isClaimed }) =>
      !isScheduled &&
      !isClaimed &&
      sentBy === null &&
      !baseline.has(messageId) &&
      normalizeNumber(recipient ?? '') === send.number &&
      text === send.text &&
      at !== null &&
      at.getTime() >= from &&
      at.getTime() <= to,
  );
}

/**
 * The earliest time of its message, by the service's clock. Even if that clock is behind, an answer is later than its
 * trigger.
 */
function earliest({ trigger, dispatchedAt }: Pick<Send, 'trigger' | 'dispatchedAt'>): number {
  const dispatched = dispatchedAt?.getTime() ?? Number.NaN;
  const answered = trigger.kind === 'message' ? trigger.at.getTime() : dispatched;
  return Math.min(dispatched - earlierMs, Math.max(answered, dispatched - laterMs));
}

/**
 * The latest time of its message, by the service's clock. If the trigger is later than the plan, that clock is ahead by
 * at least the difference.
 */
function latest({ trigger, plannedAt, dispatchedAt }: Pick<Send, 'trigger' | 'plannedAt' | 'dispatchedAt'>): number {
  const aheadMs = Math.max(0, trigger.at.getTime() - plannedAt.getTime());
  return (dispatchedAt?.getTime() ?? Number.NaN) + aheadMs + laterMs;
}

/**
 * Whether one of the `rivals`, each given as its possible messages, may own one of `ours`. False if there are enough
 * other messages that can only belong to the rivals.
 */
function isContested(ours: readonly Candidate[], rivals: readonly (readonly Candidate[])[]): boolean {
  const contenders = rivals.filter((messages) => messages.some((message) => ours.includes(message)));
  const others = contenders.map((messages) => messages.filter((message) => !ours.includes(message)));
  return others.some((messages) => messages.length === 0) || new Set(others.flat()).size < contenders.length;
}

/** False if the mirror may lack a part of the thread. */
async function tryReadThread({ log, readThread }: Ledger, { sendId, line, number }: Send): Promise<boolean> {
  try {
    return await readThread({ line, number, participants: [] });
  } catch (error) {
    log.info({ err: error, sendId }, 'The thread of an UNKNOWN send could not be read; it is tried again');
    return false;
  }
}

/** Counts scheduled reads that have come due, but not reads caused by a delivery. Returns true after the last. */
async function countScheduledRead(tx: Transaction, send: Send, { reconcileAtMs }: Ledger['timing']): Promise<boolean> {
  const { sendId } = send;
  const [row] = await query(
    tx,
    sql<{ reads: number }>`with passed as (
        select count(*)::integer as reads from unnest(${reconcileAtMs}::float8[]) after_ms
        where (select dispatched_at from ops.sends where send_id = ${sendId}) + after_ms * interval '1 ms' <= clock_timestamp()
      )
      update ops.sends s set search_count = passed.reads, searched_at = clock_timestamp(), enqueued_at = '-infinity',
        due_at = s.dispatched_at + coalesce((${reconcileAtMs}::float8[])[passed.reads + 1], 0) * interval '1 ms'
      from passed where send_id = ${sendId} returning reads`,
  );
  return (row?.reads ?? 0) >= reconcileAtMs.length;
}

/** The wait before the next try, as a fraction of the time since the dispatch. */
const waitPart = 0.1;

/** Schedules another read of a thread that couldn't be read completely. Returns true once the grace period is over. */
async function postponeRead(
  tx: Transaction,
  { sendId }: Send,
  { reconcileAtMs, readRetryMs, graceMs }: Ledger['timing'],
): Promise<boolean> {
  const [row] = await query(
    tx,
    sql<{ is_over: boolean }>`update ops.sends set searched_at = clock_timestamp(), enqueued_at = '-infinity',
        due_at = clock_timestamp()
          + greatest(${readRetryMs} * interval '1 ms', (clock_timestamp() - dispatched_at) * ${sql.lit(waitPart)})
      where send_id = ${sendId}
      returning clock_timestamp() > dispatched_at + ${(reconcileAtMs.at(-1) ?? 0) + graceMs} * interval '1 ms' as is_over`,
  );
  return row?.is_over ?? false;
}

/** The mirrored outbound texts of a two-party thread. */
async function readCandidates(tx: Transaction, { sendId, line, number }: Send): Promise<Candidate[]> {
  return query(
    tx,
    sql<Candidate>`select m.message_id as "messageId", m.to_number as "to", m.body as text, m.sent_at as at,
        m.sent_by as "sentBy", coalesce(m.is_scheduled, false) as "isScheduled",
        exists (select from ops.sends o
          where o.line = m.line and o.message_id = m.message_id and o.send_id <> ${sendId}) as "isClaimed"
      from warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
      where c.line = ${line} and c.number = ${number} and c.participants_key = '' and m.direction = 'out'`,
  );
}

/** Other sends of the thread whose message isn't known. A matching message may be theirs. */
async function readRivals(tx: Transaction, { sendId, line, number }: Send): Promise<Send[]> {
  const rows = await query(
    tx,
    sql<SendRow>`select ${sendColumns} from ops.sends s
      where line = ${line} and number = ${number} and send_id <> ${sendId} and message_id is null
        and dispatched_at is not null and state in ('DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN', 'SENT')`,
  );
  return rows.map(toSend);
}

/** A SENT send whose message isn't linked yet. It is usually mirrored within seconds. */
export const isUnlinked = sql`state = 'SENT' and linked_at is null and settled_at > now() - interval '48 hours'`;
const maxLinks = 100;

/**
 * Sets `warehouse.sms_messages.send_id` once the message of a SENT send is mirrored. If the gateway returned no id,
 * finds the message like `reconcile` does.
 */
export async function linkMessages({ db }: Pick<Ledger, 'db'>): Promise<void> {
  const mirrored = await hotQuery(
    db,
    sql<{ send_id: string }>`select send_id from ops.sends s
      where ${isUnlinked}
        and exists (select from warehouse.sms_messages m where m.number = s.number and m.line = s.line and m.direction = 'out'
          and case when s.message_id is null then m.first_seen_at >= s.dispatched_at else m.message_id = s.message_id end)
      order by settled_at limit ${maxLinks}`,
  );
  for (const { send_id: sendId } of mirrored) {
    await inTransaction(db, (tx) => linkMessage(tx, sendId));
  }
}

async function linkMessage(tx: Transaction, sendId: string): Promise<void> {
  const send = await lockSend(tx, sendId);
  if (send?.state !== 'SENT') return;
  const messageId = send.messageId ?? (await findUnnamed(tx, send));
  if (messageId === undefined) return;
  const linked = await query(
    tx,
    sql<{ conversation_id: string; sent_at: Date | null }>`
      update warehouse.sms_messages set send_id = ${sendId}
      where line = ${send.line} and number = ${send.number} and message_id = ${messageId}
      returning conversation_id, sent_at`,
  );
  if (linked.length === 0) return;
  await query(tx, sql`update ops.sends set message_id = ${messageId}, linked_at = now() where send_id = ${sendId}`);
  // Reports now count it as an automatic text.
  await recordFollowing(tx, {
    texts: linked.map(({ sent_at }) => sent_at?.toISOString()),
    threads: linked.map(({ conversation_id }) => conversation_id),
  });
}

async function findUnnamed(tx: Transaction, send: Send): Promise<string | undefined> {
  const matches = findMatches(send, await readCandidates(tx, send));
  return matches.length === 1 ? matches[0]?.messageId : undefined;
}
