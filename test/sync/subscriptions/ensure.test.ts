import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createService, type Service } from '../../../src/api-client/client.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ensureSubscriptions, wantedTypes } from '../../../src/sync/subscriptions/ensure.ts';
import { hookUrl } from '../../../src/sync/subscriptions/matching.ts';
import { migratedDatabase } from '../../world/database.ts';
import { captureLog } from '../../world/log.ts';
import { startOddService } from '../../world/service.ts';

const database = await migratedDatabase();
const { db, query, value } = database;
const sandbox = await createSandbox({ calls: 0, threads: 0 });
const { log, text: logged } = captureLog();
const service = createService({ baseUrl: sandbox.url, apiKey: sandbox.apiKey, log });
const { webhooks } = service;
afterAll(async () => {
  await service.close();
  await sandbox.close();
  await database[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await sandbox.reset();
  sandbox.faults();
  await query('truncate ops.gaps, ops.subscription_watch');
});

const publicUrl = 'http://127.0.0.1:9/in';
const secret = 'a-secret-of-hooks';
const younger = 'a-younger-secret-of-hooks';
const url = hookUrl(publicUrl, secret, 'AccountSMS');

interface Given {
  readonly asked?: Service;
  readonly own?: string;
  readonly previousSecret?: string;
  readonly isFirst?: boolean;
}
const ensure = ({ asked = service, own = secret, ...rest }: Given = {}) =>
  ensureSubscriptions({ service: asked, db, log, publicUrl, secret: own, ...rest });
/** What became of each wanted type, in their order. */
const outcomes = async (given?: Given) => (await ensure(given)).map(({ outcome }) => outcome);
const all = <T>(each: T) => wantedTypes.map(() => each);

const listed = async () => (await webhooks.list()).data;
const ofType = async (type: string) => {
  const found = (await listed()).find((each) => each.type === type);
  if (!found) throw new Error(`no subscription of ${type}`);
  return found;
};
const idOf = async (type: string) => (await ofType(type)).id;
const create = async (address: string, type = 'AccountSMS' as const) =>
  (await webhooks.create({ name: 'made before', url: address, type })).data;
const reasons = async () =>
  (await query<{ reason: string }>('select reason from ops.gaps order by gap_id')).map(({ reason }) => reason);
const watched = (columns: string) => query(`select distinct ${columns} from ops.subscription_watch`);

type Asked = { readonly method: string; readonly path: string; readonly body: Readonly<Record<string, unknown>> };
interface Change {
  /** A bare status for what does not pass. */
  readonly refuses?: (asked: Asked) => number | undefined;
  /** What is sent on in place of the body. */
  readonly passes?: (asked: Asked) => object;
  readonly answers?: (asked: Asked, answer: Readonly<Record<string, unknown>>) => object;
}

/** The account behind a proxy that changes what is asked or answered. */
async function behind({ refuses, passes, answers }: Change): Promise<Service> {
  const proxy = await startOddService();
  proxy.answer = async ({ method, path, body: given }) => {
    const asked = { method, path, body: given === '' ? {} : JSON.parse(given) };
    const refusal = refuses?.(asked);
    if (refusal !== undefined) return { status: refusal, body: '' };
    const headers = { authorization: `Bearer ${sandbox.apiKey}`, 'content-type': 'application/json' };
    const sent = given === '' ? {} : { body: JSON.stringify(passes?.(asked) ?? asked.body) };
    const answered = await fetch(`${sandbox.url}/api/public/v1${path}`, { method, headers, ...sent });
    const body = await answered.text();
    const isChanged = answered.ok && answers && body !== '';
    return { status: answered.status, body: isChanged ? JSON.stringify(answers(asked, JSON.parse(body))) : body };
  };
  const client = createService({ baseUrl: proxy.url, apiKey: 'any', log });
  onTestFinished(async () => {
    await client.close();
    await proxy[Symbol.asyncDispose]();
  });
  return client;
}
const isCreate = ({ method, path }: Asked) => method === 'POST' && path === '/webhooks';

/** A client with a key of its own. */
async function clientOf(...scopes: readonly string[]): Promise<Service> {
  const key = 'a-key-of-another-purpose';
  await fetch(`${sandbox.url}/_sandbox/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'other', key, scopes }),
  });
  const client = createService({ baseUrl: sandbox.url, apiKey: key, log });
  onTestFinished(() => client.close());
  return client;
}

describe('a subscription of ours', () => {
  test('is created when there is none, and then left alone', async () => {
    expect(await outcomes()).toEqual(all('created'));
    expect(await outcomes()).toEqual(all('in_place'));
    expect((await listed()).map(({ type }) => type)).toEqual(wantedTypes);
  });

  test('whose address lost its type gets it back, though no other receiver has it', async () => {
    await ensure();
    await webhooks.update(await idOf('AccountSMS'), { url: url.replace('AccountSMS', 'somewhere') });
    expect((await outcomes())[0]).toBe('repaired');
  });

  test('under the previous secret is known as ours', async () => {
    const { id } = await create(hookUrl(publicUrl, 'the-previous-one', 'AccountSMS'));
    await ensure({ previousSecret: 'the-previous-one' });
    expect((await listed()).find((each) => each.id === id)?.url).toBe(url);
    expect(await listed()).toHaveLength(wantedTypes.length);
  });

  test.each<[string, (id: Awaited<ReturnType<typeof idOf>>) => Promise<unknown>]>([
    ['disabled', (id) => webhooks.disable(id)],
    ['deleted', (id) => webhooks.remove(id)],
    ['redirected', (id) => webhooks.update(id, { url: 'http://127.0.0.1:9/elsewhere' })],
    ['retyped', (id) => webhooks.update(id, { type: 'UserEndedCalls' })],
  ])('that was %s is in place again, and the gap is noted with what may be announced late', async (fault, strike) => {
    await ensure();
    await strike(await idOf('AccountEndedCalls'));
    const [, outcome] = await outcomes();
    expect(outcome).toBe(fault === 'deleted' ? 'created' : 'repaired');
    expect(await ofType('AccountEndedCalls')).toMatchObject({
      ...{ enabled: true, url: url.replace('AccountSMS', 'AccountEndedCalls') },
    });
    expect(await reasons()).toEqual([`the webhook subscription of AccountEndedCalls was ${fault}`]);
    expect(await value(`select from_at < noticed_at - interval '4 minutes' from ops.gaps`)).toBe(true);
    const last = `select last_fault from ops.subscription_watch where event_type = 'AccountEndedCalls'`;
    expect(await value(last)).toBe(fault);
    expect(logged()).toContain('somebody had changed it');
  });

  test('that stands twice is reduced, and nothing is missing', async () => {
    await ensure();
    await webhooks.create({ name: 'again', url, type: 'AccountSMS' });
    await ensure();
    expect((await listed()).map(({ enabled }) => enabled)).toEqual([true, true, true, false]);
    expect(await reasons()).toEqual([]);
  });

  test.each([
    ['an hour', 'has checked before', '1 hour', 'no receiver checked the webhook subscriptions'],
    ['a minute', 'begins to check', '1 minute', 'no receiver ran'],
    ['a minute', 'has checked before', '1 minute', undefined],
  ])('that was not checked for %s by a receiver that %s', async (_, receiver, unchecked, reason) => {
    await ensure();
    await query(`update ops.subscription_watch set in_place_at = now() - $1::interval`, unchecked);
    await ensure({ isFirst: receiver === 'begins to check' });
    expect(new Set(await reasons())).toEqual(new Set(reason ? [reason] : []));
  });
});

describe('two receivers with different secrets', () => {
  const secrets = async () => [...new Set((await listed()).map((each) => each.url?.split('/').at(-2)))];
  beforeEach(() => ensure());

  test('of which one knows the other’s as its previous: the move is a rotation, no fault and no gap', async () => {
    const ensured = await ensure({ own: younger, previousSecret: secret });
    expect(ensured.map(({ outcome, faults }) => [outcome, ...faults])).toEqual(all(['repaired']));
    expect(await secrets()).toEqual([younger]);
    expect(await reasons()).toEqual([]);
    expect(await watched('state, last_fault')).toEqual([{ state: 'in_place', last_fault: null }]);
    expect(await outcomes({ own: younger, previousSecret: secret })).toEqual(all('in_place'));
  });

  test('of which none knows the other: each has subscriptions of its own, and is told of the other', async () => {
    expect(await outcomes({ own: younger })).toEqual(all('created'));
    for (const own of [secret, younger, secret]) {
      expect(await outcomes({ own })).toEqual(all('in_place'));
      expect(await watched('other_receivers')).toEqual([{ other_receivers: [`${publicUrl}/hooks`] }]);
    }
    expect(await secrets()).toEqual([secret, younger]);
  });

  test('of which one is told the other’s as its previous: what has the previous one is disabled', async () => {
    await ensure({ own: younger });
    await ensure({ own: younger, previousSecret: secret });
    const isYounger = (await listed()).map(({ url: at, enabled }) => [at?.includes(younger), enabled]);
    expect(isYounger).toEqual([...all([false, false]), ...all([true, true])]);
    expect(await outcomes({ own: younger, previousSecret: secret })).toEqual(all('in_place'));
    expect(await watched('other_receivers')).toEqual([{ other_receivers: [] }]);
  });

  test('that was disabled under the previous secret leaves its gap', async () => {
    await webhooks.disable(await idOf('AccountSMS'));
    await ensure({ own: younger, previousSecret: secret });
    expect(await reasons()).toEqual(['the webhook subscription of AccountSMS was disabled']);
  });

  test('are kept without their secrets, and logged without', async () => {
    await ensure({ own: younger });
    expect(JSON.stringify(await query('select * from ops.subscription_watch'))).not.toContain('secret-of-hooks');
    expect(logged()).toContain('AccountSMS');
    expect(logged()).not.toContain('secret-of-hooks');
  });
});

test('other people’s subscriptions are never touched', async () => {
  const others = ['http://127.0.0.1:9/other', `${url}x`, url.replace(secret, 'somebody-elses')];
  for (const address of others) await create(address);
  await webhooks.disable((await listed())[1]?.id ?? 0);
  const before = await listed();
  await ensure();
  expect((await listed()).slice(0, others.length)).toEqual(before);
});

test('a repair is remembered with its gap, though the service fails on the next one', async () => {
  await ensure();
  await webhooks.disable(await idOf('AccountSMS'));
  await webhooks.remove(await idOf('AccountEndedCalls'));
  sandbox.faults({ kind: 'answer', status: 500, operation: 'createWebhook' });
  await expect(ensure()).rejects.toThrow();
  expect(await reasons()).toEqual(['the webhook subscription of AccountSMS was disabled']);
});

test('one that cannot be created keeps no other from being enabled', async () => {
  await ensure();
  await webhooks.remove(await idOf('AccountSMS'));
  await webhooks.disable(await idOf('AccountEndedCalls'));
  sandbox.faults({ kind: 'answer', status: 500, operation: 'createWebhook' });
  await expect(ensure()).rejects.toThrow('webhooks.create');
  expect((await ofType('AccountEndedCalls')).enabled).toBe(true);
  expect(await reasons()).toEqual(['the webhook subscription of AccountEndedCalls was disabled']);
});

test('a repair whose process dies before it is noted leaves its gap to the next look', async () => {
  await ensure();
  await webhooks.disable(await idOf('AccountSMS'));
  // What is told comes between the repair and its note.
  const warn = () => {
    throw new Error('killed');
  };
  const dying = ensureSubscriptions({ service, db, log: { ...log, warn } as unknown as typeof log, publicUrl, secret });
  await expect(dying).rejects.toThrow('killed');
  expect((await ofType('AccountSMS')).enabled).toBe(true);
  expect(await reasons()).toEqual([]);
  expect(await outcomes()).toEqual(all('in_place'));
  expect(await reasons()).toEqual(['the webhook subscription of AccountSMS was not there']);
});

describe('a service', () => {
  const createsDisabled: Change = {
    passes: (asked) => (isCreate(asked) ? { ...asked.body, enabled: false } : asked.body),
  };

  test('that creates ours disabled has them enabled at once', async () => {
    expect(await outcomes({ asked: await behind(createsDisabled) })).toEqual(all('created'));
    expect((await listed()).map(({ enabled }) => enabled)).toEqual(all(true));
  });

  test('that lets nobody enable them keeps them as ours, and creates no others', async () => {
    const asked = await behind({ ...createsDisabled, refuses: ({ method }) => (method === 'PUT' ? 403 : undefined) });
    for (let time = 0; time < 2; time += 1) expect(await outcomes({ asked })).toEqual(all('to_create_by_hand'));
    expect(await listed()).toHaveLength(wantedTypes.length);
    expect(await watched('is_created_here')).toEqual([{ is_created_here: true }]);
    expect(await outcomes()).toEqual(all('repaired'));
  });

  test.each([400, 405, 501])('that answers a create with %d leaves it to the operator', async (status) => {
    const asked = await behind({ refuses: (each) => (isCreate(each) ? status : undefined) });
    const instruction = 'create it with this type and url';
    for (const each of await ensure({ asked }))
      expect(each).toMatchObject({ outcome: 'to_create_by_hand', toDo: { instruction } });
  });

  test('that has no operation that enables has it left to the operator by its id', async () => {
    await ensure();
    const id = await idOf('AccountSMS');
    await webhooks.disable(id);
    const asked = await behind({ refuses: ({ method }) => (method === 'GET' ? undefined : 405) });
    const instruction = `enable subscription ${id} in its portal`;
    const [first] = await ensure({ asked });
    expect(first).toMatchObject({ outcome: 'to_create_by_hand', toDo: { instruction, needsAddress: false } });
    expect(logged()).toContain(`refused to repair this webhook. You have to ${instruction}`);
  });

  test('at which one at another address cannot be changed has it left to the operator', async () => {
    await ensure();
    const id = await idOf('AccountSMS');
    await webhooks.update(id, { url: 'http://127.0.0.1:9/elsewhere', type: 'UserEndedCalls' });
    const asked = await behind({ refuses: ({ method }) => (method === 'PUT' ? 403 : undefined) });
    const instruction = `give subscription ${id} the type AccountSMS and this url in its portal`;
    expect((await ensure({ asked }))[0]?.toDo).toEqual({ instruction, needsAddress: true });
  });

  test('that answers a create in another shape has it found by its address', async () => {
    sandbox.faults({ kind: 'edit', path: 'data', operation: 'createWebhook', times: wantedTypes.length });
    expect(await outcomes()).toEqual(all('created'));
    sandbox.faults();
    expect(await listed()).toHaveLength(wantedTypes.length);
    expect(await outcomes()).toEqual(all('in_place'));
  });

  test('that writes an address in its own way has the same one', async () => {
    await create('HTTP://127.0.0.1:9/in/hooks/a-secret-of-hooks/AccountSMS/');
    expect((await outcomes())[0]).toBe('in_place');
  });

  test('that does not say whether one is enabled has it in place', async () => {
    await ensure();
    const asked = await behind({
      answers: ({ method }, answer) =>
        method === 'GET' ? { data: (answer.data as object[]).map((row) => ({ ...row, enabled: undefined })) } : answer,
    });
    expect(await outcomes({ asked })).toEqual(all('in_place'));
  });

  test('whose credential may not write has what to create by hand told', async () => {
    expect(await outcomes({ asked: await clientOf('webhooks:read') })).toEqual(all('to_create_by_hand'));
  });

  test('whose credential may not even look has the scope told that it needs, and nothing is changed', async () => {
    const refused = ensure({ asked: await clientOf('reports:read') });
    await expect(refused).rejects.toMatchObject({ advice: 'scope', scope: 'webhooks:read' });
    expect(await listed()).toEqual([]);
  });
});
