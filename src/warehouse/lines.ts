import type { Line } from '../api-client/client.ts';
import { operations } from '../api-client/operations.ts';
import { type Database, query, sql, type Transaction } from '../db/database.ts';
import { normalizeNumber } from '../shared/numbers.ts';
import { directoryList } from './directory-list.ts';
import { recordPeriods } from './periods.ts';
import { mirrorTable } from './upsert.ts';

/** The account's SMS lines (section 4.1), and their users. */
export const lines = directoryList({
  label: 'Lines',
  operation: 'lines.list',
  scope: operations.lines.list.scope,
  ask: (service, call) => service.lines.list(call),
  table: mirrorTable<Line>()(
    'warehouse.sms_lines',
    ['line'],
    {
      line: ['text', ({ number }) => normalizeNumber(number)],
      listed_as: ['text', ({ number }) => number],
      name: ['text', ({ name }) => name],
      is_bulk_enabled: ['boolean', ({ bulkEnabled }) => bulkEnabled],
      is_unrestricted: ['boolean', ({ userIds }) => userIds && userIds.length === 0],
    },
    { untracked: ['listed_as'] },
  ),
  async writeParts(tx, _follow, { rows, held, all }) {
    const known = rows.flatMap(({ number, userIds }) => (userIds ? [{ line: normalizeNumber(number), userIds }] : []));
    await recordPeriods(tx, {
      table: 'warehouse.sms_line_users',
      columns: ['line', 'user_id'],
      listed: known.flatMap(({ line, userIds }) => userIds.map((userId) => [line, String(userId)])),
      lists: known.map(({ line }) => [line]),
      knownOwners: held,
      owners: all,
    });
  },
});

/** The line in the form that the service requires for a sender: as listed (section 2.1), else normalised. */
export async function senderForm(db: Database | Transaction, line: string): Promise<string> {
  const [row] = await query(
    db,
    sql<{ listed_as: string | null }>`select listed_as from warehouse.sms_lines where line = ${line}`,
  );
  return row?.listed_as ?? line;
}

/** The account's lines that aren't deleted. */
export async function ourLines(db: Database): Promise<string[]> {
  const rows = await query(db, sql<{ line: string }>`select line from warehouse.sms_lines where deleted_at is null`);
  return rows.map((row) => row.line);
}
