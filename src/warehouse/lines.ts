import type { Line } from '../api-client/client.ts';
import { type Database, query, sql, type Transaction } from '../db/database.ts';
import { normalizeNumber } from '../shared/numbers.ts';
import { extrasOf } from './extra.ts';
import { deleteUnlisted, heldOwners, isCurrent, recordPeriods } from './periods.ts';
import { mirrorTable, type Provenance, upsert } from './upsert.ts';
import { changesOf, type Following } from './what-follows.ts';

export const smsLines = mirrorTable<Line>()(
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
);

/** One read of the lines; `isComplete` is false when the answer may be partial. */
export interface LinesRead {
  readonly lines: readonly Line[];
  readonly isComplete: boolean;
  readonly read: Provenance;
}

/** Mirrors the SMS lines and their users, and marks lines deleted that a complete read no longer lists. Resolves to what follows. */
export async function writeLines(tx: Transaction, { lines, isComplete, read }: LinesRead): Promise<Following> {
  if (!(await isCurrent(tx, 'warehouse.sms_lines', read.fetchSeq))) return {};
  const knownOwners = await heldOwners(tx, 'warehouse.sms_lines');
  const extras = await extrasOf(tx, lines);
  const written = await upsert(
    tx,
    smsLines,
    lines.map((line, at) => ({ row: smsLines.row(line), read, extra: extras[at] })),
    ['line', ...lineFields],
  );
  const listed = lines.map((line) => ({ ...line, number: normalizeNumber(line.number) }));
  if (isComplete) await deleteUnlisted(tx, 'warehouse.sms_lines', read.fetchSeq);
  const known = listed.filter((line) => line.userIds !== undefined);
  await recordPeriods(tx, {
    table: 'warehouse.sms_line_users',
    columns: ['line', 'user_id'],
    listed: known.flatMap((line) => (line.userIds ?? []).map((userId) => [line.number, String(userId)])),
    scopes: known.map((line) => [line.number]),
    knownOwners,
    owners: isComplete ? listed.map((line) => line.number) : undefined,
  });
  return {
    fieldChanges: written.flatMap((change) =>
      changesOf('line', String(change.after.line), read.source, lineFields, change),
    ),
  };
}

/** The fields of a line whose changes are kept. */
const lineFields = ['name', 'is_bulk_enabled', 'is_unrestricted'] as const;

/** The line in the form that the service requires for the sender of a text: as listed (section 2.1), else normalised. */
export async function senderForm(db: Database | Transaction, line: string): Promise<string> {
  const [row] = await query(
    db,
    sql<{ listed_as: string | null }>`select listed_as from warehouse.sms_lines where line = ${line}`,
  );
  return row?.listed_as ?? line;
}

/** The account's lines that are not deleted. */
export async function ourLines(db: Database): Promise<string[]> {
  const rows = await query(db, sql<{ line: string }>`select line from warehouse.sms_lines where deleted_at is null`);
  return rows.map((row) => row.line);
}
