import type { RawBuilder } from 'kysely';
import { hotQuery, relation, sql, type Transaction } from '../db/database.ts';
import type { JsonRow } from './held-calls.ts';
import type { Change } from './upsert.ts';

/** Everything that follows from a write to the mirror, besides the rows themselves. */
export interface Following {
  /** The triggers that rules are evaluated for, in this order. */
  readonly events?: readonly RuleEvent[];
  /** Times of calls and of texts whose reports changed, and conversations whose turns changed. */
  readonly calls?: readonly Moment[];
  readonly texts?: readonly Moment[];
  readonly threads?: readonly string[];
  /** Texts of others, which may answer a send. */
  readonly replies?: readonly Reply[];
}

/** A time as a string from JSON or the service. Null or undefined: unknown. */
type Moment = unknown;

interface RuleEvent {
  readonly kind:
    | 'message_received'
    | 'call_ended'
    | 'call_missed'
    | 'voicemail_left'
    | 'transcript_ready'
    | 'action_required';
  readonly key: string;
  /** Undefined: now. */
  readonly at?: Moment;
  /** The time that decides whether an event is too old. Null: unknown; then only an event of history is. */
  readonly happenedAt: Moment;
}

interface Reply {
  readonly line: unknown;
  readonly number: unknown;
  readonly at: Moment;
}

/**
 * Collects what follows from a write. Every function that writes to the mirror takes one; {@link following} creates it.
 */
export type Follow = (what: Following) => void;

/** Runs writes, and then records what follows from all of them in one statement. */
export async function following<T>(
  tx: Transaction,
  work: (follow: Follow) => Promise<T>,
  options: { readonly isHistory?: boolean } = {},
): Promise<T> {
  const all: Following[] = [];
  const result = await work((what) => void all.push(what));
  await recordFollowing(tx, together(all), options);
  return result;
}

function together(all: readonly Following[]): Following {
  return {
    events: all.flatMap(({ events = [] }) => events),
    calls: all.flatMap(({ calls = [] }) => calls),
    texts: all.flatMap(({ texts = [] }) => texts),
    threads: all.flatMap(({ threads = [] }) => threads),
    replies: all.flatMap(({ replies = [] }) => replies),
  };
}

/** The effect of a read on a call. Rows are those of `warehouse.calls`, by column. */
export interface CallWrite {
  readonly callId: string;
  /** Undefined: it is new. */
  readonly before: JsonRow | undefined;
  readonly after: JsonRow;
  readonly isErased: boolean;
  /** It is new, listed again, or its content changed. */
  readonly isChanged: boolean;
  /** Reports count it differently, because of its content, facts, legs or attributions. */
  readonly isReported: boolean;
}

/**
 * A call triggers rules once its end is known. Its status can become known later, so it may trigger under several
 * names.
 */
export function followingCall({ callId, before, after, isErased, isReported }: CallWrite): Following {
  const { ended_at: endedAt, status } = after;
  const isNewlyEnded = endedAt != null && before?.ended_at == null;
  const isNewStatus = endedAt != null && (isNewlyEnded || before?.status !== status);
  const event = (kind: RuleEvent['kind']): RuleEvent => ({ kind, key: callId, at: endedAt, happenedAt: endedAt });
  return {
    events: isErased
      ? []
      : [
          ...(isNewlyEnded ? [event('call_ended')] : []),
          ...(isNewStatus && status === 'missed' ? [event('call_missed')] : []),
          ...(isNewStatus && status === 'voicemail' ? [event('voicemail_left')] : []),
        ],
    calls: isReported ? [before?.started_at, after.started_at] : [],
  };
}

/** The columns of texts that {@link followingText} compares. */
export const textColumns = [
  ...(['conversation_id', 'message_id', 'line', 'number', 'direction', 'sent_at', 'sent_by', 'media_count'] as const),
  ...(['is_scheduled', 'is_blocked', 'is_reaction', 'opt_out_verdict', 'deleted_at'] as const),
  ...(['delivery_status', 'delivery_error'] as const),
] as const;
const statusColumns = ['is_scheduled', 'is_blocked', 'delivery_status', 'delivery_error', 'deleted_at'] as const;
const turnColumns = ['direction', 'sent_at', 'sent_by', 'is_reaction', ...statusColumns];
const replyColumns = ['direction', 'sent_at', 'deleted_at', 'opt_out_verdict', 'is_reaction'];

/**
 * An inbound text is a trigger once its direction and time are known; the service may first list it without them. Turns
 * depend on fewer columns than counts do.
 */
