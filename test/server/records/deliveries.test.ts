import { afterAll, describe, expect, test } from 'vitest';
import { createContext } from '../../../src/context.ts';
import { registerPages } from '../../../src/server/pages.ts';
import { createReceiver } from '../../../src/server/receiver.ts';
import { adminToken, fill, settingsFor } from '../../ops/receiver.ts';
import { migratedDatabase } from '../../world/database.ts';
import { captureLog } from '../../world/log.ts';

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

await fill(context.database.db);
await query('truncate ops.deliveries restart identity');
// In the order of their arrival, as the receiver stores them.
await query(
  `insert into ops.deliveries (event_type, content_type, body, targets, is_recognized, received_at) values
    ('AccountSMS', 'application/json', $1, '{"thread 18005550100/18455550123"}', true, now() - interval '40 days'),
    ('AccountSMS', null, 'what was said', '{"thread 18005550100/18455550123"}', true, now() - interval '3 hours'),
    ('AccountSMS', null, 'what was said', '{"thread 18005550100/18455550123"}', true, now() - interval '90 seconds'),
    ('AccountEndedCalls', null, '<script>alert(1)</script>', '{}', false, now())`,
  JSON.stringify({ message_id: 1234567890, from: 18455550123, message: 'Where is it?', status: 'sent' }),
);

const bearer = { authorization: `Bearer ${adminToken}` };
const get = (path: string) => fetch(`${receiver.url}${path}`, { headers: bearer });
const page = async (path: string) => (await get(path)).text();

test('the page of a delivery has its body, laid out, and what it points at', async () => {
  const words = (await page('/deliveries/1')).replaceAll('&quot;', '"');
  for (const part of ['"message": "Where is it?"', '/targets/thread/18005550100/18455550123'])
    expect(words).toContain(part);
});

test.each(['999', 'x', '0', '99999999999999999999'])('delivery %s is a sentence, since there is none', async (id) => {
  expect((await get(`/deliveries/${id}`)).status).toBe(404);
});

describe('a replay', () => {
  const post = (path: string, headers: Record<string, string>) =>
    fetch(`${receiver.url}${path}`, { method: 'POST', redirect: 'manual', headers });
  const replay = (headers: Record<string, string>, id = '1') => post(`/deliveries/${id}/replay`, headers);
  const basic = { authorization: `Basic ${btoa(`pat:${adminToken}`)}` };
  const dirty = async () => Number(await value(`select dirty_version from ops.sync_targets where kind = 'thread'`));

  test.each<[string, Record<string, string>, number]>([
    ['nobody who has signed in', { authorization: '' }, 401],
    ['another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['another host of this site', { 'sec-fetch-site': 'same-site' }, 403],
    ['another origin', { origin: 'https://elsewhere.example' }, 403],
    ['no page at all', {}, 403],
    ['a page that hides its origin', { origin: 'null' }, 403],
  ])('is refused when it comes from %s', async (_, headers, status) => {
    const before = await dirty();
    const answer = await replay({ ...basic, ...headers });
    expect(answer.status).toBe(status);
    if (status === 403) expect(await answer.text()).toContain('This came from another site');
    expect(await dirty()).toBe(before);
  });

  test.each([
    ['its own page', { ...basic, 'sec-fetch-site': 'same-origin' }],
    ['its own origin, over plain HTTP', { ...basic, origin: receiver.url }],
    ['a program with a bearer token', bearer],
  ])('from %s marks its targets dirty, and the page says so', async (_, headers) => {
    await query(
      `update ops.sync_targets set clean_version = dirty_version, claimed_version = dirty_version where kind = 'thread'`,
    );
    const before = await dirty();
    const answer = await replay(headers);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/deliveries/1?done=replay']);
    expect(await dirty()).toBe(before + 1);
    expect(await page('/deliveries/1?done=replay')).toContain('What it points at will be read again.');
    expect(await page('/deliveries/1?done=constructor')).not.toContain('class="done"');
  });

  test('of what is not there is answered 404', async () => {
    expect((await replay(bearer, '999')).status).toBe(404);
  });

  test('is logged with who asked for it, and so is one that was refused', async () => {
    const before = logged().length;
    await replay({ ...basic, 'sec-fetch-site': 'same-origin' }, '2');
    await replay({ ...basic, 'sec-fetch-site': 'cross-site' }, '2');
    await post('/targets/thread/18005550100/18455550123', bearer);
    const lines = logged().slice(before).split('\n');
    const done = JSON.parse(lines.find((each) => each.includes('A page changed something')) ?? '{}');
    expect(done).toMatchObject({ signIn: 'basic', user: 'pat', action: 'replay', page: '/deliveries/2' });
    expect(done.address).toMatch(/127\.0\.0\.1|::1/);
    const refused = lines.find((each) => each.includes('from another site was refused')) ?? '{}';
    expect(JSON.parse(refused)).toMatchObject({ user: 'pat' });
    expect(lines.join()).toContain('/targets/thread/…0100/…0123');
    expect(lines.join()).not.toMatch(new RegExp(`${adminToken}|18455550123`));
  });
});
