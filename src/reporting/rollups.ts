import { type Database, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import { tryLock } from '../db/locks.ts';
import { areReadsLate } from '../inbox/sweep.ts';
import { recordFailure } from './drain-failures.ts';
import { type Part, rebuildCalls, rebuildTexts } from './rollups/day.ts';
import { NotRolledUp, type SetAside, setAside } from './rollups/set-aside.ts';
import { type Day, inStep, inSteps, selectDays } from './rollups/steps.ts';
import { rebuildTurns } from './rollups/texts.ts';

/*
 * A fact and its marker are committed together. So a step that runs after a drain has read a marker sees its fact too:
 *
 *   facts + markers ─ commit ─▶ waiting ─ drain: read the markers of a day ─▶ steps over the day ─▶ delete these markers
 *                                  ▲                                              │
 *                                  └── a minute and more ─ set aside ◀────────────┴─ a fact makes a step impossible
 *
 * If a drain is interrupted, the markers stay and the day is computed again: each step only writes what differs. A
 * marker committed meanwhile waits for the next drain, even if a step has already seen its fact.
 */

/** How many conversations are processed between two days, so that neither has to wait for all of the other. */
const threadsAtOnce = 500;
const threadsPerStep = 200;

export interface DrainOptions {
  readonly signal?: AbortSignal;
  /** Called before each day; false ends the drain. Default: drain until nothing is left. */
  readonly goesOn?: () => Promise<boolean>;
}

/**
 * Applies the changes that wait now to the rollups, newest day first, until none is left or another process does it.
 * Changes marked meanwhile wait for the next drain: while many calls arrive, their day is computed once per drain, not
 * once for every few calls. Throws {@link NotRolledUp} at the end if some changes were set aside. Records any other
 * failure too.
 */
export async function drainRollups(db: Database, { signal, goesOn }: DrainOptions = {}): Promise<void> {
  const isOn = async () => !signal?.aborted && (goesOn === undefined || (await goesOn()));
  await recordFailure(db, 'ops.rollup_state', async () => {
    if (!(await isOn()) || !(await inTransaction(db, (tx) => tryLock(tx, 'rollups')))) return 'busy';
    const aside = await drain(db, isOn);
    const troubles = aside.filter((each) => each.is_told).map(({ what }) => what);
    if (troubles.length > 0) throw new NotRolledUp(troubles);
    return 'done';
  });
}

/**
 * Duration of a round of {@link drainBehindMirror} in milliseconds. The next round starts with the newest day again.
 */
const roundMs = 20_000;
/** Reads that have waited longer than this take precedence over the reports. */
const lateReadSeconds = 60;
/** Maximum time that a lasting backlog can delay the reports. */
const longestWait = '15 minutes';

/** One round of {@link drainRollups}. Does nothing while reads are late, unless the reports are late too. */
export async function drainBehindMirror(db: Database, signal: AbortSignal): Promise<void> {
  const until = Date.now() + roundMs;
  const goesOn = async () =>
    Date.now() < until && ((await isOverdue(db)) || !(await areReadsLate(db, lateReadSeconds)));
  await drainRollups(db, { signal, goesOn });
}

/** SQL: an update that records that the rollups are up to date, if no change waits. More conditions may follow it. */
export const recordEven = sql`update ops.rollup_state set drained_at = now()
  where failing_since_at is null and not exists (select from ops.rollup_markers)
    and not exists (select from ops.rollup_troubles where retry_at <= now())`;

async function isOverdue(db: Database): Promise<boolean> {
  const [oldest] = await query(
    db,
    sql<{ is_overdue: boolean }>`select marked_at < now() - ${longestWait}::interval as is_overdue
      from ops.rollup_markers order by marker_id limit 1`,
  );
  return oldest?.is_overdue ?? false;
}

async function drain(db: Database, isOn: () => Promise<boolean>): Promise<SetAside[]> {
  const [horizon] = await query<{ marker_id: string | null; at: Date }>(
    db,
    'select max(marker_id) as marker_id, now() as at from ops.rollup_markers',
    [],
  );
  const aside: SetAside[] = [];
  const worked = new Set<string>();
  let days: Day[] = [];
  do {
    const threads = await markedThreads(db, horizon?.marker_id);
    aside.push(...(await workThreads(db, threads)));
    if (days.length === 0) days = (await markedDays(db)).filter(({ date }) => !worked.has(date));
    const day = days.shift();
    if (day === undefined && threads.length === 0) {
      await query(db, 'update ops.rollup_state set drained_at = greatest(drained_at, $1)', [horizon?.at]);
      return aside;
    }
    if (day === undefined) continue;
    aside.push(...(await workDay(db, day)));
    worked.add(day.date);
  } while (await isOn());
  return aside;
}

/** The marked days, and the days set aside that are due again. */
function markedDays(db: Database): Promise<Day[]> {
  return query(
    db,
    selectDays(
      `select reporting.local_day(bucket_at) as day from ops.rollup_markers
       union all
       select reporting.local_day(bucket_at) from ops.rollup_troubles where retry_at <= now()`,
    ),
    [],
  );
}

async function markedThreads(db: Database, lastMarkerId: string | null | undefined): Promise<string[]> {
  const rows = await query<{ id: string }>(
    db,
    `select distinct conversation_id as id from (
       (select conversation_id from ops.rollup_markers where kind = 'thread' and marker_id <= $1 order by marker_id limit $2)
       union all
       (select conversation_id from ops.rollup_troubles where kind = 'thread' and retry_at <= now() limit $2)
     ) marked`,
    [lastMarkerId, threadsAtOnce],
  );
  return rows.map(({ id }) => id);
}

/**
 * Computes a day again: the marked parts, everything if `whole`, and what was set aside if it is due. Also the returns
 * of earlier days' missed calls, unless those days are still to come (`isAlone`). Returns what was set aside.
 */
export async function workDay(db: Database, day: Day, whole?: { readonly isAlone: boolean }): Promise<SetAside[]> {
  const within = 'bucket_at >= $1 and bucket_at < $2';
  const marked = await query<{ marker_id: string; kind: string; bucket_at: Date }>(
    db,
    `select marker_id, kind, bucket_at from ops.rollup_markers where ${within}`,
    [day.from, day.to],
  );
  const due = await query<{ kind: string }>(
    db,
    `select kind from ops.rollup_troubles where ${within} and retry_at <= now()`,
    [day.from, day.to],
  );
  const aside: SetAside[] = [];
  for (const [kind, rebuild] of [['calls', rebuildCalls] as const, ['texts', rebuildTexts] as const]) {
    const markers = marked.filter((each) => each.kind === kind);
    const isAll = whole !== undefined || due.some((each) => each.kind === kind);
    const part: Part = isAll ? 'all' : markers.map((each) => each.bucket_at);
    if (part.length === 0) continue;
    const [error] = await rebuild(db, day, part, whole?.isAlone ?? false);
    await inStep(db, async (tx) => {
      await query(tx, 'delete from ops.rollup_markers where marker_id = any($1::bigint[])', [
        markers.map((each) => each.marker_id),
      ]);
      if (error) aside.push(...(await setAside(tx, { kind, bucketAt: day.from, error })));
      else if (isAll) {
        await query(tx, `delete from ops.rollup_troubles where kind = $3 and ${within}`, [day.from, day.to, kind]);
      }
    });
  }
  return aside;
}

/** Computes the turns of conversations again. Returns what was set aside. */
export async function workThreads(db: Database, conversationIds: readonly string[]): Promise<SetAside[]> {
  const aside: SetAside[] = [];
  const takeMarkers = (tx: Transaction, ids: readonly string[]) =>
    query(tx, 'delete from ops.rollup_markers where conversation_id = any($1::bigint[])', [ids]);
  await inSteps(
    db,
    conversationIds,
    threadsPerStep,
    async (tx, ids) => {
      await takeMarkers(tx, ids);
      await rebuildTurns(tx, ids);
      await query(tx, 'delete from ops.rollup_troubles where conversation_id = any($1::bigint[])', [ids]);
    },
    (error, conversationId) =>
      inStep(db, async (tx) => {
        await takeMarkers(tx, [conversationId]);
        aside.push(...(await setAside(tx, { kind: 'thread', conversationId, error })));
      }),
  );
  return aside;
}
