import { beforeEach, expect, test } from 'vitest';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { placesIn } from '../privacy/everywhere.ts';
import { createStoryWorld, line } from './world.ts';

/* Whoever is erased leaves rules and ledger, and no read, answer or trigger brings them back. */

const world = await createStoryWorld();
const { sandbox, query, value, context } = world;
// The receiver knows for a while who was erased, so each test has a number of its own.
let number = '17185550500';
beforeEach(() => {
  number = String(Number(number) + 1);
});
const erase = () => eraseNumber({ db: context.database.db, queues: context.queues, knownAfterMs: 0 }, number);
const places = async () =>
  (await Promise.all([number, 'Xanadu'].map((words) => placesIn({ query, redisUrl: undefined }, words)))).flat();
const answers = `rules:
- name: answer
  on: message_received
  if: message.text.contains("?")
  do: [{ reply: 'Dear {{ contact.number }}, we are open.' }, { comment: 'They asked: {{ message.text }}' }]`;

test('nothing is left of what was sent, and the same text is answered no more', async () => {
  await world.rules(answers);
  await world.text(number, 'Are you open, Xanadu?');
  expect(await world.texts()).toHaveLength(1);
  expect(await places()).toEqual(expect.arrayContaining(['ops.sends.body', 'ops.rule_runs.number']));
  await erase();
  expect(await places()).toEqual([]);
  // What was spent stays in the day's books.
  expect(await value(`select sends_count from ops.send_budgets where scope = 'account'`)).toBe(1);
  await world.text(number, 'Are you open, Xanadu?');
  expect(await places()).toEqual([]);
  expect(sandbox.sends()).toHaveLength(1);
});

test('a send of unknown outcome is not looked for any more, and needs a person', async () => {
  await world.rules(answers);
  sandbox.faults({ kind: 'reset', when: 'before', times: 1, operation: 'sendMessage' });
  await world.text(number, 'Are you open?');
  expect(await value('select state from ops.sends')).toBe('UNKNOWN');
  await erase();
  await world.pass('1m');
  expect(await value('select state from ops.sends')).toBe('NEEDS_HUMAN');
  expect(await places()).toEqual([]);
});

test('the answer to an action that is under way brings nobody back', async () => {
  await world.rules(answers.replace(/{ reply: .* }, /, ''));
  sandbox.faults({ kind: 'slow', ms: 3_000, operation: 'commentOnConversation' });
  await sandbox.emit.sms({ line, number, text: 'Open, Xanadu?' });
  const asked = world.quiet();
  await expect.poll(() => value('select max(tries) from ops.rule_actions')).toBe(1);
  await erase();
  await asked;
  expect(await places()).toEqual([]);
});

test('no trigger of theirs waits any more', async () => {
  await world.rules(answers.replace('message_received', 'message_received\n  after: 1h'));
  await world.text(number, 'Are you open?');
  await erase();
  await world.pass('2h');
  expect([...(await world.decisions()), ...(await world.effects())]).toEqual([]);
});

test('nothing is recorded for a text of somebody whose erasure has begun', async () => {
  await world.text(number, 'Open?');
  await query('insert into ops.erasures (number_hash) values (ops.erasure_hash($1))', number);
  await world.rules(answers);
  await query(
    `insert into ops.rule_events (kind, key, happened_at)
     select 'message_received', conversation_id || '/' || message_id, now() from warehouse.sms_messages`,
  );
  await world.quiet();
  expect([...(await world.decisions()), ...(await world.texts())]).toEqual([]);
});
