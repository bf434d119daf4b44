import { expect, test } from 'vitest';
import { parseRules } from '../../src/rules/file/parse.ts';
import { pastTriggers } from '../../src/rules/simulate/past-triggers.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();

test('a simulation has as many triggers as the span, however many', async () => {
  const count = 150_000;
  await database.query(
    `insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, sent_at, content_hash, source, fetch_seq, fetched_at)
     select n / 100, n, '18005550100', '18455550123', 'in', '2026-03-03'::timestamptz + n * interval '1 s', 'h', 'test', 1, now()
     from generate_series(1, ${count}) n`,
  );
  const set = parseRules('rules: [{ name: any, on: message_received, do: [resolve: true] }]', {
    file: 'rules.yaml',
    timeZone: 'UTC',
  });
  const span = { from: new Date('2026-03-01'), to: new Date('2026-04-01') };
  const triggers = await database.db.transaction().execute((tx) => pastTriggers(tx, set, span));
  expect(triggers).toHaveLength(count);
});
