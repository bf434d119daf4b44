import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fill, migrated, openReceiver, secret, settingsFor, type TestReceiver } from '../ops/receiver.ts';
import { backends, redisUrlOf } from '../stores/backends.ts';
import { createDatabase, databaseForTest, dropDatabase } from '../stores/databases.ts';

const databaseUrl = await databaseForTest(migrated);

describe.each(backends)('the pages with queues on %s', (backend) => {
  let world: TestReceiver;

  beforeAll(async () => {
    const redisUrl = redisUrlOf(backend);
    world = await openReceiver(settingsFor(databaseUrl, redisUrl ? { REDIS_URL: redisUrl } : {}));
    await fill(world.context.database.db);
    await world.context.queues.enqueue('conversations', [{ kind: 'thread', key: '18005550100/18455550123' }]);
  });
  afterAll(async () => {
    for (const queue of world.context.queues.bull) await queue.obliterate({ force: true });
    await world[Symbol.asyncDispose]();
  });

  test.each(['/', '/api/status', '/metrics'])('%s opens to the admin token alone', async (path) => {
    expect((await fetch(`${world.receiver.url}${path}`)).status).toBe(401);
    const basic = { authorization: `Basic ${btoa('anyone:wrong-password')}` };
    expect((await fetch(`${world.receiver.url}${path}`, { headers: basic })).status).toBe(401);
    expect((await world.get(path)).status).not.toBe(401);
  });

  test('the page shows the snapshot, with numbers masked and what was received escaped', async () => {
    const answer = await world.get('/');
    const page = await answer.text();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(page).toContain('Transcripts are not read: the API key lacks the scope recordings:read.');
    expect(page).toContain('refused for …0123');
    expect(page).not.toMatch(/18005550100|18455550123|what was said|alert\(1\)/);
  });

  test('the page runs no script but its own, and no other page can frame it', async () => {
    const policy = (await world.get('/')).headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/default-src 'none'.*script-src 'sha256-[^']+'/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
  });

  test('the JSON begins with the verdict', async () => {
    const status = (await (await world.get('/api/status')).json()) as Record<string, unknown>;
    expect(status).toMatchObject({ verdict: { level: 'problem' }, queues: { value: { backend } } });
    expect(JSON.stringify(status)).not.toMatch(/18005550100|18455550123/);
  });

  test('a scrape counts what all processes share', async () => {
    const metrics = await (await world.get('/metrics')).text();
    expect(metrics).toContain('trunkline_targets{kind="call",state="due"} 1');
    expect(metrics).toContain('trunkline_targets{kind="thread",state="failing"} 1');
    expect(metrics).toMatch(/trunkline_oldest_due_seconds\{kind="call"\} [2-9]\d/);
    expect(metrics).toContain('trunkline_queue_waiting{queue="conversations"} 1');
  });

  test('deliveries of any content type are taken beside the pages', async () => {
    const answer = await fetch(`${world.receiver.url}/hooks/${secret}/AccountSMS`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-unheard-of' },
      body: 'not JSON',
    });
    expect(answer.status).toBe(202);
  });
});

test('without Postgres the page is one clear sentence, and metrics keep what they last told beside database_up 0', async () => {
  const url = new URL(databaseUrl);
  const name = `test_outage_${process.pid}`;
  const gone = await createDatabase(name, {});
  await migrated(gone);
  await using world = await openReceiver(settingsFor(gone));
  expect(url.host).toBe(new URL(gone).host);
  expect((await world.get('/')).status).toBe(200);
  const before = await (await world.get('/metrics')).text();
  expect(before).toContain('trunkline_database_up 1');
  expect(before).toContain('trunkline_targets{kind="call",state="due"} 0');
  await dropDatabase(name);
  // The page is shared for a second; the outage shows as soon as it is asked for again.
  await expect.poll(async () => (await world.get('/api/status')).status).toBe(503);
  const answer = await world.get('/');
  expect(answer.status).toBe(503);
  expect(await answer.text()).toMatch(
    /<h1>Postgres has no such database \([^<]*\)\. Create the database that DATABASE_URL names\.<\/h1>/,
  );
  const metrics = await world.get('/metrics');
  expect(metrics.status).toBe(200);
  const text = await metrics.text();
  expect(text).toContain('process_cpu_user_seconds_total');
  expect(text).toContain('trunkline_database_up 0');
  expect(text).toContain('trunkline_targets{kind="call",state="due"} 0');
});
