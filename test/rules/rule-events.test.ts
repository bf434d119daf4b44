import { afterAll, expect, test } from 'vitest';
import { hasDueEvents, postponeFirstEvent } from '../../src/rules/rule-events.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

test('the event that is deferred is the one that would be taken, not one that waits for its call', async () => {
  await database.query(
    `insert into ops.rule_events (kind, key, happened_at) values ('transcript_ready', '4711', now()), ('message_received', '1/2', now())`,
  );
  expect(await postponeFirstEvent(database.db)).toEqual({ isGivenUp: false });
  expect(await database.query('select kind, tries from ops.rule_events order by event_id')).toEqual([
    { kind: 'transcript_ready', tries: 0 },
    { kind: 'message_received', tries: 1 },
  ]);
});

test('what was set aside, or waits for a rule with after, is not due; what a wrong clock postponed is', async () => {
  await database.query('delete from ops.rule_events');
  await database.query(
    `insert into ops.rule_events (kind, key, happened_at, due_at, tries, after_seconds) values
       ('message_received', '1/1', now(), now() + interval '30 days', 6, null),
       ('message_received', '1/2', now(), now() + interval '1 hour', 0, 3600)`,
  );
  expect(await hasDueEvents(database.db)).toBe(false);
  await database.query('update ops.rule_events set tries = 0, after_seconds = null');
  expect(await hasDueEvents(database.db)).toBe(true);
});
