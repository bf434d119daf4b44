import { afterAll, describe, expect, test } from 'vitest';
import { user } from '../../src/api-client/entities/account.ts';
import { call } from '../../src/api-client/entities/calls.ts';
import { line } from '../../src/api-client/entities/texts.ts';
import { lines } from '../../src/warehouse/lines.ts';
import { users } from '../../src/warehouse/users.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { shownCall } from '../sync/call-service.ts';
import { migratedDatabase } from '../world/database.ts';
import { asRead, ignored, readNumber } from './reads.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

let reads = 0;

async function listUsers(rows: readonly object[]): Promise<void> {
  reads += 1;
  const read = readNumber(reads);
  await database.db.transaction().execute((tx) => users.write(tx, ignored, { rows: asRead(user, rows), read }));
}

async function endpoints(endpoint: string) {
  return database.query(
    `select user_id, valid_from = '-infinity' as since_ever, valid_to = 'infinity' as holds
     from warehouse.user_endpoints where endpoint = $1 order by valid_from, user_id`,
    endpoint,
  );
}

describe('an endpoint', () => {
  test('that stands in the first read of its user holds since nobody knows when', async () => {
    await listUsers([{ id: 1, extensions: ['101'], extension: '9', numbers: ['(555) 123-4567'], voicemails: ['a'] }]);
    expect(await endpoints('101')).toEqual([{ user_id: '1', since_ever: true, holds: true }]);
    expect(await endpoints('15551234567')).toEqual([{ user_id: '1', since_ever: true, holds: true }]);
  });

  test('that changes hands ends at one user and begins at the other', async () => {
    await listUsers([
      { id: 1, extensions: ['201'] },
      { id: 2, extensions: [] },
    ]);
    await listUsers([
      { id: 1, extensions: [] },
      { id: 2, extensions: ['201', '202'] },
    ]);
    expect(await endpoints('201')).toEqual([
      { user_id: '1', since_ever: false, holds: false },
      expect.objectContaining({ user_id: '2', holds: true }),
    ]);
  });

  test('that a new user takes over begins where the other’s ended, who keeps the credit for what was before', async () => {
    await listUsers([{ id: 21, extensions: ['211'] }]);
    await listUsers([{ id: 22, extensions: ['211', '212'], extension: '211' }]);
    expect(
      await database.query(
        `select a.user_id, b.user_id as heir, a.valid_to = b.valid_from as adjoins
         from warehouse.user_endpoints a, warehouse.user_endpoints b where a.user_id = 21 and b.user_id = 22 and b.endpoint = a.endpoint`,
      ),
    ).toEqual([
      { user_id: '21', heir: '22', adjoins: true },
      { user_id: '21', heir: '22', adjoins: true },
    ]);
    expect(await endpoints('212')).toEqual([{ user_id: '22', since_ever: true, holds: true }]);
  });

  test('that a new user has beside another begins now', async () => {
    await listUsers([{ id: 23, extensions: ['231'] }]);
    await listUsers([
      { id: 23, extensions: ['231'] },
      { id: 24, extensions: ['231'] },
    ]);
    expect(await endpoints('231')).toEqual([
      { user_id: '23', since_ever: true, holds: true },
      { user_id: '24', since_ever: false, holds: true },
    ]);
  });

  test('that comes back to its user with nobody in between has been that user’s all the time', async () => {
    await listUsers([{ id: 4, extensions: ['401'] }]);
    await listUsers([{ id: 4, extensions: [] }]);
    // What is read meanwhile finds nobody who has it.
    const legs = [{ uniqueId: '1700000000.401', calledType: 'user', calledNumber: '401', talkTimeSeconds: 5 }];
    const calls = asRead(call, [shownCall('1700000000.401', { legs })]);
    await database.db.transaction().execute((tx) =>
      writeCalls(
        tx,
        ignored,
        calls.map((each) => ({ call: each, read: readNumber(1) })),
      ),
    );
    await listUsers([{ id: 4, extensions: ['401', '401'] }]);
    expect(await endpoints('401')).toEqual([{ user_id: '4', since_ever: true, holds: true }]);
    expect(
      await database.value(
        `select user_id from warehouse.call_attributions where call_id = '1700000000.401' and role = 'answered'`,
      ),
    ).toBe('4');
  });

  test('that legs name tells how its user took part, and what a search told of it goes', async () => {
    await listUsers([{ id: 43, extensions: ['431'] }]);
    const id = '1700000000.431';
    const write = (legs: object[] | undefined, read: number) =>
      database.db.transaction().execute((tx) =>
        writeCalls(
          tx,
          ignored,
          asRead(call, [shownCall(id, { legs })]).map((each) => ({ call: each, read: readNumber(read) })),
        ),
      );
    await write(undefined, 1);
    await database.query(
      `insert into warehouse.call_attributions (call_id, kind, endpoint, role, started_at, user_id, source)
       select call_id, 'user', '43', 'touched', started_at, 43, 'search_filter' from warehouse.calls where call_id = $1`,
      id,
    );
    await write([{ uniqueId: id, calledType: 'user', calledNumber: '431', talkTimeSeconds: 5 }], 2);
    expect(await database.query('select role from warehouse.call_attributions where user_id = 43')).toEqual([
      { role: 'answered' },
    ]);
  });

  test('that comes back with its deleted user goes on, as one does that others have too', async () => {
    await listUsers([
      { id: 41, extensions: ['411'] },
      { id: 42, extensions: ['412'] },
    ]);
    await listUsers([
      { id: 41, extensions: ['411', '412'] },
      { id: 42, extensions: ['412'] },
    ]);
    await listUsers([]);
    await listUsers([
      { id: 41, extensions: ['411', '412'] },
      { id: 42, extensions: ['412'] },
    ]);
    expect(await endpoints('411')).toEqual([{ user_id: '41', since_ever: true, holds: true }]);
    expect(await endpoints('412')).toEqual([
      { user_id: '42', since_ever: true, holds: true },
      { user_id: '41', since_ever: false, holds: true },
    ]);
  });

  test.each([
    ['a known user', true],
    ['a new one', false],
  ])('that %s had in between begins a second period', async (_who, isKnown) => {
    const [owner, other, extension] = isKnown ? [43, 44, '431'] : [45, 46, '451'];
    await listUsers([{ id: owner, extensions: [extension] }, ...(isKnown ? [{ id: other, extensions: [] }] : [])]);
    await listUsers([{ id: other, extensions: [extension] }]);
    await listUsers([{ id: owner, extensions: [extension] }]);
    expect(
      await database.query(
        `select valid_to = 'infinity' as holds from warehouse.user_endpoints
         where endpoint = $1 and user_id = $2 order by valid_from`,
        extension,
        owner,
      ),
    ).toEqual([{ holds: false }, { holds: true }]);
  });

  test('of a user who is no longer listed ends', async () => {
    await listUsers([{ id: 5, extensions: ['501'] }]);
    expect(await endpoints('501')).toMatchObject([{ holds: true }]);
    await listUsers([{ id: 1 }]);
    expect(await endpoints('501')).toMatchObject([{ holds: false }]);
  });

  test('goes on holding while the service does not report that list', async () => {
    await listUsers([{ id: 6, extensions: ['601'], numbers: ['15556000001'] }]);
    await listUsers([{ id: 6, extensions: ['601'], numbers: null }]);
    await listUsers([{ id: 6, extensions: ['601'] }]);
    expect(await endpoints('15556000001')).toEqual([{ user_id: '6', since_ever: true, holds: true }]);
  });

  test('with a NUL keeps no other out', async () => {
    await listUsers([{ id: 7, extensions: ['701', '7\u00002'] }]);
    expect(await endpoints('701')).toMatchObject([{ holds: true }]);
  });
});

