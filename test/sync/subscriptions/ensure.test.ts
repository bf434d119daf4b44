import { beforeEach, describe, expect, test } from 'vitest';
import { createService, type ObjectId } from '../../../src/api-client/client.ts';
import { ensureSubscriptions, wantedTypes } from '../../../src/sync/subscriptions/ensure.ts';
import { hookUrl } from '../../../src/sync/subscriptions/matching.ts';
import { openAccount } from './account.ts';

const { database, sandbox, service, log, logged, behind } = await openAccount();

const publicUrl = 'http://127.0.0.1:9/in';
const secret = 'a-secret-of-hooks';
const url = hookUrl(publicUrl, secret, 'AccountSMS');
const ensure = (asked = service, previousSecret?: string) =>
  ensureSubscriptions({ service: asked, db: database.db, log, publicUrl, secret, previousSecret });
const outcomes = async (...given: Parameters<typeof ensure>) =>
  Object.fromEntries((await ensure(...given)).map(({ type, outcome }) => [type, outcome]));
const each = (outcome: string) => wantedTypes.map(() => outcome);
const listed = async () => (await service.webhooks.list()).data.map(({ id, type, enabled }) => ({ id, type, enabled }));
const create = async (address: string, type = 'AccountSMS' as const) =>
  (await service.webhooks.create({ name: 'made before', url: address, type })).data;

describe('a subscription of ours', () => {
  test('is created when there is none, and then left alone', async () => {
    expect(await outcomes()).toEqual(Object.fromEntries(wantedTypes.map((type) => [type, 'created'])));
    expect(Object.values(await outcomes())).toEqual(each('in_place'));
    expect(await listed()).toHaveLength(wantedTypes.length);
  });

  test('whose address lost its type gets it back, though no other receiver has it', async () => {
    await ensure();
    const ours = (await service.webhooks.list()).data.find(({ type }) => type === 'AccountSMS');
    await service.webhooks.update(ours?.id ?? 0, { url: url.replace('AccountSMS', 'somewhere') });
    expect(await outcomes()).toMatchObject({ AccountSMS: 'repaired' });
  });

  test('under the previous secret is known as ours', async () => {
    const { id } = await create(hookUrl(publicUrl, 'the-previous-one', 'AccountSMS'));
    await ensure(service, 'the-previous-one');
    expect((await service.webhooks.list()).data.find((each) => each.id === id)?.url).toBe(url);
    expect(await listed()).toHaveLength(wantedTypes.length);
  });
});

describe('two receivers with different secrets', () => {
  const younger = 'a-younger-secret-of-hooks';
  const as = (own: string, previousSecret?: string, asked = service) =>
    ensureSubscriptions({ service: asked, db: database.db, log, publicUrl, secret: own, previousSecret });
  const secrets = async () => [
    ...new Set((await service.webhooks.list()).data.map((each) => each.url?.split('/').at(-2))),
  ];
  const gaps = () => database.query('select reason from ops.gaps');
  beforeEach(async () => {
    await database.query('truncate ops.gaps, ops.subscription_watch, ops.processes');
    await as(secret);
  });

  test('of which one knows the other’s as its previous: the move is a rotation, no fault and no gap', async () => {
    const ensured = await as(younger, secret);
    expect(ensured).toHaveLength(wantedTypes.length);
    for (const each of ensured) expect(each).toMatchObject({ outcome: 'repaired', faults: [] });
    expect(await secrets()).toEqual([younger]);
    expect(await gaps()).toEqual([]);
    expect(await database.query('select distinct state, last_fault from ops.subscription_watch')).toEqual([
      { state: 'in_place', last_fault: null },
    ]);
    expect((await as(younger, secret)).map(({ outcome }) => outcome)).toEqual(each('in_place'));
  });

  test('of which none knows the other: each has subscriptions of its own, and is told of the other', async () => {
    expect((await as(younger)).map(({ outcome }) => outcome)).toEqual(each('created'));
    for (const own of [secret, younger, secret]) {
      expect((await as(own)).map(({ outcome }) => outcome)).toEqual(each('in_place'));
      expect(await database.query('select distinct other_receivers from ops.subscription_watch')).toEqual([
        { other_receivers: [`${publicUrl}/hooks`] },
      ]);
    }
    expect(await secrets()).toEqual([secret, younger]);
  });

  test('of which one is told the other’s as its previous: what has the previous one is disabled', async () => {
    await as(younger);
    await as(younger, secret);
    expect(
      (await service.webhooks.list()).data.map(({ url: at, enabled }) => [at?.includes(younger), enabled]),
    ).toEqual([...each('').map(() => [false, false]), ...each('').map(() => [true, true])]);
    expect((await as(younger, secret)).map(({ outcome }) => outcome)).toEqual(each('in_place'));
    expect(await database.query('select distinct other_receivers from ops.subscription_watch')).toEqual([
      { other_receivers: [] },
    ]);
  });

  test('that was disabled under the previous secret leaves its gap', async () => {
    const texts = (await service.webhooks.list()).data.find(({ type }) => type === 'AccountSMS');
    await service.webhooks.disable(texts?.id ?? 0);
    await as(younger, secret);
    expect(await gaps()).toEqual([{ reason: 'the webhook subscription of AccountSMS was disabled' }]);
  });

  test('are kept without their secrets', async () => {
    await as(younger);
    expect(JSON.stringify(await database.query('select * from ops.subscription_watch'))).not.toContain(
      'secret-of-hooks',
    );
  });
});

