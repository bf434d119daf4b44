import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { caller } from '../client/caller.ts';

let sandbox: Sandbox;
const line = '16465550100';
const ann = '12125550142';

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
});
afterAll(() => sandbox.close());

const file = (filename: string, bytes: Buffer, contentType = 'image/png') => ({
  filename,
  contentType,
  content: bytes.toString('base64'),
});

async function sendFiles(attachments: object[], target: Sandbox = sandbox): Promise<string[]> {
  const answer = await caller(target)('POST', '/sms/messages', { from: line, to: [ann], attachments });
  expect(answer.status).toBe(201);
  return answer.body.data.messages[0].media;
}

test.each([
  ['leak.JPG', 'image/png', 'image/jpeg'],
  ['leak.gif', 'image/jpeg', 'image/gif'],
  ['a/b.bmp', 'image/gif', 'image/bmp'],
  ['page.html', 'image/png', 'application/octet-stream'],
  [`${'x'.repeat(300)}.jpeg`, 'image/bmp', 'image/jpeg'],
])('%s that was declared as %s is served as %s', async (filename, declared, served) => {
  const [url = ''] = await sendFiles([file(filename, randomBytes(10), declared)]);
  expect((await fetch(url)).headers.get('content-type')).toBe(served);
});

test('a link that is not signed leads nowhere', async () => {
  const [url = ''] = await sendFiles([file('a.png', randomBytes(10))]);
  for (const other of [url.replace(/signature=.*/, ''), url.replace(/.$/, url.endsWith('0') ? '1' : '0')]) {
    expect((await fetch(other)).status).toBe(404);
  }
});

test('a file is served after a restart as before', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'sandbox-'));
  try {
    const first = await createSandbox({ dataDir, calls: 0, threads: 0 });
    const bytes = randomBytes(500);
    const [url = ''] = await sendFiles([file('a.gif', bytes)], first);
    await first.close();
    const second = await createSandbox({ dataDir });
    const response = await fetch(url.replace(first.url, second.url));
    expect(response.headers.get('content-type')).toBe('image/gif');
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    await second.close();
  } finally {
    await rm(dataDir, { recursive: true });
  }
});
