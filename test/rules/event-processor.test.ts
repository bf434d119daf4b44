import { beforeEach, expect, test } from 'vitest';
import { type EvaluationContext, processEvents } from '../../src/rules/event-processor.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { createLog } from '../../src/shared/log.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db, query, value } = database;

const set = parseRules('rules: [{ name: any, on: message_received, do: [{ reopen: true }] }]\n', {
  file: 'rules.yaml',
  timeZone: 'UTC',
});
const backlog = 1_200;
beforeEach(() =>
  query(
    `with gone as (delete from ops.rule_events) insert into ops.rule_events (kind, key, happened_at)
     select 'message_received', '1/' || n, now() from generate_series(1, ${backlog}) n`,
  ),
);
const signal = new AbortController().signal;
const context: EvaluationContext = { db, log: createLog('silent'), mode: 'live', rules: async () => set };
const pending = async () => Number(await value('select count(*) from ops.rule_events'));

test('a stop ends the evaluation of a backlog after the batch in hand', async () => {
  const stopping = new AbortController();
  const rules = async () => {
    stopping.abort();
    return set;
  };
  await processEvents({ db, log: createLog('silent'), mode: 'live', rules }, stopping.signal);
  expect(await pending()).toBe(backlog - 500);
});

test('without a stop, all of a backlog is evaluated', async () => {
  await processEvents(context, signal);
  expect(await pending()).toBe(0);
});

test('while no rules are in force, nothing piles up', async () => {
  await processEvents({ ...context, rules: async () => undefined }, signal);
  expect(await pending()).toBe(0);
});

test('rules in force that this process does not understand may be those of a newer one, for as long as rules look back', async () => {
  await query(`insert into ops.rule_versions (version, body, applied_by) values (1, 'unreadable', 'a test')`);
  await query(`update ops.rule_events set due_at = now() - interval '11 minutes' where key <> '1/7'`);
  await processEvents({ ...context, rules: async () => undefined }, signal);
  expect(await query('select key from ops.rule_events')).toEqual([{ key: '1/7' }]);
});

/** Evaluates as often as an event is tried at most, without its pauses. */
async function tryOften(): Promise<void> {
  for (let round = 0; round < 7; round += 1) {
    await query(`update ops.rule_events set due_at = now()`);
    await processEvents(context, signal).catch(() => {});
  }
}

test.each([
  [
    'a relation that is renamed',
    'alter table ops.rule_tallies rename to moved',
    'alter table ops.moved rename to rule_tallies',
  ],
  [
    'a full disk',
    `create function ops.full() returns trigger language plpgsql as $$ begin raise exception 'full' using errcode = '53100'; end $$;
     create trigger t before insert on ops.rule_tallies for each row execute function ops.full()`,
    'drop function ops.full() cascade',
  ],
  [
    'a time limit',
    `create function ops.slow() returns trigger language plpgsql as $$ begin raise exception 'slow' using errcode = '57014'; end $$;
     create trigger t before insert on ops.rule_tallies for each row execute function ops.slow()`,
    'drop function ops.slow() cascade',
  ],
])('%s costs no event', async (_, fail, mend) => {
  await query(fail);
  await tryOften();
  await query(mend);
  expect(await pending()).toBe(backlog);
  expect(await value('select max(tries) from ops.rule_events')).toBe(0);
  await query(`update ops.rule_events set due_at = now()`);
  await processEvents(context, signal);
  expect(await pending()).toBe(0);
});

test('one that cannot be evaluated makes nobody evaluate the others one by one', async () => {
  await query(`update ops.rule_events set happened_at = 'infinity' where key = '1/700'`);
  let batches = 0;
  const rules = async () => {
    batches += 1;
    return set;
  };
  await processEvents({ ...context, rules }, signal);
  expect(await query('select key from ops.rule_events')).toEqual([{ key: '1/700' }]);
  expect(batches).toBeLessThan(100);
});

test('an event that cannot be evaluated is postponed, then dropped, and no other one', async () => {
  await query(`update ops.rule_events set happened_at = 'infinity' where key = '1/7'`);
  await processEvents(context, signal);
  expect(await query('select key from ops.rule_events where tries > 0')).toEqual([{ key: '1/7' }]);
  await tryOften();
  expect(await pending()).toBe(0);
});
