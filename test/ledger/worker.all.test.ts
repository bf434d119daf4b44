import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { planSend } from '../../src/ledger/plans.ts';
import { backends } from '../stores/backends.ts';
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

describe.each(backends)('on %s', async (backend) => {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-ledger-'));
  const rulesFile = join(folder, 'rules.yaml');
  await writeFile(rulesFile, 'rules: []\n');
  const world = await createWorld({
    backend,
    environment: { RULES_MODE: 'live', RULES_FILE: rulesFile },
    workers: { sends: { everyMs: 50, timing: { reconcileAtMs: [200, 600, 1_500] } } },
  });
  afterAll(async () => {
    await world.close();
    await rm(folder, { recursive: true, force: true });
  });

  const sent = (number: string) =>
    world.sandbox.sends().filter(({ charge }) => charge?.to.includes(number) === true).length;

  test('a cut answer to a send ends SENT, found in the thread, with one request', async () => {
    const number = '12125550101';
    await world.sandbox.emit.sms({ number, text: 'Are you open?' });
    world.sandbox.faults({ kind: 'reset', when: 'after', times: 1, operation: 'sendMessage' });
    await until(async () => {
      await answerAll(world);
      return (await world.value('select state from ops.sends where number = $1', number)) === 'SENT';
    });
    expect(await world.query('select is_reconciled, reason from ops.sends where number = $1', number)).toEqual([
      { is_reconciled: true, reason: 'reconciled' },
    ]);
    const posts = world.sandbox
      .requests()
      .filter(({ method, path }) => method === 'POST' && path.endsWith('/sms/messages'));
    expect(posts).toHaveLength(1);
    expect(sent(number)).toBe(1);
    await until(
      async () =>
        (await world.value('select count(*)::int from warehouse.sms_messages where send_id is not null')) === 1,
    );
  });

  test.each([
    { habit: 'says the same at once', number: '12125550102', autoReply: 'We have received your message.', afterMs: 0 },
    { habit: 'takes its time', number: '12125550103', autoReply: 'We have received your message.', afterMs: 1_500 },
  ])(
    'two automatic repliers stop within three sends when the other one $habit',
    async ({ number, autoReply, afterMs }) => {
      const { line } = await world.sandbox.emit.sms({ number, text: 'Hello?' });
      let answered = 0;
      await until(async () => {
        if (sent(number) > answered) {
          answered = sent(number);
          await sleep(afterMs);
          await world.sandbox.emit.sms({ line, number, text: autoReply });
        }
        await answerAll(world);
        return (
          (await world.value(
            `select count(*) > 0 from ops.sends where number = $1 and reason ~ 'gate:(loop|budget)'`,
            number,
          )) === true
        );
      });
      const before = sent(number);
      expect(before).toBeLessThanOrEqual(3);
      await world.settled();
      await answerAll(world);
      await world.settled();
      expect(sent(number)).toBe(before);
    },
  );
});
