import { type Database, query, sql } from '../../db/database.ts';
import { readTargetStates } from '../../ops/target-states.ts';
import { type Thread, threadKey } from '../../shared/thread.ts';
import { readRuns, type Span } from './automation.ts';
import { customerWords, type Fields } from './read-call.ts';

export interface ThreadState
  extends Fields<'conversationId', string>,
    Fields<'lineName' | 'contactName' | 'customer' | 'resolvedByName' | 'assignedName', string | null>,
    Fields<'firstAt' | 'lastAt' | 'resolvedObservedAt', Date | null> {
  readonly messageCount: number;
  readonly isResolved: boolean | null;
  readonly resolvedConfidence: 'never_observed' | 'stale_since_inbound' | 'as_observed';
  readonly isAssignmentKnown: boolean;
  /** Whether a read has listed the whole thread. */
  readonly isComplete: boolean;
}

export interface OptState {
  readonly line: string;
  readonly status: 'opt_out' | 'unsure' | 'opt_in' | 'clear';
  readonly decidedAt: Date | null;
  readonly evidence: 'inbound_word' | 'service_skip' | 'person';
}

export interface ThreadText
  extends Fields<'direction' | 'from' | 'userName' | 'blockReason' | 'optOutVerdict', string | null>,
    Fields<'deliveryClass' | 'deliveryStatus' | 'deliveryError', string | null>,
    Fields<'length' | 'mediaCount', number>,
    Fields<'sentAt' | 'scheduledAt', Date | null> {
  readonly id: string;
  /** Null if no direction is reported, and for a scheduled text. */
  readonly sender: 'customer' | 'user' | 'automatic' | 'unknown' | null;
  /** For an automatic text. */
  readonly rule: string | null;
  /** Null while texts are hidden, and after their removal. */
  readonly body: string | null;
  readonly isScheduled: boolean;
}

export interface ThreadCall extends Fields<'id' | 'outcome', string> {
  readonly startedAt: Date;
  readonly direction: string | null;
  readonly talkSeconds: number | null;
  readonly userName: string | null;
  readonly accountNumber: string | null;
}

export interface StateChange extends Fields<'userName' | 'runId', string | null> {
  readonly axis: 'resolved' | 'assigned' | 'comment';
  readonly at: Date;
  readonly isResolved: boolean | null;
  readonly actor: string;
}

/** Which page: the newest one, the texts before a given text, or the page around one. */
export type ThreadPlace = { readonly before: string } | { readonly around: string } | undefined;

const textsPerPage = 50;
/** Number of newer texts on a page around a text. */
const newerAround = 10;
const maxCalls = 50;

export type ThreadRecord = NonNullable<Awaited<ReturnType<typeof readThread>>>;

/** Reads a page of a thread. Undefined if the thread isn't mirrored. */
export async function readThread(db: Database, thread: Thread, place: ThreadPlace) {
  const state = await readState(db, thread);
  if (!state) return undefined;
  const held = { ...thread, conversationId: state.conversationId };
  const before =
    place && ('before' in place ? place.before : await boundAfter(db, held, place.around, newerAround + 1));
  const found = await readTexts(db, held, before);
  const texts = found.slice(0, textsPerPage).reverse();
  const hasOlder = found.length > textsPerPage;
  const span = await spanOf(db, held, { texts, before, hasOlder });
  const calls = thread.participants.length > 0 ? [] : await readCalls(db, thread.number, span);
  return {
    thread,
    state,
    /** The number's opt-out state on each line where it is known. Empty for a group. */
    optStates: thread.participants.length > 0 ? [] : await readOptStates(db, thread.number),
    // Oldest first, like the calls, matched rules and state changes during these texts.
    texts,
    calls: calls.slice(0, maxCalls).reverse(),
    /** There were more calls during that time, before these. */
    areCallsCut: calls.length > maxCalls,
    runs: await readRuns(db, thread, span),
    changes: await readChanges(db, state.conversationId, span),
    /** Other pages, as values of `before`. Undefined if there is none, null for the newest page. */
    pages: {
      older: hasOlder ? texts[0]?.id : undefined,
      newer: before === undefined ? undefined : ((await boundAfter(db, held, before, textsPerPage)) ?? null),
    },
    origin: (await readTargetStates(db, [{ kind: 'thread', key: threadKey(thread) }]))[0],
    areWordsShown: true,
  };
}

/** Whether an erased person takes part: such a thread is never read. */
export async function isErasedThread(db: Database, thread: Thread): Promise<boolean> {
  const [row] = await query(
    db,
    sql<{ isErased: boolean }>`select ops.is_erased_thread(${threadKey(thread)}) as "isErased"`,
  );
  return row?.isErased ?? false;
}

async function readState(db: Database, { line, number, participants }: Thread): Promise<ThreadState | undefined> {
  const [row] = await query(
    db,
    sql<ThreadState>`select c.conversation_id as "conversationId", nullif(l.name, '') as "lineName", k.name as "contactName", ${customerWords} as customer, c.message_count as "messageCount",
       c.first_message_at as "firstAt", c.last_message_at as "lastAt", c.is_resolved as "isResolved", u.user_name as "resolvedByName",
       c.resolved_observed_at as "resolvedObservedAt", case
         when c.resolved_observed_at is null then 'never_observed'
         when c.last_inbound_at > c.resolved_observed_at then 'stale_since_inbound'
         else 'as_observed'
       end as "resolvedConfidence",
       c.is_assignment_known as "isAssignmentKnown", a.user_name as "assignedName", c.is_thread_complete as "isComplete"
     from warehouse.sms_conversations c
       left join warehouse.sms_lines l on l.line = c.line
       left join reporting.dim_user u on u.user_id = c.resolved_by and c.is_resolved
       left join reporting.dim_user a on a.user_id = c.assigned_user_id and c.is_assignment_known
       left join warehouse.contacts k on k.number = warehouse.contact_number(c.number) and c.participants_key = ''
     where c.line = ${line} and c.number = ${number} and c.participants_key = ${participants.join(',')} and c.deleted_at is null`,
  );
  return row;
}

