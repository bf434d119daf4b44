import {
  type Database,
  inTransaction,
  isLockTimeout,
  limitLockWait,
  query,
  relation,
  sql,
  type Transaction,
} from '../db/database.ts';
import { UserError } from '../shared/errors.ts';
import { areCallersStale, rebuildCallers } from './rollups/calls.ts';
import { type Changes, type Trouble, workIn } from './rollups/changes.ts';

/*
 * A fact and its marker are committed together, so whatever marker a drain sees, it sees the fact as well:
 *
 *   facts + markers ─ commit ─▶ waiting ─ drain: delete markers, rebuild their quarters, days and turns ─ commit ─▶ even
 *                                                         │
 *                                                         └─ a fact makes it impossible ─▶ set aside ─ a minute and more ─▶ waiting
 *
 * A marker that is committed meanwhile stays for the next drain, even when the rebuild happened to see its fact.
 */

/** What one drain did. `busy`: another process is at it. */
type Drained =
  | { readonly state: 'busy' }
  | { readonly state: 'even' }
  | {
      readonly state: 'drained';
      readonly markers: number;
      /** What was set aside and nobody was told of yet. */
      readonly troubles: readonly string[];
    };

/** One transaction takes so many markers at most: a back-fill leaves very many. */
const maxMarkers = 2_000;

/** The changes that one drain is about: those marked so far. */
interface Horizon {
  /** The newest marker; absent when there was none. */
  readonly markerId: string | null;
  readonly at: Date;
}

/**
 * Works the changes that wait now into the rollups, until none of them is left, another process does it, or the signal
 * says stop. What is marked meanwhile waits for the next drain: while calls pour in, their day is rebuilt once a drain, and
 * not once for every few of them. Throws {@link NotRolledUp} at the end when some had to be set aside.
 */
export async function drainRollups(db: Database, signal?: AbortSignal): Promise<void> {
  const horizon = await horizonNow(db);
  const troubles: string[] = [];
  let drained = await drainOnce(db, horizon);
  while (drained.state === 'drained') {
    troubles.push(...drained.troubles);
    if (signal?.aborted) break;
    drained = await drainOnce(db, horizon);
  }
  if (drained.state === 'even') await widenKpiPivot(db);
  if (troubles.length > 0) throw new NotRolledUp(troubles);
}

/** One transaction of {@link drainRollups}. */
export function drainOnce(db: Database, horizon: Horizon, most = maxMarkers): Promise<Drained> {
  return inTransaction(db, (tx) => drain(tx, horizon, most));
}

/** Everything that is marked by now. */
export async function horizonNow(db: Database): Promise<Horizon> {
  const [horizon] = await query<{ marker_id: string | null; at: Date }>(
    db,
    'select max(marker_id) as marker_id, now() as at from ops.rollup_markers',
    [],
  );
  if (!horizon) throw new Error('an aggregate gave no row');
  return { markerId: horizon.marker_id, at: horizon.at };
}

/** Holds all drains off for the rest of the transaction, which is planned as one of theirs. */
export async function holdDrains(tx: Transaction): Promise<void> {
  await query(tx, `select pg_advisory_xact_lock(hashtext('reporting.rollups'))`, []);
  await query(tx, lookUp, []);
}

/** A day is looked up in its indexes, which by default Postgres counts as dear as on a turning disk, and is sorted in memory. */
const lookUp = `select set_config('random_page_cost', '1.1', true), set_config('work_mem', '32MB', true)`;

