import { afterAll, beforeEach, expect, test } from 'vitest';
import { type EvaluationContext, processEvents } from '../../src/rules/event-processor.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { createLog } from '../../src/shared/log.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db, query, value } = database;
afterAll(() => database[Symbol.asyncDispose]());

const set = parseRules('rules: [{ name: any, on: message_received, do: [{ reopen: true }] }]\n', {
  file: 'rules.yaml',
  timeZone: 'UTC',
});
const backlog = 120;
beforeEach(() =>
  query(
    `insert into ops.rule_events (kind, key, happened_at)
     select 'message_received', '1/' || n, now() from generate_series(1, ${backlog}) n`,
  ),
);
const pending = async () => Number(await value('select count(*) from ops.rule_events'));

test('a stop ends the evaluation of a backlog after the batch in hand', async () => {
  const stopping = new AbortController();
  const rules = async () => {
    stopping.abort();
    return set;
  };
  await processEvents({ db, log: createLog('silent'), mode: 'live', rules }, stopping.signal);
  expect(await pending()).toBe(backlog - 50);
});

test('without a stop, all of a backlog is evaluated', async () => {
  const context: EvaluationContext = {
    db,
    log: createLog('silent'),
    mode: 'live',
    rules: async () => set,
  };
  await processEvents(context, new AbortController().signal);
  expect(await pending()).toBe(0);
});
