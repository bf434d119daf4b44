import { type Database, query } from '../../warehouse/database.ts';
import { countedAs, type UnreadKind } from './counted.ts';
import type { LastLook } from './snapshots.ts';

/*
 * A service may leave texts out of its count that its threads show as unread. By so many it is expected to count fewer from
 * then on, or as many lost texts would hide behind them.
 */

/** How many unread texts a line counts, and how many are held. */
interface Compared {
  readonly line: string;
  readonly reported: number;
  readonly held: number;
}

/** How many of the unread texts that are held the service leaves out of its count, as far as it is proven now. */
export async function uncountedOf(
  db: Database,
  { line, reported, held }: Compared,
  kind: UnreadKind,
  last: LastLook | undefined,
): Promise<number> {
  const ahead = held - reported;
  const remaining =
    last && last.uncounted > 0
      ? remainingOf(last, { ahead, held, arrived: await arrivedSince(db, line, kind, last) })
      : 0;
  return ahead > remaining ? Math.max(remaining, Math.min(ahead, await outlasting(db, line, kind))) : remaining;
}

/**
 * What remains uncounted of what was. A line that is less ahead than it was has lost a text, unless it was found that texts
 * of it are read, or gone: then these were the uncounted ones.
 */
export function remainingOf(
  last: Pick<LastLook, 'reported' | 'held' | 'uncounted'>,
  now: { readonly ahead: number; readonly held: number; readonly arrived: number },
): number {
  const ahead = last.held - last.reported;
  const found = last.held + now.arrived - now.held;
  const explained = Math.max(0, Math.min(ahead - now.ahead, found));
  return Math.max(0, Math.min(last.uncounted, Math.max(ahead, last.uncounted) - explained));
}

async function arrivedSince(db: Database, line: string, kind: UnreadKind, { at }: LastLook): Promise<number> {
  const [row] = await query<{ arrived: number }>(
    db,
    `select count(*)::integer as arrived from warehouse.sms_messages m
     where m.line = $1 and ${countedAs[kind]} and m.first_seen_at > $2`,
    [line, at],
  );
  return row?.arrived ?? 0;
}

/**
 * By how much a line was ahead all the time since the threads that hold its unread texts were read to their end. Those that
 * were not may each have been read meanwhile.
 */
async function outlasting(db: Database, line: string, kind: UnreadKind): Promise<number> {
  const [row] = await query<{ proven: number }>(
    db,
    `with holding as (
       select m.conversation_id, count(*)::integer as unread from warehouse.sms_messages m
       where m.line = $1 and ${countedAs[kind]} group by m.conversation_id
     ), reread as (
       select min(c.unread_reread_at) filter (where c.thread_fetched_at > c.unread_reread_at) as since,
         coalesce(sum(h.unread) filter (where (c.thread_fetched_at > c.unread_reread_at) is not true), 0) as unproven
       from holding h join warehouse.sms_conversations c using (conversation_id)
     )
     select (min(s.held_count - s.reported_count) - r.unproven)::integer as proven
     from reread r join warehouse.sms_unread_snapshots s on s.line = $1 and s.observed_at >= coalesce(
       (select max(observed_at) from warehouse.sms_unread_snapshots where line = $1 and observed_at <= r.since), r.since)
     group by r.unproven`,
    [line],
  );
  return row?.proven ?? 0;
}
