import { beforeEach, describe, expect, test } from 'vitest';
import { user } from '../../src/api-client/entities/account-schemas.ts';
import { call } from '../../src/api-client/entities/call-schemas.ts';
import { line } from '../../src/api-client/entities/text-schemas.ts';
import { lines } from '../../src/warehouse/lines.ts';
import { users } from '../../src/warehouse/users.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { shownCall } from '../sync/call-service.ts';
import { asRead, ignored, readNumber } from './reads.ts';

const facts = await factsDatabase();
const { db, expectRows, query } = facts;
beforeEach(() =>
  query(
    'truncate warehouse.users, warehouse.user_endpoints, warehouse.calls, warehouse.sms_lines, warehouse.sms_line_users',
  ),
);

let reads = 0;
const nextRead = () => {
  reads += 1;
  return readNumber(reads);
};

/** A read of the list of users: `1 101 102` is user 1 with two extensions. */
async function listUsers(...listed: readonly (string | object)[]): Promise<void> {
  const rows = listed.map((each) => {
    if (typeof each !== 'string') return each;
    const [id, ...extensions] = each.split(' ');
    return { id: Number(id), extensions };
  });
  await db.transaction().execute((tx) => users.write(tx, ignored, { rows: asRead(user, rows), read: nextRead() }));
}

const writeCall = (id: string, legs: object[] | undefined, read: number) => {
  const calls = asRead(call, [shownCall(id, { legs })]).map((each) => ({ call: each, read: readNumber(read) }));
  return db.transaction().execute((tx) => writeCalls(tx, ignored, calls));
};

/** Who has or had an endpoint, in order: since ever or later, and whether it still holds. */
const endpoints = (endpoint: string) =>
  expectRows(
    `select concat_ws(' ', user_id, case valid_from when '-infinity' then 'ever' else 'later' end,
       case valid_to when 'infinity' then 'holds' else 'ended' end)
     from warehouse.user_endpoints where endpoint = $1 order by valid_from, user_id`,
    endpoint,
  );

describe('an endpoint', () => {
  test('that stands in the first read of its user holds since nobody knows when', async () => {
    await listUsers({ id: 1, extensions: ['101'], extension: '9', numbers: ['(555) 123-4567'], voicemails: ['a'] });
    await endpoints('101').toEqual(['1 ever holds']);
    await endpoints('15551234567').toEqual(['1 ever holds']);
  });

  test('that changes hands ends at one user and begins at the other', async () => {
    await listUsers('1 201', '2');
    await listUsers('1', '2 201 202');
    await endpoints('201').toEqual(['1 ever ended', '2 later holds']);
  });

  test('that a new user takes over begins where the other’s ended, who keeps the credit for what was before', async () => {
    await listUsers('21 211');
    await listUsers({ id: 22, extensions: ['211', '212'], extension: '211' });
    await expectRows(`
      select a.user_id, b.user_id as heir, b.kind, a.valid_to = b.valid_from as adjoins
      from warehouse.user_endpoints a join warehouse.user_endpoints b using (endpoint)
      where a.user_id = 21 and b.user_id = 22 order by 3`).toEqual([
      '21 | 22 | dial_extension | true',
      '21 | 22 | extension | true',
    ]);
    await endpoints('212').toEqual(['22 ever holds']);
  });

  test('that a new user has beside another begins now', async () => {
    await listUsers('23 231');
    await listUsers('23 231', '24 231');
    await endpoints('231').toEqual(['23 ever holds', '24 later holds']);
  });

  test('that comes back to its user with nobody in between has been that user’s all the time', async () => {
    await listUsers('4 401');
    await listUsers('4');
    // What is read meanwhile finds nobody who has it.
    const id = '1700000000.401';
    await writeCall(id, [{ uniqueId: id, calledType: 'user', calledNumber: '401', talkTimeSeconds: 5 }], 1);
    await listUsers('4 401 401');
    await endpoints('401').toEqual(['4 ever holds']);
    await expectRows(`select user_id from warehouse.call_attributions where role = 'answered'`).toEqual(['4']);
  });

  test('that legs name tells how its user took part, and what a search told of it goes', async () => {
    await listUsers('43 431');
    const id = '1700000000.431';
    await writeCall(id, undefined, 1);
    await query(`
      insert into warehouse.call_attributions (call_id, kind, endpoint, role, started_at, user_id, source)
      select call_id, 'user', '43', 'touched', started_at, 43, 'search_filter' from warehouse.calls`);
    await writeCall(id, [{ uniqueId: id, calledType: 'user', calledNumber: '431', talkTimeSeconds: 5 }], 2);
    await expectRows('select role from warehouse.call_attributions where user_id = 43').toEqual(['answered']);
  });

  test('that comes back with its deleted user goes on, as one does that others have too', async () => {
    await listUsers('41 411', '42 412');
    await listUsers('41 411 412', '42 412');
    await listUsers();
    await listUsers('41 411 412', '42 412');
    await endpoints('411').toEqual(['41 ever holds']);
    await endpoints('412').toEqual(['42 ever holds', '41 later holds']);
  });

  test.each([
    ['a known user', ['43 431', '44']],
    ['a new one', ['43 431']],
  ])('that %s had in between begins a second period', async (_who, first) => {
    await listUsers(...first);
    await listUsers('44 431');
    await listUsers('43 431');
    await endpoints('431').toEqual(['43 ever ended', '44 later ended', '43 later holds']);
  });

  test('of a user who is no longer listed ends', async () => {
    await listUsers('5 501');
    await endpoints('501').toEqual(['5 ever holds']);
    await listUsers({ id: 1 });
    await endpoints('501').toEqual(['5 ever ended']);
  });

  test('goes on holding while the service does not report that list', async () => {
    await listUsers({ id: 6, extensions: ['601'], numbers: ['15556000001'] });
    await listUsers({ id: 6, extensions: ['601'], numbers: null });
    await listUsers('6 601');
    await endpoints('15556000001').toEqual(['6 ever holds']);
  });

  test('with a NUL keeps no other out', async () => {
    await listUsers('7 701 7\u00002');
    await endpoints('701').toEqual(['7 ever holds']);
  });
});

describe('the users of a line', () => {
  const listLines = (...rows: readonly object[]) =>
    db.transaction().execute((tx) => lines.write(tx, ignored, { rows: asRead(line, rows), read: nextRead() }));
  const holding = () =>
    expectRows(`select user_id from warehouse.sms_line_users where valid_to = 'infinity' order by 1`);
  const number = '15550000001';

  test('change with its assignment, and end with a line that is no longer listed', async () => {
    await listLines({ number, userIds: [1, 2] });
    await listLines({ number, userIds: [2, 3] });
    await holding().toEqual(['2', '3']);
    await listLines({ number: '15550000006', userIds: [5] });
    await holding().toEqual(['5']);
  });

  test('have been so all the time when one is left out and comes back', async () => {
    await listLines({ number, userIds: [7, 8] });
    await listLines({ number, userIds: [8] });
    await listLines({ number, userIds: [7, 8] });
    expect(await facts.value('select count(*)::integer from warehouse.sms_line_users')).toBe(2);
  });

  test('of an unrestricted line are none, and that is said', async () => {
    await listLines({ number, userIds: [] }, { number: '15550000003' });
    await expectRows('select line, is_unrestricted from warehouse.sms_lines order by 1').toEqual([
      `${number} | true`,
      '15550000003 | -',
    ]);
  });

  test('go on holding while the service does not report them', async () => {
    await listLines({ number, userIds: [4] });
    await listLines({ number, userIds: 'all' });
    await holding().toEqual(['4']);
  });
});
