import { afterAll, expect, test } from 'vitest';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

const world = await createRulesWorld(
  'rules: [{ name: text, on: message_received, do: [{ comment: A text. }] }]',
  'live',
  'postgres',
);
afterAll(() => world.close());
const { sandbox, value } = world;

test.each(['sentAt', 'direction'])(
  'a text that is first shown without its %s is a trigger as soon as it has one, once',
  async (field) => {
    sandbox.faults({ kind: 'edit', path: `data.messages.*.${field}`, operation: 'readThread' });
    const { line, number } = await sandbox.emit.sms({ number: `1555225${field.length}001`, text: 'Are you open?' });
    await until(
      async () => (await value('select count(*)::integer from warehouse.sms_messages where number = $1', number)) === 1,
    );
    sandbox.faults();
    for (const repeat of [1, 2]) {
      expect((await world.deliver('AccountSMS', { line, number, repeat })).status).toBe(202);
      await world.settled();
      await world.rulesSettled();
    }
    expect(await value(`select count(*)::integer from ops.rule_runs where is_matched and number = $1`, number)).toBe(1);
  },
);
