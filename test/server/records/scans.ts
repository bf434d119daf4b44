import { type Database, query, sql } from '../../../src/db/database.ts';

/** The tables that a read scans as a whole although a large one would have to be searched by an index. */
export async function scannedBy(db: Database, read: (db: Database) => Promise<unknown>): Promise<string[]> {
  return db.transaction().execute(async (tx) => {
    await query(tx, sql`set local enable_seqscan = off`);
    // What the connection did before is in the counts.
    const before = new Map((await readScans(tx)).map(({ name, scans }) => [name, scans]));
    await read(tx);
    return (await readScans(tx))
      .filter(({ name, scans }) => scans !== (before.get(name) ?? '0'))
      .map(({ name }) => name);
  });
}

function readScans(db: Database): Promise<{ name: string; scans: string }[]> {
  return query(
    db,
    sql`select schemaname || '.' || relname as name, seq_scan as scans from pg_stat_xact_user_tables where seq_scan > 0 order by 1`,
  );
}
