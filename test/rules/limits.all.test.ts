import { writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { summarizeSends } from '../../src/ledger/control.ts';
import { applyRulesFile } from '../../src/rules/versions.ts';
import { backends } from '../stores/backends.ts';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

const rules = (budgets: string) => `
${budgets}
rules:
  - name: answer
    on: message_received
    do: [{ reply: 'An answer to {{ message.id }}.' }]
    limits: { quiet_hours: none }
`;

describe.each(backends)('on %s', async (backend) => {
  // Nothing but the job of a plan lets a send out soon.
  const world = await createRulesWorld(rules(''), 'live', backend, { workers: { sends: { everyMs: 3_600_000 } } });
  const { sandbox, value, context } = world;
  afterAll(() => world.close());

  const stateOf = async (number: string) =>
    value(`select concat_ws(' ', state, reason) from ops.sends where number = $1`, number);

  test('a reply leaves as soon as it is planned, not at the next look', async () => {
    await sandbox.emit.sms({ number: '17185550401', text: 'Hello?' });
    await until(async () => (await stateOf('17185550401')) === 'SENT');
  });

  test('the budgets of the file hold without a restart, for as long as they stand in it', async () => {
    await world.rules(rules('budgets: { daily_dollars: 0 }'));
    await sandbox.emit.sms({ number: '17185550402', text: 'Hello?' });
    await until(async () => (await stateOf('17185550402')) === 'DENIED gate:budget_money');
    expect((await summarizeSends(context.database.db)).dailyMicros).toBe(0);
    await world.rules(rules('budgets: { per_account: 1 }'));
    await sandbox.emit.sms({ number: '17185550403', text: 'Hello?' });
    await until(async () => (await stateOf('17185550403')) === 'DENIED gate:budget_account');
    await world.rules(rules(''));
    await sandbox.emit.sms({ number: '17185550404', text: 'Hello?' });
    await until(async () => (await stateOf('17185550404')) === 'SENT');
    expect((await summarizeSends(context.database.db)).dailyMicros).toBe(5_000_000);
  });

  test('a bad file leaves the budgets as they were', async () => {
    await world.rules(rules('budgets: { daily_dollars: 0 }'));
    await writeFile(world.rulesFile, rules('budgets: { daily_dollars: unlimited }'));
    const refused = await applyRulesFile(context.database.db, world, context.log);
    expect(refused?.message).toContain('expected number, received string');
    await sandbox.emit.sms({ number: '17185550405', text: 'Hello?' });
    await until(async () => (await stateOf('17185550405')) === 'DENIED gate:budget_money');
  });
});
