import { isPutOff } from '../../inbox/claims.ts';
import { priorities, type TargetKind, targetKinds, unconfirmed } from '../../inbox/target.ts';
import { maskKey, maskNumbers } from '../../masking.ts';
import { type Database, query } from '../../warehouse/database.ts';

/** What is owed of one stream. */
export interface Backlog {
  readonly kind: TargetKind;
  /** Reads that should have happened by now; history that is filled in does not count. */
  readonly due: number;
  /** Reads that are owed at a later moment: looks for late artefacts, and retries. */
  readonly later: number;
  /** Of those: that were to be had by now, and that the service did not take once or twice; not found is an answer. */
  readonly putOff: number;
  /** The longest of these waits, in seconds from the try that failed to the next one. */
  readonly longestPutOffSeconds: number | null;
  /** Reads of history, which wait behind everything else. */
  readonly history: number;
  /** Reads of what only deliveries named and no read has found; they wait behind everything else, and many may not exist. */
  readonly unconfirmed: number;
  /** Of all: whose last read failed. */
  readonly failing: number;
  /** Of these: at least three times in a row, which no passing trouble explains. */
  readonly stubborn: number;
  /** What the credential may not read, of the account's own lines while these are known; it is asked for again, ever more seldom. */
  readonly forbidden: number;
  /** There are more than were counted. */
  readonly isAtLeast: boolean;
  readonly oldestDueSeconds: number | null;
  readonly sampleErrors: readonly string[];
}

/** A stream that waits because the credential may not read it. */
export interface ParkedStream {
  readonly kind: TargetKind;
  readonly since: Date;
  readonly until: Date;
  readonly reason: string;
  readonly missingScope: string | null;
}

/** A target whose last read failed or was refused. */
export interface TargetError {
  readonly kind: TargetKind;
  /** Numbers masked. */
  readonly key: string;
  readonly state: string;
  readonly attempts: number;
  readonly error: string;
  readonly readAt: Date | null;
  readonly nextAt: Date | null;
}

/** So many owed, and so many forbidden reads are counted, the oldest due first; a longer backlog needs no exact figure. */
const mostCounted = 20_000;
const newestErrors = 10;

interface BacklogRow {
  kind: TargetKind;
  due: number;
  later: number;
  put_off: number;
  longest_put_off: number | null;
  history: number;
  unconfirmed: number;
  failing: number;
  stubborn: number;
  oldest: number | null;
  errors: string[] | null;
}

/**
 * Counts through the index of what is owed, however many targets there are; streams that owe nothing are zero. A thread
 * of a line that is not the account's is no permission that lacks: one delivery that names it is enough to be refused.
 */
export async function readBacklog(db: Database): Promise<Backlog[]> {
  const rows = await query<BacklogRow>(
    db,
    `with owed as (
       select kind, due_at, read_at, attempts, last_error, priority, priority = ${priorities.live} as is_live,
         priority = ${priorities.live} and due_at > now() and ${isPutOff} as is_put_off
       from ops.sync_targets where dirty_version > clean_version order by priority, due_at limit ${mostCounted}
     )
     select kind, count(*) filter (where is_live and due_at <= now())::int as due,
       count(*) filter (where is_live and due_at > now())::int as later, count(*) filter (where priority = ${priorities.history})::int as history,
       count(*) filter (where priority >= ${unconfirmed.alone})::int as unconfirmed,
       count(*) filter (where is_put_off)::int as put_off,
       extract(epoch from max(due_at - read_at) filter (where is_put_off))::float8 as longest_put_off,
       count(*) filter (where attempts > 0)::int as failing, count(*) filter (where attempts > 2)::int as stubborn,
       extract(epoch from now() - min(due_at) filter (where is_live and due_at <= now()))::float8 as oldest,
       (array_agg(distinct last_error) filter (where attempts > 0 or is_put_off))[1:3] as errors
     from owed group by kind`,
    [],
  );
  const forbidden = await query<{ kind: TargetKind; count: number }>(
    db,
    `select kind, count(*)::int as count from (
       select kind from ops.sync_targets where last_error is not null and state = 'forbidden'
         and (kind <> 'thread' or split_part(key, '/', 1) in (select line from warehouse.sms_lines)
           or not exists (select from warehouse.sms_lines))
       limit ${mostCounted}
     ) forbidden group by kind`,
    [],
  );
  const counted = rows.reduce((sum, row) => sum + row.due + row.later + row.history + row.unconfirmed, 0);
  return targetKinds.map((kind) => {
    const row = rows.find((each) => each.kind === kind);
    return {
      kind,
      due: row?.due ?? 0,
      later: row?.later ?? 0,
      putOff: row?.put_off ?? 0,
      longestPutOffSeconds: row?.longest_put_off ?? null,
      history: row?.history ?? 0,
      unconfirmed: row?.unconfirmed ?? 0,
      failing: row?.failing ?? 0,
      stubborn: row?.stubborn ?? 0,
      forbidden: forbidden.find((each) => each.kind === kind)?.count ?? 0,
      isAtLeast: counted >= mostCounted,
      oldestDueSeconds: row?.oldest ?? null,
      sampleErrors: (row?.errors ?? []).map(maskNumbers),
    };
  });
}

export async function readParked(db: Database): Promise<ParkedStream[]> {
  const rows = await query<ParkedStream>(
    db,
    `select kind, parked_at as since, parked_until as until, reason, missing_scope as "missingScope"
     from ops.streams order by parked_at`,
    [],
  );
  return rows.map((row) => ({ ...row, reason: maskNumbers(row.reason) }));
}

/** The newest errors of reads that are owed, and while the targets are few also of reads that were refused for good. */
export async function readErrors(db: Database): Promise<TargetError[]> {
  const [size] = await query<{ bytes: number }>(db, `select pg_relation_size('ops.sync_targets')::float8 as bytes`, []);
  const isScannable = (size?.bytes ?? 0) < 64 * 1024 * 1024;
  const rows = await query<TargetError>(
    db,
    `select kind, key, state, attempts, last_error as error, read_at as "readAt",
       case when dirty_version > clean_version then due_at end as "nextAt"
     from ${isScannable ? 'ops.sync_targets' : `(select * from ops.sync_targets where dirty_version > clean_version order by priority, due_at limit ${mostCounted})`} t
     where last_error is not null order by read_at desc nulls last limit ${newestErrors}`,
    [],
  );
  return rows.map((row) => ({ ...row, key: maskKey(row.kind, row.key), error: maskNumbers(row.error) }));
}
