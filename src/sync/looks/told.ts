import type { EventType } from '../../event-types.ts';
import type { Target } from '../../inbox/target.ts';
import { type Database, query } from '../../warehouse/database.ts';

/** Which deliveries count. */
interface Telling {
  /** Only so many of the newest ones are looked through. */
  readonly most: number;
  /** Seconds that they are old at most. */
  readonly withinSeconds: number;
  /** One of this type tells of something else. */
  readonly except?: EventType;
}

/** Seconds since a delivery last told of a target; undefined when none did of late. */
export async function secondsSinceTold(
  db: Database,
  { kind, key }: Target,
  { most, withinSeconds, except }: Telling,
): Promise<number | undefined> {
  const [told] = await query<{ seconds: number | null }>(
    db,
    `select extract(epoch from now() - max(received_at))::float8 as seconds
     from (
       select received_at, targets, event_type, claimed_type from ops.deliveries order by delivery_id desc limit $2
     ) newest
     where received_at > now() - $3 * interval '1 second' and $1 = any(targets)
       and ($4::text is null or $4 is distinct from coalesce(claimed_type, event_type))`,
    [`${kind} ${key}`, most, withinSeconds, except],
  );
  return told?.seconds ?? undefined;
}
