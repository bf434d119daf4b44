import type { Line } from '../api-client/client.ts';
import { type Database, query, type Transaction } from '../db/database.ts';
import { normalizeNumber } from '../shared/numbers.ts';
import { heldOwners, isCurrent, recordPeriods } from './periods.ts';
import { storeRawAnswers } from './raw-answers.ts';
import { mirrorTable, type Provenance, upsert } from './upsert.ts';

export const smsLines = mirrorTable(
  'warehouse.sms_lines',
  ['line'],
  {
    line: 'text',
    listed_as: 'text',
    name: 'text',
    is_bulk_enabled: 'boolean',
    is_unrestricted: 'boolean',
  },
  { untracked: ['listed_as'] },
);

/** One read of the lines; `isComplete` is false when the answer may be partial. */
export interface LinesRead {
  readonly lines: readonly Line[];
  readonly isComplete: boolean;
  readonly read: Provenance;
}

/** Mirrors the SMS lines and their users, and marks lines deleted that a complete read no longer lists. */
export async function writeLines(tx: Transaction, { lines, isComplete, read }: LinesRead): Promise<void> {
  if (!(await isCurrent(tx, 'warehouse.sms_lines', read.fetchSeq))) return;
  const knownOwners = await heldOwners(tx, 'warehouse.sms_lines');
  const listed = lines.map((line) => ({ ...line, number: normalizeNumber(line.number), listedAs: line.number }));
  await upsert(
    tx,
    smsLines,
    listed.map((line) => ({
      read,
      row: {
        line: line.number,
        listed_as: line.listedAs,
        name: line.name,
        is_bulk_enabled: line.bulkEnabled,
        is_unrestricted: line.userIds === undefined ? undefined : line.userIds.length === 0,
      },
    })),
  );
  await storeRawAnswers(
    tx,
    listed.flatMap((line) =>
      line.unknownKeys.length > 0 ? [{ entity: 'line' as const, key: line.number, raw: line.raw, read }] : [],
    ),
  );
  if (isComplete) {
    await query(
      tx,
      `update warehouse.sms_lines set deleted_at = now(), deleted_reason = 'a complete read does not list it', changed_at = now(),
         fetch_seq = $1
       where fetch_seq < $1 and deleted_at is null`,
      [read.fetchSeq],
    );
  }
  const known = listed.filter((line) => line.userIds !== undefined);
  await recordPeriods(tx, {
    table: 'warehouse.sms_line_users',
    columns: ['line', 'user_id'],
    listed: known.flatMap((line) => (line.userIds ?? []).map((userId) => [line.number, String(userId)])),
    scopes: known.map((line) => [line.number]),
    knownOwners,
    owners: isComplete ? listed.map((line) => line.number) : undefined,
  });
}

/** A line as the service lists it, which it requires for the sender of a text (section 2.1); else the normalised number. */
export async function senderForm(db: Database | Transaction, line: string): Promise<string> {
  const rows = await query<{ form: string | null }>(
    db,
    'select listed_as as form from warehouse.sms_lines where line = $1',
    [line],
  );
  return rows[0]?.form ?? line;
}

/** The account's lines that are not deleted. */
export async function ourLines(db: Database): Promise<string[]> {
  const rows = await query<{ line: string }>(db, 'select line from warehouse.sms_lines where deleted_at is null', []);
  return rows.map((row) => row.line);
}