describe('the users of a line', () => {
  async function listLines(rows: readonly object[]): Promise<void> {
    reads += 1;
    const read = readNumber(reads);
    await database.db.transaction().execute((tx) => lines.write(tx, ignored, { rows: asRead(line, rows), read }));
  }
  const holding = (number: string) =>
    database.query(
      `select user_id from warehouse.sms_line_users where line = $1 and valid_to = 'infinity' order by 1`,
      number,
    );

  test('change with its assignment', async () => {
    await listLines([{ number: '15550000001', userIds: [1, 2] }]);
    await listLines([{ number: '15550000001', userIds: [2, 3] }]);
    expect(await holding('15550000001')).toEqual([{ user_id: '2' }, { user_id: '3' }]);
  });

  test('have been so all the time when one is left out and comes back', async () => {
    await listLines([{ number: '15550000007', userIds: [7, 8] }]);
    await listLines([{ number: '15550000007', userIds: [8] }]);
    await listLines([{ number: '15550000007', userIds: [7, 8] }]);
    expect(
      await database.value(`select count(*)::integer from warehouse.sms_line_users where line = '15550000007'`),
    ).toBe(2);
  });

  test('of an unrestricted line are none, and that is said', async () => {
    await listLines([{ number: '15550000002', userIds: [] }, { number: '15550000003' }]);
    expect(
      await database.query(
        `select line, is_unrestricted from warehouse.sms_lines where deleted_at is null order by line`,
      ),
    ).toEqual([
      { line: '15550000002', is_unrestricted: true },
      { line: '15550000003', is_unrestricted: null },
    ]);
  });

  test('go on holding while the service does not report them', async () => {
    await listLines([{ number: '15550000004', userIds: [4] }]);
    await listLines([{ number: '15550000004', userIds: 'all' }]);
    expect(await holding('15550000004')).toEqual([{ user_id: '4' }]);
  });

  test('end with a line that is no longer listed', async () => {
    await listLines([{ number: '15550000005', userIds: [5] }]);
    await listLines([{ number: '15550000006', userIds: [5] }]);
    expect(await holding('15550000005')).toEqual([]);
    expect(await holding('15550000006')).toEqual([{ user_id: '5' }]);
  });
});
