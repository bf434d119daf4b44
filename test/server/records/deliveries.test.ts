import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createContext } from '../../../src/context.ts';
import { query, sql } from '../../../src/db/database.ts';
import { registerPages } from '../../../src/server/pages.ts';
import { createReceiver } from '../../../src/server/receiver.ts';
import { adminToken, fill, migrated, openReceiver, settingsFor, type TestReceiver } from '../../ops/receiver.ts';
import { databaseForTest } from '../../stores/databases.ts';
import { captureLog } from '../../world/log.ts';

const databaseUrl = await databaseForTest(migrated);
let world: TestReceiver;

beforeAll(async () => {
  world = await openReceiver(settingsFor(databaseUrl, { TIME_ZONE: 'Asia/Kolkata' }));
  await fill(world.context.database.db);
  const { db } = world.context.database;
  const body = { message_id: 1234567890, from: 18455550123, message: 'Where is it?', status: 'sent' };
  await query(db, sql`truncate ops.deliveries restart identity`);
  // In the order of their arrival, as the receiver stores them.
  await query(
    db,
    sql`insert into ops.deliveries (event_type, content_type, body, targets, is_recognized, received_at) values
      ('AccountSMS', 'application/json', ${JSON.stringify(body)}, '{"thread 18005550100/18455550123"}', true, now() - interval '40 days'),
      ('AccountSMS', null, 'what was said', '{"thread 18005550100/18455550123"}', true, now() - interval '3 hours'),
      ('AccountSMS', null, 'what was said', '{"thread 18005550100/18455550123"}', true, now() - interval '90 seconds'),
      ('AccountEndedCalls', null, '<script>alert(1)</script>', '{}', false, now())`,
  );
});
afterAll(() => world[Symbol.asyncDispose]());

const page = async (path: string) => (await world.get(path)).text();
const rowsOf = (markup: string) => markup.match(/<tbody>.*<\/tbody>/s)?.[0].match(/<tr>/g)?.length ?? 0;

describe('the list of deliveries', () => {
  test('shows those of the span, newest first, with numbers masked and each with its page', async () => {
    const markup = await page('/deliveries');
    expect(rowsOf(markup)).toBe(3);
    expect(markup).toContain('<a href="/deliveries/4">4</a>');
    expect(markup).toContain('…0100/…0123');
    expect(markup).not.toMatch(/18455550123|what was said/);
    expect(rowsOf(await page('/deliveries?span=all'))).toBe(4);
    expect(rowsOf(await page('/deliveries?span=hour'))).toBe(2);
  });

  test.each([
    ['type=AccountEndedCalls', 1],
    ['type=none', 0],
    ['recognized=no', 1],
    ['target=18005550100%2F(845)+555-0123', 2],
    ['target=1783385492.057900', 0],
    ['from=2020-01-01&to=2020-02-01', 0],
  ])('filters by %s', async (parameters, found) => {
    expect(rowsOf(await page(`/deliveries?${parameters}`))).toBe(found);
  });

  test('takes days of TIME_ZONE', async () => {
    const { db } = world.context.database;
    const [row] = await query(
      db,
      sql<{ day: string; time: string }>`select to_char(received_at at time zone 'Asia/Kolkata', 'YYYY-MM-DD') as day,
        to_char(received_at at time zone 'Asia/Kolkata', 'YYYY-MM-DD HH24:MI:SS') as time from ops.deliveries where delivery_id = 1`,
    );
    const markup = await page(`/deliveries?from=${row?.day}&to=${row?.day}`);
    expect(rowsOf(markup)).toBe(1);
    expect(markup).toContain(row?.time);
  });

  test('says what comes next when nothing is there', async () => {
    expect(await page('/deliveries?target=1783385492.057900')).toContain('No row fits these filters.');
    expect(await page('/deliveries?type=none')).toContain('Show all that is kept');
  });

  test.each([
    ['/deliveries?type=Unheard', 'type must be one of'],
    ['/deliveries?target=call', 'target must be a call id'],
    ['/deliveries?span=year', 'span must be one of'],
    ['/deliveries?from=2026-02-30', 'from must be a day'],
    ['/deliveries?from=2026-02-03&to=2026-02-01', 'The first day must not be after the last day.'],
    ['/deliveries?page=0', 'page must be a number'],
    ['/deliveries?type=a&type=b', 'type stands twice'],
    ['/deliveries.csv?span=year', 'span must be one of'],
  ])('%s is answered 400 with a sentence', async (path, sentence) => {
    const answer = await world.get(path);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(sentence);
  });

  test('comes as CSV, with keys in full', async () => {
    const answer = await world.get('/deliveries.csv?span=all');
    expect(answer.headers.get('content-type')).toMatch(/^text\/csv/);
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="deliveries.csv"');
    const lines = (await answer.text()).trimEnd().split('\r\n');
    expect(lines).toHaveLength(5);
    expect(lines[0]).toBe('delivery_id,received_local,received_at,event_type,claimed_type,targets,recognized,bytes');
    expect(lines[4]).toContain('thread 18005550100/18455550123');
  });
});

