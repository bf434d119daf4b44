import { afterAll, expect, test } from 'vitest';
import { migratedDatabase } from '../../world/database.ts';
import { fill, openReceiver, settingsFor } from '../receiver.ts';

const database = await migratedDatabase();
const { db } = database;
const world = await openReceiver(settingsFor(database.url));
await fill(db);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const page = async (path: string) => (await world.get(path)).text();
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