async function drain(tx: Transaction, horizon: Horizon, most: number): Promise<Drained> {
  const [lock] = await query<{ is_ours: boolean }>(
    tx,
    `select pg_try_advisory_xact_lock(hashtext('reporting.rollups')) as is_ours`,
    [],
  );
  if (!lock?.is_ours) return { state: 'busy' };
  await query(tx, lookUp, []);
  const due = await dueTroubles(tx);
  const markers = await takeMarkers(tx, horizon, most);
  const changes = changesOf(markers, due);
  if (changes.calls.length + changes.texts.length + changes.threads.length === 0) {
    if (await areCallersStale(tx, [])) await rebuildCallers(tx);
    await query(tx, 'update ops.rollup_state set drained_at = greatest(drained_at, $1)', [horizon.at]);
    return { state: 'even' };
  }
  const aside = await settleTroubles(tx, changes, await workIn(tx, changes));
  const troubles = aside.filter((each) => each.is_told).map(({ what }) => what);
  return { state: 'drained', markers: markers.reduce((sum, { count }) => sum + count, 0), troubles };
}

interface Marker {
  readonly kind: 'calls' | 'texts' | 'thread';
  readonly bucket_at: Date | null;
  readonly conversation_id: string | null;
  readonly count: number;
}

/** Each quarter of an hour and each conversation once. */
function changesOf(markers: readonly Marker[], due: Changes): Changes {
  const quarters = (kind: Marker['kind'], others: readonly Date[]) => {
    const marked = markers.flatMap((each) => (each.kind === kind && each.bucket_at ? [each.bucket_at] : []));
    return [...new Map([...marked, ...others].map((at) => [Number(at), at])).values()];
  };
  const threads = markers.flatMap(({ conversation_id }) => (conversation_id === null ? [] : [conversation_id]));
  return {
    calls: quarters('calls', due.calls),
    texts: quarters('texts', due.texts),
    threads: [...new Set([...threads, ...due.threads])],
  };
}

/** What changed up to the horizon, and what the migrations of this release ask for. */
async function takeMarkers(tx: Transaction, { markerId }: Horizon, most: number): Promise<Marker[]> {
  return query<Marker>(
    tx,
    `with taken as (
       delete from ops.rollup_markers
       where marker_id in (select marker_id from ops.rollup_markers where marker_id <= $2 order by marker_id limit $1)
       returning kind, bucket_at, conversation_id
     ), recounts as (
       delete from ops.rollup_recounts where ctid = any(array(select ctid from ops.rollup_recounts limit $1))
       returning kind, bucket_at, null::bigint
     )
     select kind, bucket_at, conversation_id, count(*)::integer as count
     from (select * from taken union all select * from recounts) waiting group by 1, 2, 3 order by 1, 2, 3`,
    [most, markerId],
  );
}

/** Gives `reporting.kpi_pivot` the columns of measures that are new; while somebody reads it, the next drain is to. */
async function widenKpiPivot(db: Database): Promise<void> {
  const widened = db.transaction().execute(async (tx) => {
    await limitLockWait(tx);
    const [behind] = await query<{ is_behind: boolean }>(
      tx,
      `select least(500, (select count(*) from rollups.kpi_names)) > (
         select count(*) from pg_attribute
         where attrelid = to_regclass('reporting.kpi_pivot') and attnum > 0 and attname like 'kpi\\_%') as is_behind`,
      [],
    );
    if (!behind?.is_behind) return;
    await query(tx, `select pg_advisory_xact_lock(hashtext('ops.views'))`, []);
    await query(tx, 'select ops.widen_kpi_pivot()', []);
  });
  await widened.catch((error: unknown) => {
    if (!isLockTimeout(error)) throw error;
  });
}

/** Some changes could not be worked into the rollups; all others were, and these are tried again by themselves. */
export class NotRolledUp extends UserError {
  constructor(troubles: readonly string[]) {
    const some = troubles.slice(0, 5).join('; ');
    const rest = troubles.length > 5 ? `; and ${troubles.length - 5} more` : '';
    super(
      `The reports lack ${some}${rest}. They are tried again within a quarter of an hour; the facts are in the schema warehouse.`,
    );
  }
}

