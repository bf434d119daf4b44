import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ensureSubscriptions } from '../../../src/sync/subscriptions/ensure.ts';
import { trunkline } from '../../credentials/commands.ts';
import { captureLog } from '../../world/log.ts';
import { openAccount } from './account.ts';
import { type Change, openDoor } from './door.ts';

const { database, sandbox, service, behind } = await openAccount();
beforeEach(() => database.query('truncate ops.gaps, ops.subscription_watch, ops.processes'));

const publicUrl = 'http://127.0.0.1:9/in';
const secret = 'A-Secret-Of-Hooks';
const gaps = () => database.value('select count(*)::integer from ops.gaps');
const stored = async () => (await service.webhooks.list()).data;

interface Row {
  readonly url: string;
}

/** Shows each address in its own way, in lists or also in answers to writes. */
function shownAs(show: (row: Row) => object, isInListsAlone = false): NonNullable<Change['answers']> {
  return ({ path }, answer) => {
    if (path === '/webhooks/types') return answer;
    const { data } = answer as { data: Row | Row[] };
    if (Array.isArray(data)) return { ...answer, data: data.map(show) };
    return isInListsAlone ? answer : { ...answer, data: show(data) };
  };
}

async function showing(show: (row: Row) => object, isInListsAlone = false) {
  const { log, text } = captureLog();
  let puts = 0;
  const shown = shownAs(show, isInListsAlone);
  const answers: Change['answers'] = (asked, answer) => {
    if (asked.method === 'PUT') puts += 1;
    return shown(asked, answer);
  };
  const asked = await behind({ answers }, log);
  const look = async (own = secret, previousSecret?: string) =>
    (await ensureSubscriptions({ service: asked, db: database.db, log, publicUrl, secret: own, previousSecret })).map(
      ({ outcome }) => outcome,
    );
  return { look, logged: text, puts: () => puts };
}

const all = (outcome: string) => Array(3).fill(outcome);
const masked = (row: Row) => ({ ...row, url: row.url.replace(/hooks\/[^/]+/, 'hooks/****') });
const hidden = (row: Row) => ({ ...row, url: undefined });

describe.each([
  ['with the secret masked', masked, false],
  ['with the secret masked in its lists', masked, true],
  ['in lower case', (row: Row) => ({ ...row, url: row.url.toLowerCase() }), false],
  ['as https', (row: Row) => ({ ...row, url: row.url.replace('http:', 'https:') }), false],
  ['nowhere', hidden, false],
  ['nowhere in its lists', hidden, true],
])('a service that shows an address %s', (_how, show, isInListsAlone) => {
  test('has ours in place after they were created', async () => {
    const { look, puts } = await showing(show, isInListsAlone);
    expect(await look()).toEqual(all('created'));
    for (let each = 0; each < 3; each += 1) expect(await look()).toEqual(all('in_place'));
    expect(puts()).toBe(0);
    expect(await gaps()).toBe(0);
    expect(await database.value('select count(*)::integer from warehouse.webhook_subscriptions where is_ours')).toBe(3);
  });

  test('has one that was disabled enabled, once', async () => {
    const { look, puts } = await showing(show, isInListsAlone);
    await look();
    const [first] = await stored();
    await service.webhooks.disable(first?.id ?? 0);
    expect((await look()).toSorted()).toEqual(['in_place', 'in_place', 'repaired']);
    expect(await look()).toEqual(all('in_place'));
    expect(puts()).toBe(1);
  });

  test('has ours moved from the previous secret to the present one, once', async () => {
    const { look, puts } = await showing(show, isInListsAlone);
    await look();
    expect(await look('A-Younger-Secret', secret)).toEqual(all('repaired'));
    expect((await stored()).every(({ url }) => url?.includes('/A-Younger-Secret/'))).toBe(true);
    expect(await look('A-Younger-Secret', secret)).toEqual(all('in_place'));
    expect(puts()).toBe(3);
    expect(await gaps()).toBe(0);
  });

  test('has ours left to the receiver that came last', async () => {
    const { look } = await showing(show, isInListsAlone);
    await look();
    await look('A-Younger-Secret');
    await expect(look()).rejects.toMatchObject({ code: 'receivers_differ' });
    expect(await look('A-Younger-Secret')).toEqual(all('in_place'));
  });
});

test.each([
  ['with the secret masked', masked],
  ['nowhere', hidden],
])('the commands know ours where the service shows an address %s', async (_how, show) => {
  const door = await openDoor(sandbox.url, { answers: shownAs(show) });
  onTestFinished(() => door.close());
  const theirs = await service.webhooks.create({ name: 'T', url: 'http://127.0.0.1:9/theirs', type: 'AccountSMS' });
  const environment = {
    ...{ DATABASE_URL: database.url, API_BASE_URL: door.url, API_KEY: sandbox.apiKey },
    ...{ PUBLIC_URL: publicUrl, WEBHOOK_SECRET: secret },
  };
  const run = async (...words: string[]) => {
    const command = trunkline(environment, 'subscriptions', ...words);
    return { code: await command.ended, said: command.out() + command.err() };
  };
  expect(await run('ensure')).toMatchObject({ code: 0 });
  const listed = JSON.parse((await run('list', '--json')).said) as { id: number; ours: boolean }[];
  expect(listed.map(({ id, ours }) => [id === theirs.data.id, ours]).sort()).toEqual([
    ...Array(3).fill([false, true]),
    [true, false],
  ]);
  const [first] = listed.filter(({ ours }) => ours);
  expect(await run('remove', String(first?.id))).toMatchObject({ code: 0 });
  expect(await run('remove', String(theirs.data.id))).toMatchObject({
    code: 1,
    said: expect.stringContaining('--yes'),
  });
});

test('the way in which a service shows ours is said once, and without the secret', async () => {
  const { look, logged } = await showing((row) => ({ ...row, url: row.url.toLowerCase() }));
  await look();
  await look();
  expect(logged().split('in a way of its own')).toHaveLength(4);
  expect(logged().toLowerCase()).not.toContain(secret.toLowerCase());
});

test('what was remembered of one is no excuse for another address', async () => {
  const { look } = await showing(masked);
  await look();
  const [first] = await stored();
  await service.webhooks.update(first?.id ?? 0, { url: 'http://127.0.0.1:9/elsewhere' });
  expect((await look()).toSorted()).toEqual(['in_place', 'in_place', 'repaired']);
  expect(await look()).toEqual(all('in_place'));
});

test('a service that keeps an address at another host has not taken ours', async () => {
  const { look } = await showing((row) => row);
  await look();
  const elsewhere = await showing((row) => ({ ...row, url: 'http://elsewhere.example/hook' }));
  for (let each = 0; each < 2; each += 1) expect(await elsewhere.look()).toEqual(all('to_create_by_hand'));
  expect(await gaps()).toBe(0);
});