interface ShownThread extends Thread {
  readonly conversationId: string;
}

// The index on (number, sent_at) provides the order, because a thread can have very many texts.
const isOf = ({ number, conversationId }: ShownThread) =>
  sql`m.number = ${number} and m.conversation_id = ${conversationId} and m.deleted_at is null`;

const sentAtOf = ({ conversationId }: ShownThread, id: string) =>
  sql`(select sent_at from warehouse.sms_messages where conversation_id = ${conversationId} and message_id = ${id})`;

/** The text that is so many places after another one, by time sent. Undefined if there are fewer. */
async function boundAfter(db: Database, thread: ShownThread, id: string, places: number): Promise<string | undefined> {
  const at = sentAtOf(thread, id);
  const [row] = await query(
    db,
    sql<{ id: string }>`select m.message_id as id from warehouse.sms_messages m
     where ${isOf(thread)} and m.sent_at >= ${at} and (m.sent_at, m.message_id) >= (${at}, ${id})
     order by m.sent_at, m.message_id offset ${places} limit 1`,
  );
  return row?.id;
}

/** Newest first, and one more than fits on a page. Texts without a time count as newest. */
function readTexts(db: Database, thread: ShownThread, before: string | undefined): Promise<ThreadText[]> {
  const at = before === undefined ? undefined : sentAtOf(thread, before);
  const bound = at ? sql`and m.sent_at <= ${at} and (m.sent_at, m.message_id) < (${at}, ${before})` : sql``;
  return query(
    db,
    sql<ThreadText>`select m.message_id as id, m.direction, m.from_number as "from", m.sent_at as "sentAt", f.sender_kind as sender,
       coalesce(f.sent_by_name, u.user_name) as "userName", s.rule, case when p.is_text_shown then m.body end as body,
       coalesce(char_length(m.body), m.body_length, 0) as length, coalesce(m.media_count, 0) as "mediaCount",
       f.delivery_class as "deliveryClass", f.delivery_status as "deliveryStatus", f.delivery_error as "deliveryError",
       m.block_reason as "blockReason", m.is_scheduled is true as "isScheduled",
       m.scheduled_at as "scheduledAt", m.opt_out_verdict as "optOutVerdict"
     from (
       select m.* from warehouse.sms_messages m where ${isOf(thread)} ${bound}
       order by m.sent_at desc nulls first, m.message_id desc limit ${textsPerPage + 1}
     ) m cross join reporting.params p
       left join reporting.fct_sms_message f on f.conversation_id = m.conversation_id and f.message_id = m.message_id
       left join ops.sends s on s.line = m.line and s.message_id = m.message_id
       left join reporting.dim_user u on u.user_id = m.sent_by
     order by m.sent_at desc nulls first, m.message_id desc`,
  );
}

/**
 * The time span of a page: from its first text (unbounded on the oldest page) up to the first text of the next page.
 */
async function spanOf(
  db: Database,
  thread: ShownThread,
  { texts, before, hasOlder }: { texts: readonly ThreadText[]; before: string | undefined; hasOlder: boolean },
): Promise<Span> {
  const [row] =
    before === undefined ? [] : await query(db, sql<{ at: Date | null }>`select ${sentAtOf(thread, before)} as at`);
  const first = texts.find(({ sentAt }) => sentAt !== null)?.sentAt;
  return {
    from: hasOlder && first ? first : '-infinity',
    until: row?.at ?? 'infinity',
  };
}

/** Newest first, and one more than is shown. */
function readCalls(db: Database, number: string, { from, until }: Span): Promise<ThreadCall[]> {
  return query(
    db,
    sql<ThreadCall>`select r.call_id as id, r.started_at as "startedAt", r.direction, r.outcome, r.talk_seconds as "talkSeconds",
       u.user_name as "userName", r.account_number as "accountNumber"
     from (
       select * from reporting.fct_call where external_number = ${number} and started_at >= ${from} and started_at < ${until}
       order by started_at desc limit ${maxCalls + 1}
     ) r left join reporting.dim_user u on u.user_key = coalesce(r.answered_user_key, r.placed_user_key)
     order by r.started_at desc`,
  );
}

function readOptStates(db: Database, number: string): Promise<OptState[]> {
  return query(
    db,
    sql<OptState>`select line, opt_status as status, decided_at as "decidedAt", evidence
     from reporting.sms_opt_status where number = ${number} order by decided_at desc nulls last, line`,
  );
}

function readChanges(db: Database, conversationId: string, { from, until }: Span): Promise<StateChange[]> {
  return query(
    db,
    sql<StateChange>`select e.axis, e.observed_at as at, e.is_resolved as "isResolved", u.user_name as "userName", e.actor, e.run_id as "runId"
     from (
       select * from warehouse.sms_conversation_events
       where conversation_id = ${conversationId} and observed_at >= ${from} and observed_at < ${until}
       order by observed_at desc limit ${maxCalls}
     ) e left join reporting.dim_user u on u.user_id = e.user_id
     order by e.observed_at`,
  );
}
