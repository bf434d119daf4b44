import {
  type Database,
  inTransaction,
  isLockTimeout,
  limitLockWait,
  query,
  sql,
  type Transaction,
} from '../db/database.ts';

/*
 * ops.deliveries is partitioned by `received_at`, so that expired days are dropped instead of deleted row by row. A partition is named
 * after the day at whose begin (UTC) it ends. Deliveries for which none exists are stored in ops.deliveries_other all the same.
 */

/** Partitions exist for the time until this many days from now. */
const daysAhead = 3;
/** A lookup by id visits every partition, so a long retention has longer ones. */
const maxPartitions = 40;

const prefix = 'deliveries_until_';

interface Partition {
  readonly name: string;
  readonly endsAt: Date;
}

function partitions(db: Database | Transaction): Promise<Partition[]> {
  return query(
    db,
    sql<Partition>`select c.relname as name, to_timestamp(right(c.relname, 8) || '+00', 'YYYYMMDDTZH') as "endsAt"
     from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'ops.deliveries'::regclass and c.relname like ${`${prefix}%`} order by 1`,
  );
}

/** Runs `work` while no other process adds or drops partitions. Fails after a second if somebody else keeps the table locked. */
function alone<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return inTransaction(db, async (tx) => {
    await limitLockWait(tx);
    await query(tx, sql`lock table only ops.deliveries in share update exclusive mode`);
    return work(tx);
  });
}

/** Adds the partitions that the next days need. Any number of processes can do so at a time. */
export async function addPartitions(db: Database, retentionDays: number): Promise<void> {
  const days = Math.ceil(retentionDays / maxPartitions);
  if ((await missing(db)).length > 0)
    await alone(db, async (tx) => {
      for (const range of await missing(tx)) await add(tx, range);
    });

  async function missing(tx: Database | Transaction) {
    const ends = (await partitions(tx)).map(({ endsAt }) => endsAt);
    const length = sql`make_interval(hours => 24 * ${days})`;
    // A clock that was ahead for a while may have added partitions of a far future.
    return query(
      tx,
      sql<{ from: Date; to: Date }>`select s as "from", s + ${length} as "to"
       from (select date_trunc('day', now(), 'UTC') as today) t
         cross join lateral (select today + make_interval(hours => 24 * ${daysAhead}) as until) u
         cross join lateral (select max(e) as at from unnest(${ends}::timestamptz[]) e where e <= until + 2 * ${length}) last
         cross join generate_series(greatest(today, last.at), until, ${length}) s
       where not exists (select from ops.deliveries_other where received_at >= s and received_at < s + ${length})
       order by 1`,
    );
  }
}

async function add(tx: Transaction, { from, to }: { from: Date; to: Date }): Promise<void> {
  const day = (at: Date) => at.toISOString().slice(0, 10);
  const name = sql.table(`ops.${prefix}${day(to).replaceAll('-', '')}`);
  // Attached and not created in place, which would lock all deliveries.
  await query(tx, sql`create table ${name} (like ops.deliveries including defaults)`);
  await query(
    tx,
    sql`alter table ops.deliveries attach partition ${name} for values from (${sql.lit(from.toISOString())}) to (${sql.lit(to.toISOString())})`,
  );
}

/** Drops the partitions that ended before a moment, and counts their deliveries. Stops at one that somebody reads: the next round drops it. */
export async function dropPartitions(db: Database, moment: Date, signal?: AbortSignal): Promise<number> {
  let dropped = 0;
  const isOver = ({ endsAt }: Partition) => endsAt <= moment;
  for (const { name } of (await partitions(db)).filter(isOver)) {
    if (signal?.aborted) break;
    try {
      dropped += await alone(db, (tx) => drop(tx, name));
    } catch (error) {
      if (isLockTimeout(error)) break;
      throw error;
    }
  }
  return dropped;
}

async function drop(tx: Transaction, name: string): Promise<number> {
  // Another process may have dropped it.
  if (!(await partitions(tx)).some((each) => each.name === name)) return 0;
  const table = sql.table(`ops.${name}`);
  const [row] = await query(tx, sql<{ count: number }>`select count(*)::integer as count from ${table}`);
  await query(tx, sql`drop table ${table}`);
  return row?.count ?? 0;
}