describe('the page of a delivery', () => {
  test('has its body without words and numbers, until words are shown', async () => {
    const hidden = await page('/deliveries/1');
    expect(hidden).toContain('(12 characters, hidden)');
    expect(hidden).toContain('&quot;message_id&quot;: 1234567890');
    expect(hidden).toContain('&quot;from&quot;: &quot;…0123&quot;');
    expect(hidden).toContain('&quot;status&quot;: &quot;sent&quot;');
    expect(hidden).not.toContain('Where is it?');
    const { db } = world.context.database;
    await query(db, sql`update reporting.params set is_text_shown = true`);
    try {
      expect(await page('/deliveries/1')).toContain('Where is it?');
    } finally {
      await query(db, sql`update reporting.params set is_text_shown = false`);
    }
  });

  test('is a sentence when there is none', async () => {
    for (const id of ['999', 'x', '0', '99999999999999999999']) {
      expect((await world.get(`/deliveries/${id}`)).status, id).toBe(404);
    }
  });
});

describe('a replay', () => {
  const replay = (headers: Record<string, string>, id = '1') =>
    fetch(`${world.receiver.url}/deliveries/${id}/replay`, { method: 'POST', redirect: 'manual', headers });
  const basic = { authorization: `Basic ${btoa(`pat:${adminToken}`)}` };
  const dirty = async () => {
    const [row] = await query(
      world.context.database.db,
      sql<{ version: string }>`select dirty_version as version from ops.sync_targets where kind = 'thread'`,
    );
    return Number(row?.version);
  };

  test('needs the admin token', async () => {
    expect((await replay({})).status).toBe(401);
  });

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of this site', { 'sec-fetch-site': 'same-site' }],
    ['another origin', { origin: 'https://elsewhere.example' }],
    ['no page at all', {}],
    ['a page that hides its origin', { origin: 'null' }],
  ])('is refused when it comes from %s', async (_, headers) => {
    const before = await dirty();
    const answer = await replay({ ...basic, ...headers } as Record<string, string>);
    expect(answer.status).toBe(403);
    expect(await answer.text()).toContain('This came from another site');
    expect(await dirty()).toBe(before);
  });

  test.each([
    ['its own page', () => ({ ...basic, 'sec-fetch-site': 'same-origin' })],
    ['its own origin, over plain HTTP', () => ({ ...basic, origin: world.receiver.url })],
    ['a program with a bearer token', () => ({ authorization: `Bearer ${adminToken}` })],
  ])('from %s marks its targets dirty, and the page says so', async (_, headers) => {
    await query(
      world.context.database.db,
      sql`update ops.sync_targets set clean_version = dirty_version, claimed_version = dirty_version where kind = 'thread'`,
    );
    const before = await dirty();
    const answer = await replay(headers());
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe('/deliveries/1?done=replay');
    expect(await dirty()).toBe(before + 1);
    expect(await page('/deliveries/1?done=replay')).toContain('What it points at will be read again.');
    expect(await page('/deliveries/1?done=constructor')).not.toContain('class="done"');
  });

  test('of what is not there is answered 404', async () => {
    expect((await replay({ authorization: `Bearer ${adminToken}` }, '999')).status).toBe(404);
  });

  test('is logged with who asked for it, and so is one that was refused', async () => {
    const captured = captureLog();
    await using context = await createContext(settingsFor(databaseUrl), {
      log: captured.log,
      name: 'test',
      maxConnections: 3,
    });
    const receiver = await createReceiver(context, (app) => registerPages(app, context));
    const path = `${receiver.url}/deliveries/2/replay`;
    await fetch(path, { method: 'POST', redirect: 'manual', headers: { ...basic, 'sec-fetch-site': 'same-origin' } });
    await fetch(path, { method: 'POST', redirect: 'manual', headers: { ...basic, 'sec-fetch-site': 'cross-site' } });
    await query(
      context.database.db,
      sql`insert into ops.sync_targets (kind, key) values ('thread', '18005550100/18455550123') on conflict do nothing`,
    );
    const thread = `${receiver.url}/targets/thread/18005550100/18455550123`;
    await fetch(thread, { method: 'POST', redirect: 'manual', headers: { authorization: `Bearer ${adminToken}` } });
    await receiver.close();
    const lines = captured.text().split('\n');
    const done = lines.find((each) => each.includes('A page changed something')) ?? '{}';
    expect(JSON.parse(done)).toMatchObject({ signIn: 'basic', user: 'pat', action: 'replay', page: '/deliveries/2' });
    expect(JSON.parse(done).address).toMatch(/127\.0\.0\.1|::1/);
    const refused = lines.find((each) => each.includes('from another site was refused')) ?? '{}';
    expect(JSON.parse(refused)).toMatchObject({ user: 'pat' });
    expect(captured.text()).toContain('/targets/thread/…0100/…0123');
    expect(captured.text()).not.toMatch(new RegExp(`${adminToken}|18455550123`));
  });
});
