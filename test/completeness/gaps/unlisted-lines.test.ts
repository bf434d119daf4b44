import { afterAll, beforeEach, expect, test } from 'vitest';
import { createService } from '../../../src/api-client/client.ts';
import { compareUnread } from '../../../src/completeness/gaps/unread.ts';
import { missingTexts } from '../../../src/completeness/gaps/unread-comparisons.ts';
import { missingTextWords } from '../../../src/ops/format.ts';
import { createLog } from '../../../src/shared/log.ts';
import { migratedDatabase } from '../../world/database.ts';
import { type Reply, startOddService } from '../../world/service.ts';

/** A service that lists only lines with unread texts (section 2.7 promises no others). */
const odd = await startOddService();
const database = await migratedDatabase();
const { db, query } = database;
const service = createService({
  baseUrl: odd.url,
  apiKey: 'key',
  log: createLog('silent'),
  retry: { tries: 1 },
});
afterAll(async () => {
  await service.close();
  await odd[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const [line, quiet] = ['16465550100', '16465550101'];
const provenance = `'h', 'test', 1, now() - interval '1 hour'`;
beforeEach(async () => {
  await query(
    `truncate warehouse.sms_lines, warehouse.sms_conversations, warehouse.sms_messages, warehouse.sms_unread_snapshots`,
  );
  for (const each of [line, quiet]) {
    await query(
      `insert into warehouse.sms_lines (line, content_hash, source, fetch_seq, fetched_at) values ($1, ${provenance})`,
      each,
    );
  }
});

const counted = (counts: Record<string, number>): Reply => ({
  data: {
    total: Object.values(counts).reduce((sum, each) => sum + each, 0),
    lines: Object.entries(counts).map(([line, count]) => ({ line, count })),
  },
});
const compared = async () => {
  const due: unknown[] = [];
  const looks = await compareUnread({
    ...{ db, service, log: createLog('silent'), notify: (some) => due.push(...some) },
    pauses: { activeMs: 0, refusedMs: 0 },
  });
  return Object.fromEntries(looks.map(({ line, state, reported }) => [line, `${state} ${reported}`]));
};

test('a line that a service leaves out counts none: what was read elsewhere is read again', async () => {
  await query(
    `insert into warehouse.sms_conversations (conversation_id, line, number) overriding system value
     values (1, $1, '17185550401')`,
    line,
  );
  await query(
    `insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, is_read, content_hash, source, fetch_seq, fetched_at)
     values (1, 1, $1, '17185550401', 'in', false, ${provenance})`,
    line,
  );
  odd.answer = () => counted({});
  expect(await compared()).toEqual({ [line]: 'ahead 0', [quiet]: 'even 0' });
  expect(await query('select is_reread_owed from warehouse.sms_conversations')).toEqual([{ is_reread_owed: true }]);
});

test('a text that is missed after a line was left out is looked for before it is given up', async () => {
  odd.answer = () => counted({ [line]: 1 });
  expect((await compared())[line]).toBe('behind 1');
  await query(`update warehouse.sms_unread_snapshots set observed_at = observed_at - interval '20 minutes'`);
  odd.answer = () => counted({});
  expect((await compared())[line]).toBe('even 0');
  odd.answer = () => counted({ [line]: 1 });
  await query(`update warehouse.sms_unread_snapshots set observed_at = observed_at - interval '1 second'`);
  expect((await compared())[line]).toBe('behind 1');
});

test('a line that is left out of the counts since the mirror was made misses only older texts', async () => {
  odd.answer = ({ query }) => (query.has('since') ? counted({}) : counted({ [line]: 2 }));
  expect((await compared())[line]).toBe('behind 2');
  await query(`update warehouse.sms_unread_snapshots set observed_at = observed_at - interval '20 minutes'`);
  expect((await compared())[line]).toBe('older 2');
  const words = async () => (await missingTexts(db)).map(missingTextWords).join();
  expect(await words()).toContain('backfill threads` may find them');
  // What was searched is not proposed again.
  await query(`insert into ops.backfills (stream, asked_from, asked_to, has_artefacts, done_until, finished_at)
    values ('threads', 'epoch', now(), false, now(), now())`);
  expect(await words()).toContain('backfill threads --numbers FILE` searches further numbers');
});
