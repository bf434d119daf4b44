import { bumpTargets, type Pauses } from '../../inbox/bumps.ts';
import { priorities, type Ring } from '../../inbox/target.ts';
import { type Database, inTransaction, query } from '../../warehouse/database.ts';
import { bumpsOf, isHeld, type ListedNumber } from './candidates.ts';

/*
 * Whoever names numbers knows of texts that are not here. For pairs without a conversation that makes candidates; where
 * one is held, its threads may lack a text, and only reading them shows it.
 */

const columnsOf = (listed: readonly ListedNumber[]) => [
  listed.map(({ number }) => number),
  listed.map(({ line }) => line ?? null),
];

/** A held thread that is owed a read because its number was listed. */
export interface OwedThread {
  readonly key: string;
  /** It was read when this version is clean, whatever it owes beyond. */
  readonly version: string;
}

/** What is read again for a list. */
export interface Reread {
  readonly owed: readonly OwedThread[];
  /** Threads of these numbers beyond those. */
  readonly left: number;
  readonly rings: Ring[];
}

/**
 * Has the threads that are held of listed numbers, their groups included, read to their end behind everything else: up
 * to so many, those first that were longest not read so. A list that is given again goes on with the others.
 */
export function rereadListed(
  db: Database,
  listed: readonly ListedNumber[],
  { most, pauses }: { readonly most: number; readonly pauses: Pauses },
): Promise<Reread> {
  return inTransaction(db, async (tx) => {
    const rows = await query<{ line: string; number: string; participants_key: string; held: number }>(
      tx,
      `with held as materialized (
         select distinct c.conversation_id, c.complete_read_at from warehouse.sms_conversations c
         join warehouse.sms_lines l on l.line = c.line and l.deleted_at is null
         cross join unnest(case when c.participants_key = '' then array[c.number] else c.participants end) as party
         join unnest($1::text[], $2::text[]) as p (number, line) on p.number = party and (p.line is null or p.line = c.line)
         where c.deleted_at is null
       ), chosen as (
         select conversation_id from held order by complete_read_at nulls first, conversation_id limit $3
       )
       update warehouse.sms_conversations c set is_reread_owed = true from chosen
       where c.conversation_id = chosen.conversation_id
       returning c.line, c.number, c.participants_key, (select count(*)::integer from held) as held`,
      [...columnsOf(listed), most],
    );
    const bumps = bumpsOf(rows, priorities.history);
    const rings = await bumpTargets(tx, bumps, pauses);
    const owed = await query<OwedThread>(
      tx,
      `select key, dirty_version as version from ops.sync_targets where kind = 'thread' and key = any($1)`,
      [bumps.map(({ key }) => key)],
    );
    return { owed, left: (rows[0]?.held ?? 0) - rows.length, rings };
  });
}

/** How many of these threads wait for their read. */
export async function rereadsUnderWay(db: Database, owed: readonly OwedThread[]): Promise<number> {
  const [row] = await query<{ count: number }>(
    db,
    `select count(*)::integer as count from unnest($1::text[], $2::bigint[]) as o (key, version)
     join ops.sync_targets t on t.kind = 'thread' and t.key = o.key and t.clean_version < o.version`,
    [owed.map(({ key }) => key), owed.map(({ version }) => version)],
  );
  return row?.count ?? 0;
}

/** What of a list is not asked for. */
export interface LeftOut {
  /** Pairs without a conversation that were asked for within the last hour. */
  readonly askedLately: number;
  /** Numbers of people who were erased. */
  readonly erased: number;
}

/** What of a list {@link addNumbers} left out. */
export async function leftOut(db: Database, listed: readonly ListedNumber[]): Promise<LeftOut> {
  const [row] = await query<LeftOut>(
    db,
    `with listed as (select distinct number, line from unnest($1::text[], $2::text[]) as p (number, line))
     select (
       select count(*)::integer from (
         select distinct t.line, t.number from listed p
         join ops.thread_candidates t on t.number = p.number and (p.line is null or t.line = p.line)
         join warehouse.sms_lines l on l.line = t.line and l.deleted_at is null
         where t.probed_at is not null and not ${isHeld('t')}) asked
     ) as "askedLately", (
       select count(*)::integer from ops.erased_among(array(select distinct number from listed)) where exists (select from ops.erasures)
     ) as erased`,
    columnsOf(listed),
  );
  return row ?? { askedLately: 0, erased: 0 };
}
