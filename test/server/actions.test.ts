import { afterAll, describe, expect, test } from 'vitest';
import { actions } from '../../src/actions/actions.ts';
import { createContext } from '../../src/context.ts';
import { registerPages } from '../../src/server/pages.ts';
import { createReceiver } from '../../src/server/receiver.ts';
import { migratedDatabase } from '../world/database.ts';
import { captureLog } from '../world/log.ts';
import { adminToken, settingsFor } from './receiver.ts';

const database = await migratedDatabase();
const { query, value } = database;
const { log, text: logged } = captureLog();
const settings = settingsFor(database.url);
const context = await createContext(settings, { log, name: 'test', maxConnections: 3 });
const receiver = await createReceiver(context, (app) => registerPages(app, context));
afterAll(async () => {
  await receiver.close();
  await context[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const bearer = { authorization: `Bearer ${adminToken}` };
const page = async (path: string) => (await fetch(`${receiver.url}${path}`, { headers: bearer })).text();

describe('an action', () => {
  const pause = (headers: Record<string, string>, path = '/do/sends/pause') => {
    const body = new URLSearchParams({ who: 'Lea' });
    return fetch(`${receiver.url}${path}`, { method: 'POST', redirect: 'manual', headers, body });
  };
  const basic = { authorization: `Basic ${btoa(`pat:${adminToken}`)}` };
  const isPaused = () => value('select is_paused from ops.send_control');

  test.each<[string, Record<string, string>, number]>([
    ['nobody who has signed in', { authorization: '' }, 401],
    ['another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['another host of this site', { 'sec-fetch-site': 'same-site' }, 403],
    ['another origin', { origin: 'https://elsewhere.example' }, 403],
    ['no page at all', {}, 403],
    ['a page that hides its origin', { origin: 'null' }, 403],
  ])('is refused when it comes from %s', async (_, headers, status) => {
    const answer = await pause({ ...basic, ...headers });
    expect(answer.status).toBe(status);
    if (status === 403) expect(await answer.text()).toContain('This came from another site');
    expect(await isPaused()).toBe(false);
  });

  test.each([
    ['its own page', { ...basic, 'sec-fetch-site': 'same-origin' }],
    ['its own origin, over plain HTTP', { ...basic, origin: receiver.url }],
    ['a program with a bearer token', bearer],
  ])('from %s is done, and the page says so', async (_, headers) => {
    await query('update ops.send_control set is_paused = false');
    const answer = await pause(headers);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/sends?done=sends/pause']);
    expect(await isPaused()).toBe(true);
    expect(await page('/sends?done=sends/pause')).toContain('All texts are paused.');
    expect(await page('/sends?done=constructor')).not.toContain('class="done"');
  });

  test.each([
    ['/do/sends/cancel?id=11111111-1111-4111-8111-111111111111', 409],
    ['/do/sends/cancel?id=1', 400],
    ['/do/events/replay?id=999', 409],
    ['/do/resync?kind=thread&key=1/2', 400],
    ['/do/sends/approve?id=11111111-1111-4111-8111-111111111111&text=%20', 400],
    ['/do/rules/rollback?version=99999999999&why=x', 400],
    ['/do/events/replay?since=-200000-01-01', 400],
    ['/do/opt-outs/confirm?number=somebody&seen=1', 400],
    ['/do/opt-outs/confirm?number=18455550144&seen=9000000000000000', 400],
    ['/do/sends/vanish', 404],
  ])('that %s asks for is answered %i', async (path, status) => {
    expect((await pause(bearer, path)).status).toBe(status);
  });

  test.each([
    ['sends pause', { why: 'x'.repeat(501) }, 'The reason has more than 500 characters.'],
    ['rules rollback', { version: 1, why: 'x'.repeat(501) }, 'The reason has more than 500 characters.'],
    ['rules rollback', { version: -1, why: 'x' }, 'A version is a whole number.'],
  ])('%s refuses %j in words', (name, given, sentence) => {
    const parsed = actions.find((each) => each.name === name)?.args.safeParse(given);
    expect(parsed?.error?.issues.map(({ message }) => message)).toEqual([sentence]);
  });

  const needy = actions.filter(({ args, isSigned }) => isSigned || !args.safeParse({}).success);
  test.each(needy.map(({ name }) => name))(
    '%s has an address, which does nothing without its arguments',
    async (name) => {
      const path = `/do/${name.replace(' ', '/')}`;
      expect((await fetch(`${receiver.url}${path}`, { method: 'POST' })).status).toBe(401);
      const answer = await fetch(`${receiver.url}${path}`, { method: 'POST', headers: bearer });
      expect((await answer.json()) as object).toHaveProperty('error');
      expect(answer.status).toBeOneOf([400, 409]);
    },
  );

  test('that no page has a button for is for programs', async () => {
    const answer = await pause(bearer, '/do/resync?kind=thread&key=18005550100/18455550123');
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/targets?done=resync']);
    expect(await value('select key from ops.sync_targets')).toBe('18005550100/18455550123');
  });

  test('is logged with who asked for it, and so is one that was refused', async () => {
    const before = logged().length;
    await pause({ ...basic, 'sec-fetch-site': 'same-origin' });
    await pause({ ...basic, 'sec-fetch-site': 'cross-site' });
    const lines = logged().slice(before).split('\n');
    const done = JSON.parse(lines.find((each) => each.includes('A page changed something')) ?? '{}');
    expect(done).toMatchObject({ signIn: 'basic', user: 'pat', action: 'sends pause', page: '/sends' });
    expect(done.address).toMatch(/127\.0\.0\.1|::1/);
    const refused = lines.find((each) => each.includes('from another site was refused')) ?? '{}';
    expect(JSON.parse(refused)).toMatchObject({ user: 'pat' });
    expect(lines.join()).not.toContain(adminToken);
  });
});
