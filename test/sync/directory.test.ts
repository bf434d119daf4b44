import { beforeEach, describe, expect, test } from 'vitest';
import { openReaders } from './readers.ts';

const { query, value, openReader } = await openReaders();
beforeEach(() =>
  query(
    `truncate warehouse.users, warehouse.user_endpoints, warehouse.sms_lines, warehouse.sms_line_users, ops.sync_targets`,
  ),
);

describe.each([
  ['users', { id: 7, extensions: ['101'] }, 'users', 'user_endpoints'],
  ['lines', { number: '15550000001', userIds: [7] }, 'sms_lines', 'sms_line_users'],
] as const)('an empty list of %s', (kind, row, table, periods) => {
  /** What is held, and what is assigned, after a read of each list in turn. */
  async function after(...lists: readonly (readonly object[])[]): Promise<unknown> {
    const { service, look, read } = await openReader();
    const ends: string[] = [];
    for (const [at, data] of lists.entries()) {
      service.answer = () => ({ data });
      ends.push(at === 0 ? await read(kind, '') : await look(kind, ''));
    }
    const held = await value(`select count(*)::integer from warehouse.${table} where deleted_at is null`);
    const assigned = await value(`select count(*)::integer from warehouse.${periods} where valid_to = 'infinity'`);
    return [...ends, held, assigned].join(' ');
  }

  test.each([
    ['deletes none after it came twice in a row', [[row], [], []], 'mirrored later later 1 1'],
    ['deletes all when it came three times in a row', [[row], [], [], []], 'mirrored later later mirrored 0 0'],
    ['counts from the last one that was not', [[row], [], [], [row], []], 'mirrored later later mirrored later 1 1'],
  ])('%s', async (_, lists, expected) => {
    expect(await after(...lists)).toBe(expected);
  });
});
