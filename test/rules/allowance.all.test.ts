import { afterAll, expect, test } from 'vitest';
import { settleManually } from '../../src/ledger/outcome.ts';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

/* A text that may have gone out uses up what a rule is allowed, until somebody knows that it has not. */

const capped = (name: string) => `
  - name: ${name}
    on: message_received
    if: message.plain == "${name}"
    do: [{ reply: 'Once a day.' }]
    limits: { per_thread: 1 per 24h, quiet_hours: none }`;

const rules = `
rules:${capped('reset')}${capped('retried')}${capped('forgotten')}${capped('outlasted')}
  - name: counting
    on: message_received
    if: message.plain == "counting" && replies.count >= 0
    do: [{ comment: '{{ replies.count }} so far.' }]
`;

const world = await createRulesWorld(rules, 'live', 'postgres', {
  workers: { sends: { everyMs: 50, timing: { retryMs: 1_000, reconcileAtMs: [2_000] } } },
});
const { sandbox, query, value, context } = world;
afterAll(() => world.close());

const stateOf = (number: string) => value('select state from ops.sends where number = $1', number);
const chargesOf = (number: string) => sandbox.sends().filter(({ charge }) => charge?.to.includes(number)).length;
const reasonOf = async (rule: string, number: string) => {
  const asked = 'select reason from ops.rule_runs where rule = $1 and number = $2 order by run_id desc limit 1';
  await until(async () => (await value(asked, rule, number)) !== undefined);
  return value(asked, rule, number);
};

test('a send that a person has to settle counts, in limits and in facts', async () => {
  const number = '17185550301';
  sandbox.faults({ kind: 'reset', when: 'before', operation: 'sendMessage', times: 1 });
  await sandbox.emit.sms({ number, text: 'reset' });
  await until(async () => (await stateOf(number)) === 'NEEDS_HUMAN');
  const line = String(await value('select line from ops.sends where number = $1', number));
  await sandbox.emit.sms({ line, number, text: 'reset' });
  await until(async () => (await reasonOf('reset', number)) === 'limit:thread');
  await sandbox.emit.sms({ line, number, text: 'counting' });
  await until(async () => (await world.runs('counting')).some((run) => run.is_matched));
  expect((await world.runs('counting')).find((run) => run.is_matched)?.facts).toMatchObject({ 'replies.count': 1 });

  const [send] = await query<{ id: string }>('select send_id as id from ops.sends where number = $1', number);
  await settleManually(context.database.db, String(send?.id), 'NOT_SENT');
  expect(chargesOf(number)).toBe(0);
  await sandbox.emit.sms({ line, number, text: 'reset' });
  await until(() => chargesOf(number) === 1);
});

test('so does one whose second try may have gone out', async () => {
  const number = '17185550304';
  sandbox.faults({ kind: 'answer', when: 'before', operation: 'sendMessage' });
  await sandbox.emit.sms({ number, text: 'retried' });
  await until(async () => (await value('select tries from ops.sends where number = $1', number)) === 1);
  sandbox.faults({ kind: 'reset', when: 'before', operation: 'sendMessage', times: 1 });
  await until(async () => (await stateOf(number)) === 'UNKNOWN');
  const line = String(await value('select line from ops.sends where number = $1', number));
  await sandbox.emit.sms({ line, number, text: 'retried' });
  await until(async () => (await reasonOf('retried', number)) !== 'matched');
  expect(await reasonOf('retried', number)).toBe('limit:thread');
  expect(chargesOf(number)).toBe(0);
});
