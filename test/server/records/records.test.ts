import { afterAll, describe, expect, test } from 'vitest';
import { adminToken, fill, openReceiver, settingsFor } from '../../ops/receiver.ts';
import { migratedDatabase } from '../../world/database.ts';

const database = await migratedDatabase();
const { db, value } = database;
const world = await openReceiver(settingsFor(database.url));
const [line, number] = ['18005550100', '18455550123'];
await fill(db);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const page = async (path: string) => (await world.get(path)).text();
const post = (path: string) =>
  fetch(`${world.receiver.url}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { authorization: `Bearer ${adminToken}` },
  });
describe('a read', () => {
  const path = `/targets/thread/${line}/${number}`;

  test('says why it fails, masked, and what comes next', async () => {
    const markup = await page(path);
    expect(markup).toContain('<span class="state">failing</span>. The newest read failed.');
    expect(markup).toContain('refused for …0123');
    expect((await world.get('/targets/thread/1/2')).status).toBe(404);
    expect((await world.get('/targets/unheard/1')).status).toBe(404);
  });

  test('is retried at once, in spite of its back-off', async () => {
    const answer = await post(path);
    expect(answer.headers.get('location')).toBe(`${path}?done=retry`);
    expect(await value(`select due_at <= now() from ops.sync_targets where kind = 'thread'`)).toBe(true);
    expect((await post('/targets/thread/1/2')).status).toBe(404);
  });
});

test('the status page leads to the rows behind its numbers', async () => {
  const markup = await page('/');
  for (const path of ['/deliveries?type=AccountSMS&amp;span=day', '/targets?kind=thread&amp;state=failing']) {
    expect(markup).toContain(`href="${path}"`);
  }
  const links = new Set(
    [...markup.matchAll(/<main.*<\/main>/gs)].flatMap(([main]) =>
      [...main.matchAll(/href="(\/[^"]*)"/g)].map(([, path]) => path),
    ),
  );
  for (const path of links) {
    const answer = await world.get((path ?? '').replaceAll('&amp;', '&'));
    expect(answer.status, path).toBe(200);
    await answer.text();
  }
});
