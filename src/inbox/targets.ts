import { type Database, hotQuery, relation, sql, type Transaction } from '../db/database.ts';
import { beat } from '../shared/beat.ts';
import { maskKey } from '../shared/masking.ts';
import { directoryKinds, ofEachList } from '../warehouse/directory.ts';

/** The kinds of sync target. The targets of a kind are parked and resumed together. */
export const targetKinds = ['thread', 'call', 'recordings', 'transcripts', ...directoryKinds] as const;
export type TargetKind = (typeof targetKinds)[number];

/** The display names of the kinds of target. */
export const kindNames: Readonly<Record<TargetKind, string>> = {
  thread: 'Texts',
  call: 'Calls',
  recordings: 'Recordings',
  transcripts: 'Transcripts',
  ...ofEachList(({ label }) => label),
};

/** A thing to read through the API. */
export interface Target {
  readonly kind: TargetKind;
  readonly key: string;
}

/** The targets of a call. */
export const targetsOfCall = (key: string): readonly Target[] =>
  (['call', 'recordings', 'transcripts'] as const).map((kind) => ({ kind, key }));

/** A target as one text, as deliveries name it. */
export function targetId({ kind, key }: Target): string {
  return `${kind} ${key}`;
}

/** The target of such a text. Undefined for a kind that only another release knows. */
export function targetOfId(id: string): Target | undefined {
  const [name, key] = id.split(/ (.*)/s, 2);
  const kind = targetKinds.find((each) => each === name);
  return kind === undefined || key === undefined ? undefined : { kind, key };
}

/** A target for logs and pages, with phone numbers masked. */
export function maskedTarget({ kind, key }: Target): string {
  return `${kind} ${maskKey(kind, key)}`;
}

/** Live targets are read before history that is filled in. */
export const priorities = { live: 0, history: 1 } as const;
export type Priority = (typeof priorities)[keyof typeof priorities];

/**
 * Ranks of deferred targets, which are read slowly, after all others (`sync/unconfirmed-targets.ts`). A target that
 * only deliveries name and no read has found may not exist. Its first read is like a live one; if that doesn't find it,
 * it is deferred. A target of a delivery with many references is deferred at once (`bulk`).
 */
export const unconfirmed = { single: 2, bulk: 3 } as const;

/** The rank of a target: how soon it is read. */
export type Rank = Priority | (typeof unconfirmed)[keyof typeof unconfirmed];

/** An event names one call or the threads of one text. A delivery with more references is a batch or forged. */
const maxPerEvent = 10;

/** The rank of an unconfirmed target in a delivery with this many references. */
export function rankOf(references: number): Rank {
  return references > maxPerEvent ? unconfirmed.bulk : unconfirmed.single;
}

/** A target to enqueue `afterMs` from now. */
export interface DueTarget extends Target {
  readonly afterMs: number;
}

/** A target to mark dirty, due now or some seconds from now. */
export interface DirtyTarget extends Target {
  readonly afterSeconds?: number;
  /** Default: live. For a target that only a delivery names: `rankOf`. */
  readonly priority?: Rank;
  /** The id of the delivery that is the cause. */
  readonly deliveryId?: string | undefined;
}

/** Milliseconds between two reads of a target, by the last result: bursts are coalesced, and refusals cost little. */
const pauses = { activeMs: 200, refusedMs: 60_000 };

/** Targets due later than this are left to the sweep; the notifier keeps nearer ones in memory. */
const nearMs = 2_000;

/**
 * SQL for `enqueued_at` of a target that is due at `due`. History, and targets that are due later, don't count as
 * enqueued: the sweep reads them when they are due.
 */
export function enqueuedAt(due: string, priority: string): string {
  return `case when ${priority} = ${priorities.live} and ${due} < now() + interval '${nearMs} ms' then greatest(${due}, now()) else '-infinity' end`;
}

const interval = (ms: number) => `interval '${beat.ms(ms)} ms'`;

/** SQL for the moment before which a target isn't read again. */
export function earliestRead(state = 't.state'): string {
  const { activeMs, refusedMs } = pauses;
  return `t.read_at + case ${state} when 'active' then ${interval(activeMs)} else ${interval(refusedMs)} end`;
}

