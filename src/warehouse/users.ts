import type { User } from '../api-client/client.ts';
import { operations } from '../api-client/operations.ts';
import { type Database, query, sql, type Transaction } from '../db/database.ts';
import { normalizeNumber } from '../shared/numbers.ts';
import { directoryList } from './directory-list.ts';
import { type BegunPeriod, recordPeriods } from './periods.ts';
import { mirrorTable } from './upsert.ts';
import { refreshFacts } from './write-calls.ts';

/**
 * The account's users (section 4.5) and their endpoints. Calls that were mirrored before the users of their extensions
 * were known are credited to them afterwards.
 */
export const users = directoryList({
  label: 'Users',
  operation: 'users.list',
  scope: operations.users.list.scope,
  ask: (service, call) => service.users.list(call),
  table: mirrorTable<User>()('warehouse.users', ['user_id'], {
    user_id: ['bigint', (user) => user.id],
    username: ['text', (user) => user.username],
    first_name: ['text', (user) => user.firstName],
    last_name: ['text', (user) => user.lastName],
    title: ['text', (user) => user.title],
    email: ['text', (user) => user.email],
    mobile: ['text', (user) => user.mobile],
    company: ['text', (user) => user.company],
    time_zone: ['text', (user) => user.timeZone],
    extension: ['text', (user) => user.extension],
  }),
  async writeParts(tx, follow, { rows, held, all }) {
    const reported = rows.flatMap((user) => endpointsOf(user).map((each) => ({ ...each, owner: String(user.id) })));
    const begun = await recordPeriods(tx, {
      table: 'warehouse.user_endpoints',
      columns: ['user_id', 'kind', 'endpoint'],
      listed: reported.flatMap(({ owner, kind, endpoints }) => endpoints.map((endpoint) => [owner, kind, endpoint])),
      lists: reported.map(({ owner, kind }) => [owner, kind]),
      knownOwners: held,
      owners: all,
    });
    follow({ calls: await creditCalls(tx, begun) });
  },
});

/**
 * Credits calls to users whose extensions have just become known. Resolves to the starts of all calls whose reports
 * name those users, including transcripts, whose users the reports look up through the legs. A period that starts now
 * can't affect existing calls; only a new user's periods reach back.
 */
export async function creditCalls(tx: Transaction, begun: readonly BegunPeriod[]): Promise<Date[]> {
  const extensions = begun.filter(({ kind }) => kind !== 'number' && kind !== 'voicemail');
  if (extensions.length === 0) return [];
  // Waits for calls that are being written with the old directory (`ops.hold_erasures`), and blocks new ones.
  await query(tx, 'lock table warehouse.user_endpoints in exclusive mode', []);
  const since = extensions.map(({ valid_from }) => valid_from).reduce((first, each) => (each < first ? each : first));
  const names = extensions.map(({ endpoint }) => endpoint);
  const isTheirs = (row: string) => sql.raw(`(${row}.caller_number = any(names) or ${row}.called_number = any(names))`);
  const touched = await query<{ call_id: string; started_at: Date; is_credited: boolean }>(
    tx,
    sql`
      with given as (select ${names}::text[] as names, ${since}::timestamptz as since)
      select a.call_id, a.started_at, true as is_credited from given, warehouse.call_attributions a
      where a.user_id is null and a.kind = 'extension' and a.endpoint = any(names)
      union
      select c.call_id, c.started_at, true from given, warehouse.calls c
      where c.started_at >= since and c.legs_fetched_at is null and ${isTheirs('c')}
      union
      select c.call_id, c.started_at, false from given, warehouse.transcripts t
        join warehouse.call_legs l on l.call_id = t.call_id and l.leg_key = t.leg_unique_id
        join warehouse.calls c on c.call_id = t.call_id
      where c.started_at >= since and ${isTheirs('l')}`,
  );
  await refreshFacts(tx, [...new Set(touched.flatMap((row) => (row.is_credited ? [row.call_id] : [])))]);
  return touched.map((row) => row.started_at);
}

/** Limits index entries. Real endpoints have about a dozen characters. */
const longestEndpoint = 200;

/** The lists of endpoints that a user reported (section 2.8). Numbers are normalised, so that they join with calls. */
function endpointsOf(user: User): { kind: string; endpoints: readonly string[] }[] {
  const lists: Record<string, readonly string[] | undefined> = {
    extension: user.extensions,
    dial_extension: user.extension === undefined ? undefined : [user.extension],
    sip_line: user.lines,
    number: user.numbers?.map(normalizeNumber),
    voicemail: user.voicemails,
  };
  return Object.entries(lists).flatMap(([kind, endpoints]) =>
    endpoints === undefined
      ? []
      : [{ kind, endpoints: endpoints.filter((each) => each !== '' && each.length <= longestEndpoint) }],
  );
}

/** The most frequent time zone of the account's users. Null until one is known. */
export async function readUsersZone(db: Database): Promise<string | null> {
  const [row] = await query<{ zone: string }>(
    db,
    sql`select time_zone as zone from warehouse.users where deleted_at is null and time_zone <> ''
     group by 1 order by count(*) desc, 1 limit 1`,
  );
  return row?.zone ?? null;
}