test('other people’s subscriptions are never touched', async () => {
  const others = ['http://127.0.0.1:9/other', `${url}x`, url.replace(secret, 'somebody-elses')];
  const ids: ObjectId[] = [];
  for (const address of others) ids.push((await create(address)).id);
  await service.webhooks.disable(ids[1] ?? 0);
  const before = (await listed()).filter(({ id }) => ids.includes(id));
  await ensure();
  expect((await listed()).filter(({ id }) => ids.includes(id))).toEqual(before);
});

test('a credential that may not write is told what to create by hand', async () => {
  await sandbox.reset();
  const key = 'a-key-that-only-reads';
  await fetch(`${sandbox.url}/_sandbox/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'reader', key, scopes: ['webhooks:read'] }),
  });
  const reader = createService({ baseUrl: sandbox.url, apiKey: key, log });
  expect(Object.values(await outcomes(reader))).toEqual(each('to_create_by_hand'));
  await reader.close();
});

test('one that was created with an answer of another shape is found by its address', async () => {
  await sandbox.reset();
  sandbox.faults({ kind: 'edit', path: 'data', operation: 'createWebhook', times: wantedTypes.length });
  expect(Object.values(await outcomes())).toEqual(each('created'));
  sandbox.faults();
  expect(await listed()).toHaveLength(wantedTypes.length);
  expect(Object.values(await outcomes())).toEqual(each('in_place'));
});

test('a repair is remembered with its gap, though the service fails on the next one', async () => {
  await sandbox.reset();
  await ensure();
  await database.query('truncate ops.gaps');
  const all = (await service.webhooks.list()).data;
  const idOf = (type: string) => all.find((each) => each.type === type)?.id ?? 0;
  await service.webhooks.disable(idOf('AccountSMS'));
  await service.webhooks.remove(idOf('AccountEndedCalls'));
  sandbox.faults({ kind: 'answer', status: 500, operation: 'createWebhook' });
  await expect(ensure()).rejects.toThrow();
  sandbox.faults();
  expect(await database.value('select reason from ops.gaps')).toContain('AccountSMS was disabled');
});

test('one that cannot be created keeps no other from being enabled', async () => {
  await ensure();
  await database.query('truncate ops.gaps');
  const all = (await service.webhooks.list()).data;
  const idOf = (type: string) => all.find((each) => each.type === type)?.id ?? 0;
  await service.webhooks.remove(idOf('AccountSMS'));
  await service.webhooks.disable(idOf('AccountEndedCalls'));
  sandbox.faults({ kind: 'answer', status: 500, operation: 'createWebhook' });
  await expect(ensure()).rejects.toThrow('webhooks.create');
  sandbox.faults();
  expect(await listed()).toContainEqual({ id: idOf('AccountEndedCalls'), type: 'AccountEndedCalls', enabled: true });
  expect(await database.query('select reason from ops.gaps')).toEqual([
    { reason: 'the webhook subscription of AccountEndedCalls was disabled' },
  ]);
});

test('a repair whose process dies before it is noted leaves its gap to the next look', async () => {
  await ensure();
  await database.query('truncate ops.gaps');
  const [ours] = (await service.webhooks.list()).data.filter(({ type }) => type === 'AccountSMS');
  await service.webhooks.disable(ours?.id ?? 0);
  // What is told comes between the repair and its note.
  const dying = {
    ...log,
    warn: () => {
      throw new Error('killed');
    },
  } as typeof log;
  await expect(ensureSubscriptions({ service, db: database.db, log: dying, publicUrl, secret })).rejects.toThrow(
    'killed',
  );
  expect(await listed()).toContainEqual({ id: ours?.id, type: 'AccountSMS', enabled: true });
  expect(await database.value('select count(*)::integer from ops.gaps')).toBe(0);
  expect(await outcomes()).toMatchObject({ AccountSMS: 'in_place' });
  expect(await database.query('select stream, reason from ops.gaps')).toEqual([
    { stream: 'texts', reason: 'the webhook subscription of AccountSMS was not there' },
  ]);
});

describe('a service in other words', () => {
  test('that writes an address in its own way has the same one', async () => {
    await create('HTTP://127.0.0.1:9/in/hooks/a-secret-of-hooks/AccountSMS/');
    expect(await outcomes()).toMatchObject({ AccountSMS: 'in_place' });
  });

  test('that does not say whether one is enabled has it in place', async () => {
    await ensure();
    const asked = await behind({
      answers: ({ method, path }, answer) =>
        method === 'GET' && path === '/webhooks'
          ? { data: (answer.data as object[]).map((row) => ({ ...row, enabled: undefined })) }
          : answer,
    });
    expect(Object.values(await outcomes(asked))).toEqual(each('in_place'));
  });

  test.each([405, 501])('that answers a create with %d says what to create by hand', async (status) => {
    const asked = await behind({ refuses: ({ method }) => (method === 'POST' ? status : undefined) });
    expect(Object.values(await outcomes(asked))).toEqual(each('to_create_by_hand'));
  });
});

test('a credential that may not even look is told which scope it needs, and nothing is changed', async () => {
  const key = 'a-key-of-another-purpose';
  await fetch(`${sandbox.url}/_sandbox/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'other', key, scopes: ['reports:read'] }),
  });
  const other = createService({ baseUrl: sandbox.url, apiKey: key, log });
  await expect(ensure(other)).rejects.toMatchObject({ advice: 'scope', scope: 'webhooks:read' });
  await other.close();
  expect(await listed()).toEqual([]);
});

test('no address of a hook is logged', () => {
  expect(logged()).toContain('AccountSMS');
  expect(logged()).not.toContain(secret);
});
