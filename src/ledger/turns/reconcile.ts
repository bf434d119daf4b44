import { normalizeNumber } from '../../numbers.ts';
import { inTransaction, query, type Transaction } from '../../warehouse/database.ts';
import { release, spend } from '../budgets.ts';
import { holdControl, readSender } from '../control.ts';
import type { Ledger, LedgerTiming } from '../ledger.ts';
import { lockSend, type Send, type SendRow, sendColumns, sendOf } from '../send.ts';
import { takeStep } from '../transitions.ts';
import { becomeUnknown } from './delivery.ts';

/** A text of the thread that could be the one that was sent. */
export interface Candidate {
  readonly messageId: string;
  readonly direction: string | null;
  readonly to: string | null;
  readonly text: string | null;
  readonly at: Date | null;
  readonly sentBy: string | null;
  readonly isScheduled: boolean;
  /** Another send of the ledger is known to have become it. */
  readonly isClaimed: boolean;
}

/** The service's clock may be off by this much, and a request may have lain so long before it was carried out. */
const earlierMs = 120_000;
const laterMs = 900_000;

/**
 * From when on, by the service's clock, a message can be this send. What answers a text came after it by that very clock,
 * however far that is behind ours.
 */
function earliest({ trigger, dispatchedAt }: Pick<Send, 'trigger' | 'dispatchedAt'>): number {
  const dispatched = dispatchedAt?.getTime() ?? Number.NaN;
  const answered = trigger.kind === 'message' ? trigger.at.getTime() : dispatched;
  return Math.min(dispatched - earlierMs, Math.max(answered, dispatched - laterMs));
}

/**
 * Until when, by that clock. A trigger whose moment had not come yet when its answer was planned shows by how much that
 * clock is ahead of ours, at least.
 */
function latest({ trigger, plannedAt, dispatchedAt }: Pick<Send, 'trigger' | 'plannedAt' | 'dispatchedAt'>): number {
  const aheadMs = Math.max(0, trigger.at.getTime() - plannedAt.getTime());
  return (dispatchedAt?.getTime() ?? Number.NaN) + aheadMs + laterMs;
}

/**
 * The texts that a send may have become (section 2.6): new since the baseline, to the same recipient, of the same text,
 * in the time window, in nobody's name or in the one that sends go out in (`senderId`), and no other send's.
 */
export function matchesOf(
  send: Pick<Send, 'number' | 'text' | 'baseline' | 'trigger' | 'plannedAt' | 'dispatchedAt'>,
  candidates: readonly Candidate[],
  senderId: string | null,
): readonly Candidate[] {
  const from = earliest(send);
  const to = latest(send);
  const before = new Set(send.baseline);
  return candidates.filter(
    ({ messageId, direction, to: recipient, text, at, sentBy, isScheduled, isClaimed }) =>
      direction === 'out' &&
      !isScheduled &&
      !isClaimed &&
      (sentBy === null || sentBy === senderId) &&
      !before.has(messageId) &&
      (recipient === null || normalizeNumber(recipient) === send.number) &&
      same(text, send.text) &&
      at !== null &&
      at.getTime() >= from &&
      at.getTime() <= to,
  );
}

/** Whoever carries a text may trim it, and write its blanks and line ends in another way. */
function same(one: string | null, other: string): boolean {
  const plain = (text: string) => text.normalize('NFC').replace(/\s+/g, ' ').trim();
  return one !== null && plain(one) === plain(other);
}

/**
 * Looks for an UNKNOWN send in its thread. Exactly one match is the send, however much of the thread was read, unless
 * another send may have become it; two or more, or none after the last look, are a person's to decide. A look counts when
 * the thread was read whole; one that never is goes to a person some time after the last look was due. Absence is no proof,
 * and nothing is sent again.
 */
export async function reconcile(ledger: Ledger, unknown: Send): Promise<'sent' | 'unknown' | 'needs_human' | 'lost'> {
  const { db, log, timing } = ledger;
  const { sendId, number } = unknown;
  const isErased = number.startsWith('erased/');
  const isWhole = isErased || (await lookInto(ledger, unknown));
  const verdict = await inTransaction(db, async (tx) => {
    const send = await lockSend(tx, sendId);
    if (send?.state !== 'UNKNOWN') return 'lost';
    const senderId = await senderOf(tx, ledger);
    const candidates = await candidatesOf(tx, send);
    const matches = matchesOf(send, candidates, senderId);
    const claims = (await rivalsOf(tx, send)).map((rival) => matchesOf(rival, candidates, senderId));
    const isContested = areContested(matches, claims);
    const step = { sendId, fence: send.fence, from: ['UNKNOWN'] } as const;
    const [match] = matches;
    if (match && matches.length === 1 && !isContested) {
      await takeStep(tx, {
        ...step,
        to: 'SENT',
        reason: 'reconciled',
        set: { message_id: match.messageId, is_reconciled: true },
      });
      // What it cost was in the answer that was lost.
      await spend(tx, send, send.reservedMicros);
      return 'sent';
    }
    const isOver = isWhole ? (await countLook(tx, send, timing)) || isErased : await waitForRead(tx, send, timing);
    if (matches.length <= 1 && !isOver) return 'unknown';
    const none = isWhole ? 'no message matches' : 'no message matches in a thread that cannot be read whole';
    const some = isContested ? 'a message matches that another send may have become' : none;
    const reason = matches.length > 1 ? `${matches.length} messages match` : some;
    await takeStep(tx, { ...step, to: 'NEEDS_HUMAN', reason });
    return 'needs_human';
  });
  if (verdict === 'needs_human') log.error({ sendId }, 'A send may or may not have gone out: settle it by hand');
  return verdict;
}

