import { afterAll, describe, expect, test } from 'vitest';
import { fill, migrated, openReceiver, settingsFor } from '../../ops/receiver.ts';
import { databaseForTest } from '../../stores/databases.ts';
import { listPaths, recordPaths, strangersWrote } from '../seed.ts';

/* What every list and every record promises, whatever strangers wrote. */

const world = await openReceiver(settingsFor(await databaseForTest(migrated)));
await fill(world.context.database.db);
await strangersWrote(world.context.database.db);
afterAll(() => world[Symbol.asyncDispose]());

const filesOf = (kind: string) => listPaths.map((path) => path.replace(/$|(?=\?)/, `.${kind}`));

describe.each([...listPaths, ...filesOf('csv'), ...filesOf('json'), ...recordPaths])('%s', (path) => {
  test('opens to the admin token alone, is stored nowhere, and shows what strangers wrote as text', async () => {
    expect((await fetch(`${world.receiver.url}${path}`)).status).toBe(401);
    const answer = await world.get(path);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('referrer-policy')).toBe('same-origin');
    expect(answer.headers.get('content-security-policy')).not.toContain('unsafe');
    const text = await answer.text();
    if (path.includes('.json')) {
      expect(JSON.stringify(JSON.parse(text))).toContain('=1+1<script>');
    } else if (path.includes('.csv')) {
      expect(text).toContain("'=1+1");
      expect(text).not.toMatch(/(^|[,;\t\r\n]"?)=1\+1/);
    } else {
      if (path !== recordPaths.at(-1)) expect(text).toContain('=1+1&lt;script&gt;alert(1)');
      expect(text).not.toContain('<script>alert');
      expect(text).not.toContain('\u202e');
    }
  });
});

test('a list leads from page to page, and counts all rows', async () => {
  const first = await (await world.get('/deliveries?span=all')).text();
  expect(first).toContain('101 rows');
  const [, older = ''] = /href="([^"]+)" rel="next">Older/.exec(first) ?? [];
  const second = await (await world.get(older.replaceAll('&amp;', '&'))).text();
  expect(second).toContain('101 – 101 of 101');
  expect(second).toContain('rel="prev">Newer');
  expect(second).not.toContain('rel="next"');
});
