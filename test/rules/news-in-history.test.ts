import { afterAll, expect, test } from 'vitest';
import { markDirty, priorities, type Target } from '../../src/inbox/targets.ts';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

/* What was owed a read as history can have got news meanwhile, and its read be the first to see them. */

const rules = `
rules:
  - { name: text, on: message_received, do: [{ comment: A text. }] }
  - { name: call, on: call_missed, do: [{ comment: Missed. }] }
`;

const world = await createRulesWorld(rules, 'live', 'postgres');
afterAll(() => world.close());
const { sandbox, query, value } = world;
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

async function readAsHistory(target: Target): Promise<void> {
  await markDirty(world.context.database.db, [{ ...target, priority: priorities.history }], {
    activeMs: 0,
    refusedMs: 0,
  });
}

test('a text that a read of history meets before its webhook is a trigger, once', async () => {
  sandbox.faults({ kind: 'delayed', ms: 3_000 });
  const { line, number } = await sandbox.emit.sms({ number: '15552240001', text: 'Are you open?' });
  await readAsHistory({ kind: 'thread', key: `${line}/${number}` });
  await until(
    async () => (await value('select count(*)::integer from warehouse.sms_messages where number = $1', number)) === 1,
  );
  expect(await value('select count(*)::integer from ops.deliveries')).toBe(0);
  await until(async () => (await value('select count(*)::integer from ops.deliveries')) === 1);
  await world.settled();
  await world.rulesSettled();
  expect(await world.runs('text')).toMatchObject([{ is_matched: true }]);
});

test('an old text that a read of history finds is none', async () => {
  sandbox.faults();
  const text = { number: '15552240002', text: 'Are you open?', sentAt: minutesAgo(11), announce: false };
  const { line, number } = await sandbox.emit.sms(text);
  await readAsHistory({ kind: 'thread', key: `${line}/${number}` });
  await until(
    async () => (await value('select count(*)::integer from warehouse.sms_messages where number = $1', number)) === 1,
  );
  await world.rulesSettled();
  expect(await query('select from ops.rule_runs where number = $1', number)).toEqual([]);
});