/**
 * Whether one of the `rivals`, each given as the messages that it may have become, may be one of `ours`. None is when
 * there are enough others, each of which can only be a rival's.
 */
function areContested(ours: readonly Candidate[], rivals: readonly (readonly Candidate[])[]): boolean {
  const contenders = rivals.filter((messages) => messages.some((message) => ours.includes(message)));
  const others = contenders.map((messages) => messages.filter((message) => !ours.includes(message)));
  return others.some((messages) => messages.length === 0) || new Set(others.flat()).size < contenders.length;
}

/** Reads the thread; false when the mirror may lack some of it. */
async function lookInto({ log, look }: Ledger, { sendId, line, number }: Send): Promise<boolean> {
  try {
    return await look({ line, number, participants: [] });
  } catch (error) {
    log.info({ err: error, sendId }, 'The thread of an unknown send could not be read; it is tried again');
    return false;
  }
}

/**
 * Counts the scheduled looks whose time has come, and sets when the next is due. Looks on a hint do not use them up. True
 * after the last.
 */
async function countLook(
  tx: Transaction,
  { sendId }: Send,
  { looksMs }: Pick<LedgerTiming, 'looksMs'>,
): Promise<boolean> {
  const [row] = await query<{ looks: number }>(
    tx,
    `with passed as (
       select count(*)::integer as looks from unnest($2::float8[]) after_ms
       where (select dispatched_at from ops.sends where send_id = $1) + after_ms * interval '1 ms' <= clock_timestamp() + interval '50 ms'
     )
     update ops.sends s set looks_count = passed.looks, looked_at = clock_timestamp(), rung_at = '-infinity',
       due_at = s.dispatched_at + coalesce(($2::float8[])[passed.looks + 1], 0) * interval '1 ms'
     from passed where send_id = $1 returning looks`,
    [sendId, looksMs],
  );
  return (row?.looks ?? 0) >= looksMs.length;
}

/** The longer an outcome is unknown, the more rarely its thread is tried again: each wait is this part of the time so far. */
const waitPart = 0.1;

/** Sets when a thread that could not be read whole is tried again. True when there was time enough. */
async function waitForRead(
  tx: Transaction,
  { sendId }: Send,
  { looksMs, pauseMs, graceMs }: Pick<LedgerTiming, 'looksMs' | 'pauseMs' | 'graceMs'>,
): Promise<boolean> {
  const [row] = await query<{ is_over: boolean }>(
    tx,
    `update ops.sends set looked_at = clock_timestamp(), rung_at = '-infinity',
       due_at = clock_timestamp() + greatest($2 * interval '1 ms', (clock_timestamp() - dispatched_at) * ${waitPart})
     where send_id = $1 returning clock_timestamp() > dispatched_at + $3 * interval '1 ms' as is_over`,
    [sendId, pauseMs, (looksMs.at(-1) ?? 0) + graceMs],
  );
  return row?.is_over ?? false;
}

/** The user in whose name the texts of this ledger are sent; null with an API key, and while it is not known. */
export async function senderOf(tx: Transaction, { actsFor }: Pick<Ledger, 'actsFor'>): Promise<string | null> {
  return actsFor === 'user' ? readSender(tx) : null;
}

/** The thread of two parties, as the mirror holds it. */
export async function candidatesOf(tx: Transaction, { sendId, line, number }: Send): Promise<Candidate[]> {
  return query<Candidate>(
    tx,
    `select m.message_id as "messageId", m.direction, m.to_number as "to", m.body as text, m.sent_at as at,
       m.sent_by as "sentBy", coalesce(m.is_scheduled, false) as "isScheduled",
       exists (select from ops.sends o where o.line = m.line and o.message_id = m.message_id and o.send_id <> $3) as "isClaimed"
     from warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
     where c.line = $1 and c.number = $2 and c.participants_key = '' and m.direction = 'out'`,
    [line, number, sendId],
  );
}

/**
 * Sends of the thread that went out without an id in the answer, or may have gone out, and were not found yet: a message that
 * matches can be theirs.
 */
async function rivalsOf(tx: Transaction, { sendId, line, number }: Send): Promise<Send[]> {
  const rows = await query<SendRow>(
    tx,
    `select ${sendColumns} from ops.sends s
     where line = $1 and number = $2 and send_id <> $3 and message_id is null and dispatched_at is not null
       and state in ('DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN', 'SENT')`,
    [line, number, sendId],
  );
  return rows.map(sendOf);
}

/** A lease that is over: of RESERVED nothing has left, of DISPATCHED something may have. */
export function leaseOver(ledger: Ledger, sendId: string): Promise<'taken_back' | 'unknown' | 'lost' | 'nothing_due'> {
  return inTransaction(ledger.db, async (tx) => {
    await holdControl(tx);
    const send = await lockSend(tx, sendId);
    if (!send?.isDue) return 'nothing_due';
    if (send.state === 'DISPATCHED') return becomeUnknown(tx, ledger, send, 'the worker was gone before the answer');
    if (send.state !== 'RESERVED') return 'nothing_due';
    await release(tx, send);
    const set = { reserved_micros: 0 };
    await takeStep(tx, { sendId, from: ['RESERVED'], to: 'PLANNED', reason: 'lease over', set, dueInMs: 0 });
    return 'taken_back';
  });
}
