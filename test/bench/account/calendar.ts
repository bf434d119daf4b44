import type { Client } from 'pg';

/** What an invented history amounts to. */
export interface HistorySize {
  readonly calls: number;
  /** About so many: they come in sessions of one to seven. */
  readonly messages: number;
}

export const timeZone = 'America/New_York';
export const userCount = 500;
export const wholeDays = 120;

/** 20,000 calls a day, as an account of 500 agents has; a small history is spread thinner, so that 90 days are filled. */
const daysOf = (calls: number) => Math.min(500, Math.max(wholeDays, Math.ceil(calls / 20_000)));

/** By the local hour; the lunch hour dips. */
const hours = [
  ...[0.02, 0.01, 0.01, 0.01, 0.01, 0.03, 0.1, 0.35, 0.8, 1, 1.1, 1.1],
  ...[0.85, 0.9, 1.05, 1.1, 1, 0.75, 0.4, 0.25, 0.15, 0.1, 0.06, 0.03],
];
/** From Monday to Sunday. */
const weekdays = [1.15, 1.05, 1, 1, 0.95, 0.3, 0.15];

/**
 * Lays out when things happen: `bench.quarters` gives every quarter of an hour its calls and its text sessions by number,
 * more on weekdays and in office hours. `bench.draw` makes the same random number of a number each time.
 */
export async function layOutCalendar(client: Client, { calls, messages }: HistorySize): Promise<readonly Date[]> {
  await client.query(`
    create schema bench;
    create function bench.draw(n bigint, salt integer) returns double precision language sql immutable parallel safe
      return (hashint8extended(n, salt) & 1073741823) / 1073741824.0::double precision;
    create function bench.customer(share double precision) returns text language sql immutable parallel safe
      return '1718' || (5000000 + floor(share * ${Math.max(500, Math.ceil(calls / 12))})::bigint);
    create function bench.extension(share double precision) returns text language sql immutable parallel safe
      return (1000 + floor(power(share, 1.4) * ${userCount})::integer)::text;
    create function bench.user_of(extension text) returns bigint language sql immutable parallel safe
      return extension::bigint - 999;
    create function bench.one_of(choices text[], share double precision) returns text language sql immutable parallel safe
      return choices[1 + floor(share * cardinality(choices))::integer];`);
  await client.query(
    `create table bench.quarters as
     with weighted as (
       select bucket_at, ($2::float8[])[extract(hour from local)::integer + 1] * ($3::float8[])[extract(isodow from local)::integer] as weight
       from generate_series(date_bin('15 minutes', now(), '2000-01-01') - make_interval(days => $1), now() - interval '16 minutes', '15 minutes') bucket_at
         cross join lateral (select bucket_at at time zone $4 as local) wall
     ), shares as (
       select bucket_at, sum(weight) over (order by bucket_at) / sum(weight) over () as until from weighted
     )
     select bucket_at, (bucket_at at time zone 'UTC')::date as utc_date,
       floor(coalesce(lag(until) over sorted, 0) * $5)::bigint + 1 as first_call, floor(until * $5)::bigint as last_call,
       floor(coalesce(lag(until) over sorted, 0) * $6)::bigint + 1 as first_session, floor(until * $6)::bigint as last_session
     from shares window sorted as (order by bucket_at)`,
    [daysOf(calls), hours, weekdays, timeZone, calls, Math.ceil(messages / 4)],
  );
  await client.query('create index on bench.quarters (utc_date); analyze bench.quarters');
  const { rows } = await client.query<{ day: Date }>(
    `select utc_date::timestamp at time zone 'UTC' as day from bench.quarters group by utc_date order by utc_date`,
  );
  return rows.map(({ day }) => day);
}
