import { afterAll, expect, test } from 'vitest';
import { hasDueEvents } from '../../src/rules/rule-events.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

test('what was set aside, or waits for a rule with after, is not due', async () => {
  await database.query(
    `insert into ops.rule_events (kind, key, happened_at, due_at, tries, after_seconds) values
       ('message_received', '1/1', now(), now() + interval '30 days', 6, null),
       ('message_received', '1/2', now(), now() + interval '1 hour', 0, 3600)`,
  );
  expect(await hasDueEvents(database.db)).toBe(false);
  await database.query('update ops.rule_events set due_at = now()');
  expect(await hasDueEvents(database.db)).toBe(true);
});