export function followingText({ before, after }: Change<JsonRow>): Following {
  const differs = (columns: readonly string[]) => columns.some((column) => before?.[column] !== after[column]);
  const isKnown = (row: JsonRow | undefined) => row?.direction === 'in' && row.sent_at != null;
  const isNews = isKnown(after) && !isKnown(before) && after.is_scheduled !== true && after.deleted_at === null;
  const rows = [before, after].filter((row) => row !== undefined);
  const isTurned = before === undefined || differs(turnColumns);
  return {
    events: isNews
      ? [
          {
            kind: 'message_received',
            key: `${after.conversation_id}/${after.message_id}`,
            at: after.sent_at,
            happenedAt: after.sent_at,
          },
        ]
      : [],
    texts: differs(textColumns) ? rows.map(({ sent_at }) => sent_at) : [],
    threads: isTurned ? [String(after.conversation_id)] : [],
    replies: differs(replyColumns)
      ? rows.flatMap(({ direction, line, number, sent_at: at }) => (direction === 'in' ? [{ line, number, at }] : []))
      : [],
  };
}

/** Texts that are deleted, or no longer mirrored. */
export function followingLostTexts(rows: readonly JsonRow[]): Following {
  return together(rows.map((before) => followingText({ before, after: { ...before, deleted_at: 'now' } })));
}

/** A transcript is a trigger when it is mirrored within a day after its call. The call may be mirrored later. */
export function followingTranscript({ before, after }: Change<JsonRow>, call: JsonRow | undefined): Following {
  const isUrgent = (row: JsonRow | undefined) =>
    row?.is_action_required === true || row?.is_urgent_action_required === true;
  const key = String(after.transcript_id);
  const event = (kind: RuleEvent['kind']): RuleEvent => ({ kind, key, happenedAt: call?.ended_at ?? null });
  return {
    events: [
      ...(isUrgent(after) && !isUrgent(before) ? [event('action_required')] : []),
      ...(before === undefined ? [event('transcript_ready')] : []),
    ],
    calls: [call?.started_at],
  };
}

/** Events from history are triggers only if they are this young, because a webhook may be late or lost. */
export const historyAge = sql`interval '10 minutes'`;
const newsAge = sql`interval '1 day'`;

/**
 * Records what follows from the writes of a transaction, in one statement. Rules aren't evaluated for history, and each
 * rule limits the age of its triggers itself.
 */
export async function recordFollowing(
  tx: Transaction,
  { events = [], calls = [], texts = [], threads = [], replies = [] }: Following,
  { isHistory = false }: { readonly isHistory?: boolean } = {},
): Promise<void> {
  const markers = [
    ...quarters(calls).map((at) => ({ kind: 'calls', at, thread: null })),
    ...quarters(texts).map((at) => ({ kind: 'texts', at, thread: null })),
    ...[...new Set(threads)].map((thread) => ({ kind: 'thread', at: null, thread })),
  ];
  const ctes: RawBuilder<unknown>[] = [];
  if (events.length > 0) {
    ctes.push(sql`events as (
      insert into ops.rule_events (kind, key, happened_at)
      select kind, key, coalesce(at, now())
      from ${relation('e', inOrder(events), { kind: 'text', key: 'text', at: ['timestamptz', ({ at }) => at], happened_at: ['timestamptz', ({ happenedAt }) => happenedAt] }, 'place')}
      where coalesce(happened_at > now() - case when ${isHistory} then ${historyAge} else ${newsAge} end, not ${isHistory})
      order by place)`);
  }
  if (markers.length > 0) {
    ctes.push(sql`markers as (
      insert into ops.rollup_markers (kind, bucket_at, conversation_id)
      select kind, at, thread from ${relation('m', markers, { kind: 'text', at: 'timestamptz', thread: 'bigint' })})`);
  }
  if (replies.length > 0) {
    ctes.push(sql`answered as (
      insert into ops.send_markers (planned_at)
      select distinct s.planned_at
      from ${relation('r', replies, { line: 'text', number: 'text', at: 'timestamptz' })}
        join ops.sends s on s.line = r.line and s.number = r.number and s.state = 'SENT'
          and s.dispatched_at < r.at and s.dispatched_at >= r.at - interval '24 hours')`);
  }
  if (ctes.length > 0) await hotQuery(tx, sql`with ${sql.join(ctes)} select`);
}

const byId = new Intl.Collator('en', { numeric: true });

/** Sorted by time; at the same time, by id. */
function inOrder(events: readonly RuleEvent[]): RuleEvent[] {
  const timeOf = ({ at }: RuleEvent) => (at == null ? Number.POSITIVE_INFINITY : Date.parse(String(at)));
  return events.toSorted((a, b) => timeOf(a) - timeOf(b) || byId.compare(a.key, b.key));
}

const quarterMs = 900_000;

/** The distinct quarter hours that contain these times. */
function quarters(moments: readonly Moment[]): Date[] {
  const known = moments.filter((moment) => moment != null).map((moment) => Date.parse(String(moment)));
  return [...new Set(known.map((at) => Math.floor(at / quarterMs) * quarterMs))].map((at) => new Date(at));
}
