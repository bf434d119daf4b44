import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { planSend } from '../../src/ledger/plans.ts';
import { createWorld, until, type World } from '../world.ts';

// A rule that answers every text at once, as the crudest of rules would.
async function answerAll({ query, context }: World): Promise<void> {
  const texts = await query<{ line: string; number: string; message_id: string; sent_at: Date }>(
    `select line, number, message_id, sent_at from warehouse.sms_messages m where direction = 'in'
       and not exists (select from ops.sends s where s.trigger_id = m.message_id::text)`,
  );
  for (const { line, number, message_id: id, sent_at: at } of texts) {
    const trigger = { kind: 'message', id, at } as const;
    const text = `Thank you for ${id}`;
    const limits = { quietHours: 'none' } as const;
    await context.database.db
      .transaction()
      .execute((tx) => planSend(tx, { rule: 'all', line, number, trigger, text, mode: 'live', limits }));
  }
}

const folder = await mkdtemp(join(tmpdir(), 'trunkline-ledger-'));
const rulesFile = join(folder, 'rules.yaml');
await writeFile(rulesFile, 'rules: []\n');
const world = await createWorld({
  backend: 'postgres',
  environment: { RULES_MODE: 'live', RULES_FILE: rulesFile },
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const { sandbox, value } = world;
const sent = (number: string) => sandbox.sends().filter(({ charge }) => charge?.to.includes(number) === true).length;

test('a cut answer to a send ends SENT, found in the thread, with one request', async () => {
  const number = '12125550101';
  await sandbox.emit.sms({ number, text: 'Are you open?' });
  sandbox.faults({ kind: 'reset', when: 'after', times: 1, operation: 'sendMessage' });
  const becomes = (state: string) =>
    until(async () => {
      await answerAll(world);
      return (await value('select state from ops.sends where number = $1', number)) === state;
    });
  await becomes('UNKNOWN');
  await world.query('update ops.sends set due_at = now() where number = $1', number);
  await becomes('SENT');
  expect(await world.query('select is_reconciled, reason from ops.sends where number = $1', number)).toEqual([
    { is_reconciled: true, reason: 'reconciled' },
  ]);
  const isPost = ({ method, path }: { method: string; path: string }) =>
    method === 'POST' && path.endsWith('/sms/messages');
  expect(sandbox.requests().filter(isPost)).toHaveLength(1);
  expect(sent(number)).toBe(1);
  const linked = 'select count(*)::int from warehouse.sms_messages where send_id is not null';
  await until(async () => (await value(linked)) === 1);
});

test('two automatic repliers stop within three sends', async () => {
  const number = '12125550102';
  const { line } = await sandbox.emit.sms({ number, text: 'Hello?' });
  const refused = `select count(*) > 0 from ops.sends where number = $1 and reason ~ 'gate:(loop|budget)'`;
  let answered = 0;
  await until(async () => {
    if (sent(number) > answered) {
      answered = sent(number);
      await sandbox.emit.sms({ line, number, text: 'We have received your message.' });
    }
    await answerAll(world);
    return (await value(refused, number)) === true;
  });
  const before = sent(number);
  expect(before).toBeLessThanOrEqual(3);
  await world.settled();
  await answerAll(world);
  await world.settled();
  expect(sent(number)).toBe(before);
});