/**
 * SQL of CTEs that mark the targets of a relation `referenced(kind, key, after_seconds, priority, delivery_id)` dirty.
 * The last CTE, `due`, has the targets to enqueue (`DueTargetRow`): those that were clean, and those that are due
 * earlier than before. A failing target keeps its back-off.
 *
 * A target with a due read is marked too: that read may begin before this commits, and then it lacks the change. Rows
 * are locked in the order of their keys, so that concurrent batches can't deadlock.
 */
export function markingDirty(): string {
  // `limit 1` makes each a lookup by key, also in a plan for the empty table.
  const targetOf = (row: string) =>
    `left join lateral (select * from ops.sync_targets t where t.kind = ${row}.kind and t.key = ${row}.key limit 1) t on true`;
  const isClean = 't.dirty_version = t.clean_version';
  const wanted = `greatest(excluded.due_at, ${earliestRead()})`;
  const asked = `now() + min(after_seconds) * interval '1 second'`;
  const isUnconfirmed = `h.priority >= ${unconfirmed.single} and coalesce(t.is_unconfirmed, true)`;
  const isAtOnce = `not (${isUnconfirmed}) or (t.kind is null and h.priority = ${unconfirmed.single})`;
  const rank = `case when h.priority >= ${unconfirmed.single} and (${isAtOnce}) then ${priorities.live} else h.priority end`;
  return `
    changed as (
      select h.kind, h.key, h.after_seconds, h.delivery_id, r.priority, r.is_unconfirmed
      from referenced h ${targetOf('h')}
      cross join lateral (select ${rank} as priority, ${isUnconfirmed} as is_unconfirmed) r
    ),
    marked as (
      insert into ops.sync_targets as t (kind, key, due_at, enqueued_at, priority, is_unconfirmed, delivery_id)
      select kind, key, ${asked}, ${enqueuedAt(asked, 'min(priority)')}, min(priority), bool_and(is_unconfirmed), min(delivery_id)
      from changed group by kind, key order by kind, key
      on conflict (kind, key) do update set
        dirty_version = t.dirty_version + 1,
        due_at = case when ${isClean} then ${wanted} when t.attempts > 0 then t.due_at else least(t.due_at, ${wanted}) end,
        enqueued_at = case when ${isClean} or excluded.priority < t.priority or (t.attempts = 0 and t.due_at > ${wanted})
          then ${enqueuedAt(wanted, 'excluded.priority')} else t.enqueued_at end,
        priority = case when ${isClean} then excluded.priority else least(t.priority, excluded.priority) end,
        is_unconfirmed = t.is_unconfirmed and excluded.is_unconfirmed,
        delivery_id = case when t.dirty_version in (t.clean_version, t.claimed_version) then excluded.delivery_id
          else coalesce(t.delivery_id, excluded.delivery_id) end
      returning kind, key, due_at, enqueued_at
    ),
    due as (
      select m.kind, m.key, greatest(0, extract(epoch from m.due_at - now()) * 1000)::integer as after_ms
      from marked m ${targetOf('m')}
      where m.enqueued_at >= now() and m.enqueued_at is distinct from t.enqueued_at
    )`;
}

export interface DueTargetRow {
  kind: TargetKind;
  key: string;
  after_ms: number;
}

export function dueTargetsOf(rows: readonly DueTargetRow[]): DueTarget[] {
  return rows.map((row) => ({ kind: row.kind, key: row.key, afterMs: row.after_ms }));
}

/** Marks targets dirty, except threads of people who were erased. Returns the targets to enqueue. */
export async function markDirty(db: Database | Transaction, targets: readonly DirtyTarget[]): Promise<DueTarget[]> {
  if (targets.length === 0) return [];
  const given = relation('h', targets, {
    kind: 'text',
    key: 'text',
    after_seconds: ['double precision', (target) => target.afterSeconds ?? 0],
    priority: ['smallint', (target) => target.priority ?? priorities.live],
    delivery_id: ['bigint', (target) => target.deliveryId],
  });
  const rows = await hotQuery(
    db,
    sql<DueTargetRow>`with referenced as (
       select * from ${given} where case when kind = 'thread' then not ops.is_erased_thread(key) else true end
     ),
     ${sql.raw(markingDirty())} select * from due`,
  );
  return dueTargetsOf(rows);
}
