import { Client } from 'pg';
import { sessionSettings } from '../../src/db/session.ts';
import { migrated, type TestDatabase } from '../world/database.ts';

/*
 * A clock that tests move: `Date` in this process, and `now()` and `clock_timestamp()` in databases that were migrated by
 * `migratedByClock`. The functions hold the distance to the real time as a constant, which costs a statement nothing.
 */

const usualPath = sessionSettings.search_path;
const RealDate = globalThis.Date;
let aheadMs = 0;
const now = () => RealDate.now() + aheadMs;

const functions = (ahead: number) => `
  create or replace function test_clock.now() returns timestamptz language sql stable parallel safe
    as $$ select pg_catalog.now() + interval '${ahead} ms' $$;
  create or replace function test_clock.clock_timestamp() returns timestamptz language sql volatile parallel safe
    as $$ select pg_catalog.clock_timestamp() + interval '${ahead} ms' $$;`;

/** What `migrated` makes, with the moved clock in defaults, views and functions. */
export async function migratedByClock(databaseUrl: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`create schema test_clock; grant usage on schema test_clock to public; ${functions(0)}`);
  await client.end();
  useClock();
  await migrated(databaseUrl);
}

/** From now on, new sessions and `Date` of this process go by the moved clock. */
export function useClock(): void {
  sessionSettings.search_path = 'test_clock, pg_catalog, "$user", public';
  // A subclass would not do: the CEL library asks for the constructor of a value.
  globalThis.Date = new Proxy(RealDate, {
    construct: (_target, given) => Reflect.construct(RealDate, given.length === 0 ? [now()] : given),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
}

/** Moves the clock of the process and a database forward. */
export async function moveClock({ query }: Pick<TestDatabase, 'query'>, byMs: number): Promise<void> {
  await query(functions(aheadMs + byMs));
  aheadMs += byMs;
}

/** Back to the real time. */
export function leaveClock(): void {
  sessionSettings.search_path = usualPath;
  globalThis.Date = RealDate;
  aheadMs = 0;
}
