import { maskTarget } from '../../masking.ts';
import { type Database, query } from '../../warehouse/database.ts';

/** What arrived; never what it said. */
export interface InboxFacts {
  readonly types: readonly TypeCount[];
  /** The day's figures are lower bounds: only the newest deliveries were counted. */
  readonly isAtLeast: boolean;
  /** Deliveries per minute of the last hour, the oldest minute first. */
  readonly perMinute: readonly number[];
  /** Kept deliveries that could not be understood, and how many of them are of the last day. */
  readonly unrecognized: { readonly count: number; readonly lastDay: number; readonly isAtLeast: boolean };
  readonly latest: readonly LatestDelivery[];
}

export interface TypeCount {
  /** Null for an address that names no type. */
  readonly type: string | null;
  readonly lastHour: number;
  readonly lastDay: number;
}

export interface LatestDelivery {
  readonly receivedAt: Date;
  readonly type: string | null;
  /** Each as `kind key`, numbers masked. */
  readonly targets: readonly string[];
  readonly isRecognized: boolean;
}

/** So many of the newest deliveries are counted: a day of a large account, and a bound for a flood. */
const mostCounted = 50_000;
const mostUnrecognized = 1_000;
const latestShown = 20;
const minutes = 60;

export async function readInbox(db: Database): Promise<InboxFacts> {
  // The identity orders arrivals, so its index bounds what is read where the block-range index of time cannot.
  const counts = await query<{ type: string | null; minute: number; count: number }>(
    db,
    `select event_type as type, least(floor(extract(epoch from now() - received_at) / 60), ${minutes})::int as minute,
       count(*)::int as count
     from (select event_type, received_at from ops.deliveries order by delivery_id desc limit ${mostCounted}) d
     where received_at > now() - interval '1 day' group by 1, 2`,
    [],
  );
  const [unrecognized] = await query<{ count: number; lastDay: number }>(
    db,
    `select count(*)::int as count, count(*) filter (where received_at > now() - interval '1 day')::int as "lastDay"
     from (select received_at from ops.deliveries where not is_recognized order by delivery_id desc limit ${mostUnrecognized}) u`,
    [],
  );
  const latest = await query<LatestDelivery>(
    db,
    `select received_at as "receivedAt", event_type as type, targets[1:5] as targets, is_recognized as "isRecognized"
     from ops.deliveries order by delivery_id desc limit ${latestShown}`,
    [],
  );
  const perMinute = Array.from({ length: minutes }, (_, at) =>
    sum(counts.filter(({ minute }) => Math.max(0, minute) === minutes - 1 - at)),
  );
  const types = [...Map.groupBy(counts, ({ type }) => type)].map(([type, of]) => ({
    type,
    lastHour: sum(of.filter(({ minute }) => minute < minutes)),
    lastDay: sum(of),
  }));
  return {
    types: types.sort((a, b) => b.lastDay - a.lastDay),
    isAtLeast: sum(counts) >= mostCounted,
    perMinute,
    unrecognized: {
      count: unrecognized?.count ?? 0,
      lastDay: unrecognized?.lastDay ?? 0,
      isAtLeast: unrecognized?.count === mostUnrecognized,
    },
    latest: latest.map((each) => ({ ...each, targets: each.targets.map(maskTarget) })),
  };
}

function sum(counts: readonly { readonly count: number }[]): number {
  return counts.reduce((total, { count }) => total + count, 0);
}
