import type { User } from '../api-client/client.ts';
import type { Transaction } from '../db/database.ts';
import { normalizeNumber } from '../shared/numbers.ts';
import { withoutMentions } from './erasure/erased.ts';
import { deleteUnlisted, heldOwners, isCurrent, recordPeriods } from './periods.ts';
import { storeRawAnswers, unspecified } from './raw-answers.ts';
import { mirrorTable, type Provenance, upsert } from './upsert.ts';

export const users = mirrorTable<User>()('warehouse.users', ['user_id'], {
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
});

/** One read of the directory; `isComplete` is false when the answer may be partial. */
export interface UsersRead {
  readonly users: readonly User[];
  readonly isComplete: boolean;
  readonly read: Provenance;
}

/** Mirrors the users and their endpoints, and marks users deleted that a complete read no longer lists. */
export async function writeUsers(tx: Transaction, { users: all, isComplete, read }: UsersRead): Promise<void> {
  if (!(await isCurrent(tx, 'warehouse.users', read.fetchSeq))) return;
  const listed = await withoutMentions(tx, all);
  const knownOwners = await heldOwners(tx, 'warehouse.users');
  await upsert(
    tx,
    users,
    listed.map((user) => ({ row: users.row(user), read })),
  );
  await storeRawAnswers(
    tx,
    listed.flatMap((user) => unspecified('user', user.id, user, read)),
  );
  if (isComplete) await deleteUnlisted(tx, 'warehouse.users', read.fetchSeq);
  const reported = listed.flatMap((user) => endpointsOf(user).map((each) => ({ ...each, owner: String(user.id) })));
  await recordPeriods(tx, {
    table: 'warehouse.user_endpoints',
    columns: ['user_id', 'kind', 'endpoint'],
    listed: reported.flatMap(({ owner, kind, endpoints }) => endpoints.map((endpoint) => [owner, kind, endpoint])),
    scopes: reported.map(({ owner, kind }) => [owner, kind]),
    knownOwners,
    owners: isComplete ? listed.map((user) => String(user.id)) : undefined,
  });
}

/** Limits index entries. Real endpoints have about a dozen characters. */
const longestEndpoint = 200;

/** The lists of endpoints that a user reported (section 2.8); numbers are normalised, so that they join with calls. */
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
