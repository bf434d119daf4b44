import type { Pool } from 'pg';
import type { FaultyService } from '../deployment/service.ts';

/** What the ledger says of sends that may have cost something. */
interface Ledger {
  readonly sent: number;
  /** Nobody knows whether they cost something: at most these may be missing among the sent. */
  readonly unknown: number;
  readonly dispatched: number;
}

/**
 * Where the service's bill and the ledger contradict each other: more POSTs than rows that were dispatched, or charges
 * that no row accounts for. Without a ledger, nothing may ever be sent.
 */
export async function sendDifferences(database: Pool, service: FaultyService): Promise<string[]> {
  const posts = (await service.sends()).filter(({ key }) => key === 'default');
  const charges = posts.filter((each) => each.charge !== null).length;
  const { sent, unknown, dispatched } = await ledgerOf(database);
  return [
    ...(posts.length > dispatched ? [`${posts.length} POSTs of a send for ${dispatched} dispatched rows`] : []),
    ...(charges < sent || charges > sent + unknown
      ? [`${charges} charges for ${sent} SENT rows and ${unknown} of unknown outcome`]
      : []),
  ];
}

async function ledgerOf(database: Pool): Promise<Ledger> {
  const found = await database.query<{ is_there: boolean }>(`select to_regclass('ops.sends') is not null as is_there`);
  if (!found.rows[0]?.is_there) return { sent: 0, unknown: 0, dispatched: 0 };
  const { rows } = await database.query<Ledger>(
    `select count(*) filter (where state = 'SENT')::integer as sent,
       count(*) filter (where state in ('DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN'))::integer as unknown,
       count(*) filter (where state in ('DISPATCHED', 'SENT', 'SKIPPED', 'REJECTED', 'NOT_SENT', 'UNKNOWN', 'NEEDS_HUMAN'))::integer
         as dispatched
     from ops.sends`,
  );
  return rows[0] ?? { sent: 0, unknown: 0, dispatched: 0 };
}
