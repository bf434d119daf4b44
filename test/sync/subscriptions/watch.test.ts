import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Service } from '../../../src/api-client/client.ts';
import { createReconciler } from '../../../src/completeness/coverage/reconcile.ts';
import { startWebhookRegistration } from '../../../src/server/webhook-registration.ts';
import { createLog } from '../../../src/shared/log.ts';
import { hookUrl } from '../../../src/sync/subscriptions/matching.ts';
import { backends } from '../../stores/backends.ts';
import { createWorld, secret, until } from '../../world.ts';

describe.each(backends)('on %s', async (backend) => {
  const world = await createWorld({ backend });
  const { context, sandbox, receiver } = world;
  const { webhooks } = context.service as Service;
  const registration = startWebhookRegistration(context, receiver.url, secret, { everyMs: 100, firstRetryMs: 50 });
  afterAll(async () => {
    await registration.stop();
    await world.close();
  });
  beforeEach(() => inPlace());

  const url = hookUrl(receiver.url, secret, 'AccountEndedCalls');
  const ours = async () => (await webhooks.list()).data.filter((each) => each.url === url && each.enabled);
  const isGood = async () => {
    const [first, ...more] = await ours();
    return first?.type === 'AccountEndedCalls' && more.length === 0;
  };
  const id = async (): Promise<number> => (await ours())[0]?.id as number;
  const gaps = () => world.value(`select count(*)::integer from ops.gaps where stream = 'calls'`);
  const inPlace = () =>
    until(
      async () => (await isGood()) && (await world.value('select count(*)::integer from ops.subscription_watch')) === 3,
    );

  test.each([
    ['disabled', async (): Promise<void> => void (await webhooks.disable(await id()))],
    ['deleted', async (): Promise<void> => void (await webhooks.remove(await id()))],
    [
      'redirected',
      async (): Promise<void> => void (await webhooks.update(await id(), { url: 'http://127.0.0.1:9/elsewhere' })),
    ],
    ['retyped', async (): Promise<void> => void (await webhooks.update(await id(), { type: 'UserEndedCalls' }))],
  ] as const)('a subscription that was %s is in place again, and the gap is noted', async (fault, strike) => {
    const before = (await gaps()) as number;
    await strike();
    await until(async () => (await gaps()) === before + 1);
    await inPlace();
    const [gap] = await world.query(
      "select reason, from_at < noticed_at - interval '4 minutes' as overlaps from ops.gaps order by gap_id desc limit 1",
    );
    expect(gap).toEqual({ reason: `the webhook subscription of AccountEndedCalls was ${fault}`, overlaps: true });
    expect(
      await world.value('select last_fault from ops.subscription_watch where event_type = $1', 'AccountEndedCalls'),
    ).toBe(fault);
    expect(world.logged()).toContain('somebody had changed it');
  });

  test('a time without checks is a gap: no receiver may have run', async () => {
    const before = (await gaps()) as number;
    await world.query(`update ops.subscription_watch set in_place_at = now() - interval '1 hour'`);
    await until(async () => (await gaps()) === before + 1);
    const [gap] = await world.query('select reason from ops.gaps order by gap_id desc limit 1');
    expect(gap?.reason).toContain('no receiver checked');
  });

  test.each([
    ['begins to check', 'with gone as (delete from ops.processes) ', 1],
    ['has checked before', '', 0],
  ])('a minute without checks before a receiver that %s', async (_, gone, found) => {
    const before = (await gaps()) as number;
    await world.query(`${gone}update ops.subscription_watch set in_place_at = now() - interval '1 minute'`);
    const fresh = `select min(in_place_at) > now() - interval '30 seconds' from ops.subscription_watch`;
    await until(async () => (await world.value(fresh)) === true);
    expect(await gaps()).toBe(before + found);
    if (found === 0) return;
    expect(await world.value('select reason from ops.gaps order by gap_id desc limit 1')).toBe('no receiver ran');
  });

  test('one that stands twice is reduced, and nothing is missing', async () => {
    const before = await gaps();
    await webhooks.create({ name: 'again', url, type: 'AccountEndedCalls' });
    await until(async () => (await webhooks.list()).data.some((each) => each.url === url && !each.enabled));
    await inPlace();
    expect(await gaps()).toBe(before);
  });

  test('what happened in the gap is held soon after', async () => {
    const before = (await gaps()) as number;
    await webhooks.disable(await id());
    const { id: callId } = await sandbox.emit.call({ status: 'missed' });
    await inPlace();
    // The subscription is good again a moment before its gap is noted.
    await until(async () => (await gaps()) === before + 1);
    const reconciler = createReconciler({
      service: context.service as Service,
      db: context.database.db,
      log: createLog('silent'),
      pauses: context.pauses,
      notify: context.notifier.notify,
    });
    await until(async () => {
      await reconciler.round();
      return (
        (await world.value("select count(*)::integer from ops.gaps where stream = 'calls' and filled_at is null")) === 0
      );
    });
    const held = 'select leg_count > 0 from warehouse.calls where call_id = $1';
    await until(async () => (await world.value(held, callId)) === true);
  });
});
