import { describe, test } from 'vitest';
import { backends } from '../stores/backends.ts';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

const rules = `
rules:
  - name: answer
    on: message_received
    do: [{ reply: 'An answer to {{ message.id }}.' }]
    limits: { quiet_hours: none }
`;

describe.each(backends)('on %s', async (backend) => {
  // Nothing but the job of a plan lets a send out soon.
  const world = await createRulesWorld(rules, 'live', backend, { idle: /sends|due work/ });
  const { sandbox, value } = world;

  const stateOf = async (number: string) =>
    value(`select concat_ws(' ', state, reason) from ops.sends where number = $1`, number);

  test('a reply leaves as soon as it is planned, not at the next look', async () => {
    await sandbox.emit.sms({ number: '17185550401', text: 'Hello?' });
    await until(async () => (await stateOf('17185550401')) === 'SENT');
  });
});
