import { afterAll, beforeEach, expect, test } from 'vitest';
import { migratedDatabase } from '../world/database.ts';
import { openReaderHarness, type ReaderHarness } from './reader-harness.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() =>
  database.query(
    `truncate warehouse.users, warehouse.user_endpoints, warehouse.sms_lines, warehouse.sms_line_users, ops.sync_targets`,
  ),
);

const rows = {
  users: [{ id: 7, extensions: ['101'] }],
  lines: [{ number: '15550000001', userIds: [7] }],
} as const;
type Kind = keyof typeof rows;
const tables = { users: 'warehouse.users', lines: 'warehouse.sms_lines' } as const;
const periods = { users: 'warehouse.user_endpoints', lines: 'warehouse.sms_line_users' } as const;

const held = (kind: Kind) => database.value(`select count(*)::integer from ${tables[kind]} where deleted_at is null`);
const holding = (kind: Kind) =>
  database.value(`select count(*)::integer from ${periods[kind]} where valid_to = 'infinity'`);

async function openDirectory(
  kind: Kind,
): Promise<{ harness: ReaderHarness; shows: (listed: readonly object[]) => void }> {
  const harness = await openReaderHarness(database);
  const shows = (listed: readonly object[]) => {
    harness.service.answer = () => ({ data: listed });
  };
  shows(rows[kind]);
  expect(await harness.read(kind, '')).toBe('mirrored');
  return { harness, shows };
}

const readAgain = async (harness: ReaderHarness, kind: Kind) => {
  await harness.pass({ kind, key: '' });
  return harness.readIfPending(kind, '');
};

test.each(['users', 'lines'] as const)(
  'an empty list of %s deletes none before it came three times in a row',
  async (kind) => {
    const { harness, shows } = await openDirectory(kind);
    shows([]);
    expect([await readAgain(harness, kind), await readAgain(harness, kind)]).toEqual(['later', 'later']);
    expect([await held(kind), await holding(kind)]).toEqual([1, 1]);
    expect(await readAgain(harness, kind)).toBe('mirrored');
    expect([await held(kind), await holding(kind)]).toEqual([0, 0]);
    // Now there are none to doubt it.
    expect(await readAgain(harness, kind)).toBe('mirrored');
  },
);

test.each(['users', 'lines'] as const)('an empty list of %s counts from the last one that was not', async (kind) => {
  const { harness, shows } = await openDirectory(kind);
  shows([]);
  await readAgain(harness, kind);
  await readAgain(harness, kind);
  shows(rows[kind]);
  expect(await readAgain(harness, kind)).toBe('mirrored');
  shows([]);
  expect(await readAgain(harness, kind)).toBe('later');
  expect(await held(kind)).toBe(1);
});
