import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { query } from '../../../src/db/database.ts';
import { belongingOf, type LinkKind } from '../../../src/warehouse/links.ts';
import { databaseForTest } from '../../stores/databases.ts';
import { migrated, openReceiver, settingsFor, type TestReceiver } from '../receiver.ts';

/* Recordings and files of texts, which the server fetches by their sealed links and passes on. */

const call = '1795475360.101';
const asked: (string | undefined)[] = [];
/** What the service answers, by path: with ranges, as a media server does. */
const service = createServer(({ url = '', headers }, response) => {
  asked.push(headers.authorization);
  const [, type = '', status = '200'] = /^\/([\w-]+\.[\w+-]+)(?:\/(\d+))?/.exec(url) ?? [];
  const content = { 'content-type': type.replace('.', '/'), 'accept-ranges': 'bytes' };
  if (status !== '200') return response.writeHead(Number(status), { location: 'file:///etc/hosts' }).end('no');
  if (url.endsWith('broken')) return response.writeHead(200, content).write('abc', () => response.destroy());
  if (headers.range !== 'bytes=2-3') return response.writeHead(200, { ...content, 'content-length': 6 }).end('abcdef');
  return response.writeHead(206, { ...content, 'content-range': 'bytes 2-3/6', 'content-length': 2 }).end('cd');
});
let world: TestReceiver;
let linkTo: (path: string) => string;

beforeAll(async () => {
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const { port } = service.address() as { port: number };
  linkTo = (path) => `http://127.0.0.1:${port}/${path}`;
  world = await openReceiver(settingsFor(await databaseForTest(migrated), { ENCRYPTION_KEY: 'k'.repeat(40) }));
});
afterAll(async () => {
  service.close();
  await world[Symbol.asyncDispose]();
});

/** Stores a link as a read does, and asks for what is behind it. */
async function opened(kind: LinkKind, owner: string, url: string, headers: Record<string, string> = {}) {
  const part = String(++parts);
  const sealed = world.context.sealer?.seal(url, belongingOf(kind, { owner, part }));
  await query(
    world.context.database.db,
    'insert into secrets.links (kind, owner, part, link) values ($1, $2, $3, $4)',
    [...[kind, owner, part, sealed]],
  );
  const path =
    kind === 'file' ? `/threads/files/${owner.replace('/', '-')}/${part}` : `/calls/${owner}/recordings/${part}`;
  return world.get(path, { headers });
}
let parts = 0;

test('a recording is streamed with its type, and without a credential of ours', async () => {
  asked.length = 0;
  const answer = await opened('recording', call, linkTo('audio.mpeg'));
  expect([answer.status, await answer.text()]).toEqual([200, 'abcdef']);
  expect(answer.headers.get('content-type')).toBe('audio/mpeg');
  expect(answer.headers.get('cache-control')).toContain('no-store');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(asked).toEqual([undefined]);
});

test('a player may ask for a range', async () => {
  const answer = await opened('recording', call, linkTo('audio.mpeg'), { range: 'bytes=2-3' });
  expect([answer.status, await answer.text()]).toEqual([206, 'cd']);
  expect(answer.headers.get('content-range')).toBe('bytes 2-3/6');
});

test('an answer that breaks off ends the player, and nothing else', async () => {
  const answer = await opened('recording', call, linkTo('audio.mpeg/broken'));
  await expect(answer.text()).rejects.toThrow();
  expect((await world.get('/calls/x')).status).toBe(400);
});

test.each([
  ['image.png', 'image/png', null],
  ['application.pdf', 'application/pdf', null],
  ['text.html', 'application/octet-stream', 'attachment; filename="text.html"'],
  ['image.svg+xml', 'application/octet-stream', 'attachment; filename="image.svg_xml"'],
])('a file %s comes as %s', async (path, type, disposition) => {
  const answer = await opened('file', '7/70', linkTo(path));
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
  expect(answer.headers.get('content-disposition')).toBe(disposition);
});

test.each([
  ['a link that no longer works', () => linkTo('audio.mpeg/404'), 'The link no longer works: the service answered 404'],
  ['a redirect to a file', () => linkTo('audio.mpeg/302'), 'This can’t be opened now'],
  ['a link that is no web address', () => 'file:///etc/hosts', 'Its link is no web address.'],
  ['a service that does not answer', () => 'http://127.0.0.1:1/', 'This can’t be opened now'],
])('%s is one sentence', async (_name, link, sentence) => {
  const answer = await opened('recording', call, link(), { accept: 'text/html' });
  expect(answer.status).toBeGreaterThanOrEqual(404);
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await answer.text()).toContain(sentence);
});

test('nothing plays without a link, a sign-in, or where words are hidden', async () => {
  expect((await world.get(`/calls/${call}/recordings/none`)).status).toBe(404);
  const path = `/calls/${call}/recordings/1`;
  expect((await fetch(`${world.receiver.url}${path}`)).status).toBe(401);
  await using discreet = await openReceiver({ ...world.context.settings, arePageWordsShown: false });
  const hidden = await discreet.get(path);
  expect([hidden.status, await hidden.text()]).toEqual([404, expect.stringContaining('Hidden by PAGES_WORDS')]);
});
