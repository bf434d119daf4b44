import { afterAll, expect, test } from 'vitest';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { placesWith } from '../privacy/everywhere.ts';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

const rules = `
rules:
  - name: answer
    on: message_received
    if: message.text.contains("?")
    do: [{ reply: 'Dear {{ contact.number }}, we are open.' }, { comment: 'They asked: {{ message.text }}' }]
    limits: { quiet_hours: none }
`;
const world = await createRulesWorld(rules, 'live', 'postgres', {
  workers: { sends: { everyMs: 50, timing: { reconcileAtMs: [200, 3_600_000] } } },
});
const { sandbox, query, value, context } = world;
afterAll(() => world.close());

const gone = '17185550501';
const unknown = '17185550502';
const erase = (number: string) => eraseNumber({ db: context.database.db, queues: context.queues }, number);

test('whoever is erased leaves rules and ledger, and no read brings them back', async () => {
  const { line } = await sandbox.emit.sms({ number: gone, text: 'Are you open, Xanadu?' });
  await world.rulesSettled();
  await until(async () => (await value('select state from ops.sends where number = $1', gone)) === 'SENT');
  expect(await placesWith(world, gone)).toEqual(expect.arrayContaining(['ops.sends.body', 'ops.rule_runs.number']));
  await erase(gone);
  expect([...(await placesWith(world, gone)), ...(await placesWith(world, 'Xanadu'))]).toEqual([]);
  // What was spent stays in the day's books.
  expect(await value(`select sends_count from ops.send_budgets where scope = 'account'`)).toBe(1);

  await sandbox.emit.sms({ line, number: gone, text: 'Are you open, Xanadu?' });
  await world.rulesSettled();
  expect([...(await placesWith(world, gone)), ...(await placesWith(world, 'Xanadu'))]).toEqual([]);
  expect(sandbox.sends().filter(({ charge }) => charge?.to.includes(gone))).toHaveLength(1);
});

test('a send of unknown outcome to whoever is erased is not looked for any more, and needs a person', async () => {
  sandbox.faults({ kind: 'reset', when: 'before', times: 1, operation: 'sendMessage' });
  await sandbox.emit.sms({ number: unknown, text: 'Are you open?' });
  await until(async () => (await value('select state from ops.sends where number = $1', unknown)) === 'UNKNOWN');
  await world.settled();
  await erase(unknown);
  await query(`update ops.sends set due_at = now(), enqueued_at = '-infinity' where state = 'UNKNOWN'`);
  await until(async () => (await value(`select count(*)::int from ops.sends where state = 'NEEDS_HUMAN'`)) === 1);
  await world.settled();
  expect(await placesWith(world, unknown)).toEqual([]);
});

test('the answer to an action does not bring back whoever is erased during its request', async () => {
  const number = '17185550503';
  const begun = `select count(*)::int from ops.rule_actions a join ops.rule_runs r using (run_id)
    where r.number = $1 and a.kind = 'comment' and a.tries = 1 and a.state = 'waiting'`;
  sandbox.faults({ kind: 'slow', ms: 3_000, operation: 'commentOnConversation' });
  await sandbox.emit.sms({ number, text: 'Open?' });
  await until(async () => (await value(begun, number)) === 1);
  await erase(number);
  await world.settled();
  await world.rulesSettled();
  expect(await placesWith(world, number)).toEqual([]);
});

test('nothing is recorded for a text of somebody whose erasure has begun', async () => {
  const number = '17185550504';
  await sandbox.emit.sms({ number, text: 'Hello' });
  await world.rulesSettled();
  await query('insert into ops.erasures (number_hash) values (ops.erasure_hash($1))', number);
  await query(`update warehouse.sms_messages set body = 'Open?' where from_number = $1`, number);
  await query(
    `insert into ops.rule_events (kind, key, happened_at)
     select 'message_received', conversation_id || '/' || message_id, sent_at from warehouse.sms_messages where from_number = $1`,
    number,
  );
  await world.rulesSettled();
  expect(await query('select from ops.rule_runs where number = $1', number)).toEqual([]);
  expect(await query('select from ops.sends where number = $1', number)).toEqual([]);
});
