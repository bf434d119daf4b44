import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { planSend } from '../../src/ledger/plans.ts';
import { temporaryFolder } from '../at-end.ts';
import { createWorld, until } from '../world.ts';

const rulesFile = join(await temporaryFolder(), 'rules.yaml');
await writeFile(rulesFile, 'rules: []\n');
const world = await createWorld({
  backend: 'postgres',
  environment: { RULES_MODE: 'live', RULES_FILE: rulesFile },
  workers: null,
});
afterAll(() => world.close());

const number = '12125550777';
const stateOf = () => world.value('select state from ops.sends where number = $1', number);
const posts = () =>
  world.sandbox.requests().filter(({ method, path }) => method === 'POST' && path.endsWith('/sms/messages')).length;

test('a send whose answer does not come before the process ends is unknown, and no other leaves', async () => {
  const { context, sandbox } = world;
  const { line } = await sandbox.emit.sms({ number, text: 'Are you open?' });
  const workers = await world.work();
  await world.settled();
  sandbox.faults({ kind: 'slow', ms: 60_000, when: 'after', operation: 'sendMessage' });
  const [trigger] = await world.query<{ id: string; at: Date }>(
    'select message_id as id, sent_at as at from warehouse.sms_messages where number = $1',
    number,
  );
  if (!trigger) throw new Error('the text was not mirrored');
  await context.database.db.transaction().execute((tx) =>
    planSend(tx, {
      ...{ rule: 'stop', line, number, text: 'We are open', mode: 'live' },
      trigger: { kind: 'message', ...trigger },
      limits: { quietHours: 'none' },
    }),
  );
  await until(async () => (await stateOf()) === 'DISPATCHED' && sandbox.sends().length === 1);

  const closing = workers.close(20_000);
  context.service?.abandon('repeatable');
  await expect(context.service?.lines.list()).rejects.toMatchObject({ code: 'aborted', effect: 'none' });
  await expect(
    context.service?.messages.send({ from: line, to: ['12125550778'], message: 'too late' }),
  ).rejects.toMatchObject({ code: 'aborted', effect: 'none' });
  expect(await stateOf()).toBe('DISPATCHED');

  context.service?.abandon('all');
  await closing;
  expect(await stateOf()).toBe('UNKNOWN');
  expect(posts()).toBeLessThanOrEqual(1);
});