/** Changes that were set aside and whose time has come again. */
async function dueTroubles(tx: Transaction): Promise<Changes> {
  const rows = await query<{ kind: string; bucket_at: Date | null; conversation_id: string | null }>(
    tx,
    'select kind, bucket_at, conversation_id from ops.rollup_troubles where retry_at <= now() order by retry_at limit 200',
    [],
  );
  const quarters = (kind: string) => rows.flatMap((row) => (row.kind === kind && row.bucket_at ? [row.bucket_at] : []));
  return {
    calls: quarters('calls'),
    texts: quarters('texts'),
    threads: rows.flatMap(({ conversation_id }) => (conversation_id === null ? [] : [conversation_id])),
  };
}

/** One minute, then twice as long each time, up to a quarter of an hour. */
const retryDelay = (tries: string) =>
  sql.raw(`least(interval '1 minute' * 2 ^ least(${tries}, 10), interval '15 minutes')`);

export interface SetAside {
  /** In words for people. */
  readonly what: string;
  /** It is new, or it failed again when it was due: worth another line in the log. */
  readonly is_told: boolean;
}

/** Notes which of the changes that were tried could not be worked in, and forgets the others. */
export async function settleTroubles(
  tx: Transaction,
  tried: Changes,
  troubles: readonly Trouble[],
): Promise<SetAside[]> {
  const failed = troubles.map((trouble) => ({ ...failedSubject(trouble), error: trouble.error.message }));
  const failedKeys = new Set(failed.map(keyOf));
  const worked = subjectsOf(tried).filter((each) => !failedKeys.has(keyOf(each)));
  await query(
    tx,
    sql`
      delete from ops.rollup_troubles t using ${subjectRelation('w', worked)}
      where t.kind = w.kind and (t.bucket_at = w.bucket_at or t.conversation_id = w.conversation_id)`,
  );
  if (failed.length === 0) return [];
  return query(
    tx,
    sql<SetAside>`
     insert into ops.rollup_troubles as t (kind, bucket_at, conversation_id, error)
     select distinct on (kind, bucket_at, conversation_id) kind, bucket_at, conversation_id, error
     from ${relation('f', failed, {
       kind: 'text',
       bucket_at: ['timestamptz', (each) => each.bucketAt],
       conversation_id: ['bigint', (each) => each.conversationId],
       error: 'text',
     })}
     on conflict (kind, coalesce(bucket_at, '-infinity'), coalesce(conversation_id, 0)) do update set
       error = excluded.error, last_failed_at = now(), try_count = t.try_count + (t.retry_at <= now())::integer,
       retry_at = case when t.retry_at <= now() then now() + ${retryDelay('t.try_count')} else t.retry_at end
     returning
       format('%s (%s)', case kind when 'thread' then 'turns of conversation ' || conversation_id
         else kind || ' from ' || to_char(bucket_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC' end, error) as what,
       retry_at = now() + ${retryDelay('try_count - 1')} as is_told`,
  );
}

interface Subject {
  readonly kind: Trouble['kind'];
  readonly bucketAt: Date | null;
  readonly conversationId: string | null;
}

function failedSubject(trouble: Trouble): Subject {
  return trouble.kind === 'thread'
    ? { kind: trouble.kind, bucketAt: null, conversationId: trouble.conversationId }
    : { kind: trouble.kind, bucketAt: trouble.bucketAt, conversationId: null };
}

function subjectsOf({ calls, texts, threads }: Changes): Subject[] {
  return [
    ...calls.map((bucketAt) => ({ kind: 'calls' as const, bucketAt, conversationId: null })),
    ...texts.map((bucketAt) => ({ kind: 'texts' as const, bucketAt, conversationId: null })),
    ...threads.map((conversationId) => ({ kind: 'thread' as const, bucketAt: null, conversationId })),
  ];
}

function keyOf({ kind, bucketAt, conversationId }: Subject): string {
  return `${kind} ${bucketAt?.getTime() ?? conversationId}`;
}

function subjectRelation(name: string, subjects: readonly Subject[]) {
  return relation(name, subjects, {
    kind: 'text',
    bucket_at: ['timestamptz', (each) => each.bucketAt],
    conversation_id: ['bigint', (each) => each.conversationId],
  });
}
