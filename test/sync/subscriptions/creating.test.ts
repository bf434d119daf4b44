import { beforeEach, describe, expect, test } from 'vitest';
import { ensureSubscriptions, wantedTypes } from '../../../src/sync/subscriptions/ensure.ts';
import { type Change, openAccount } from './account.ts';

const { database, service, log, logged, behind: clientBehind } = await openAccount();
beforeEach(() => database.query('truncate ops.gaps, ops.subscription_watch, ops.processes'));

const stored = async () => (await service.webhooks.list()).data;
const enabled = async () => (await stored()).map((each) => each.enabled);
const all = <T>(each: T) => wantedTypes.map(() => each);

/** A look at the sandbox behind a proxy that changes what is asked or answered. */
async function behind(change: Change) {
  const asked = await clientBehind(change);
  return () =>
    ensureSubscriptions({
      ...{ service: asked, db: database.db, log },
      ...{ publicUrl: 'http://127.0.0.1:9/in', secret: 'a-secret-of-hooks' },
    });
}

const outcomesOf = (ensured: Awaited<ReturnType<typeof ensureSubscriptions>>) => ensured.map(({ outcome }) => outcome);

describe('a service that creates ours disabled', () => {
  const isCreate = ({ method, path }: { method: string; path: string }) => method === 'POST' && path === '/webhooks';
  const passes: Change['passes'] = (asked) => (isCreate(asked) ? { ...asked.body, enabled: false } : asked.body);

  test('has them enabled at once', async () => {
    const look = await behind({ passes });
    expect(outcomesOf(await look())).toEqual(all('created'));
    expect(await enabled()).toEqual(all(true));
  });

  test('and lets nobody enable them keeps them as ours, and creates no others', async () => {
    const look = await behind({ passes, refuses: ({ method }) => (method === 'PUT' ? 403 : undefined) });
    for (let each = 0; each < 2; each += 1) expect(outcomesOf(await look())).toEqual(all('to_create_by_hand'));
    expect(await stored()).toHaveLength(wantedTypes.length);
    expect(await database.query('select distinct is_created_here from ops.subscription_watch')).toEqual([
      { is_created_here: true },
    ]);
    const freed = await behind({});
    expect(outcomesOf(await freed())).toEqual(all('repaired'));
  });
});

test('a service that answers 400 to a create leaves it to the operator', async () => {
  const look = await behind({
    refuses: ({ method, path }) => (method === 'POST' && path === '/webhooks' ? 400 : undefined),
  });
  for (const each of await look()) {
    expect(each).toMatchObject({
      outcome: 'to_create_by_hand',
      toDo: { instruction: 'create it with this type and url' },
    });
  }
});

describe('a disabled subscription of ours, where the service', () => {
  const disableFirst = async () => {
    await (await behind({}))();
    const [first] = await stored();
    await service.webhooks.disable(first?.id ?? 0);
    return first?.id ?? 0;
  };

  const instruction = (id: number | string) => `enable subscription ${id} in its portal`;

  test('has no operation that enables, is left to the operator by its id', async () => {
    const id = await disableFirst();
    const look = await behind({ refuses: ({ method }) => (method === 'GET' ? undefined : 405) });
    const ensured = (await look()).find(({ subscriptionId }) => subscriptionId === id);
    expect(ensured).toMatchObject({
      outcome: 'to_create_by_hand',
      toDo: { instruction: instruction(id), needsAddress: false },
    });
    expect(logged()).toContain(`refused to repair this webhook. You have to ${instruction(id)}`);
  });
});

test('a subscription at another address that cannot be changed is left to the operator', async () => {
  await (await behind({}))();
  const [first] = await stored();
  await service.webhooks.update(first?.id ?? 0, { url: 'http://127.0.0.1:9/elsewhere', type: 'UserEndedCalls' });
  const look = await behind({ refuses: ({ method }) => (method === 'PUT' ? 403 : undefined) });
  const ensured = (await look()).find(({ subscriptionId }) => subscriptionId === first?.id);
  expect(ensured?.toDo).toEqual({
    instruction: `give subscription ${first?.id} the type AccountSMS and this url in its portal`,
    needsAddress: true,
  });
});
