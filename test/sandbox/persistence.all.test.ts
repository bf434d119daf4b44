import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { caller, everything } from './client/caller.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sandbox-'));
});
afterEach(() => rm(dataDir, { recursive: true }));

const hook = { type: 'AccountSMS', url: 'http://127.0.0.1:1/hook', name: 'kept', enabled: false };

async function snapshot(sandbox: { url: string; apiKey: string }) {
  const ask = caller(sandbox);
  const calls = (await ask('POST', '/calls/search', { ...everything(), limit: 500 })).body.data;
  const hooks = (await ask('GET', '/webhooks')).body.data;
  const { faults: _, ...state } = (await caller(sandbox, '/_sandbox')('GET', '/state')).body.data;
  return { calls, hooks, state };
}

test('close and reopen: everything is as it was, whatever the options say', async () => {
  const first = await createSandbox({ dataDir, seed: 5, calls: 30, threads: 6 });
  await caller(first)('POST', '/webhooks', hook);
  await caller(first, '/_sandbox')('POST', '/keys', { name: 'other', key: 'another-key', scopes: ['users:read'] });
  const sms = await first.emit.sms({ text: 'remember me' });
  const call = await first.emit.call({ status: 'answered', recorded: true, recordingAfterMs: 0 });
  const before = await snapshot(first);
  await first.close();

  const second = await createSandbox({ dataDir, seed: 6, calls: 3 });
  expect(await snapshot(second)).toEqual(before);
  expect((await stat(join(dataDir, 'sandbox.jsonl'))).mode & 0o777).toBe(0o600);
  const ask = caller(second);
  expect((await ask('GET', '/users', undefined, 'another-key')).status).toBe(200);
  const thread = await ask('GET', `/sms/conversations/${sms.line}/${sms.number}`);
  expect(thread.body.data.messages[0]).toMatchObject({ id: sms.id, text: 'remember me' });
  expect((await ask('GET', `/calls/${call.id}/recordings`)).body.data).toHaveLength(call.recordings.length);
  const next = await second.emit.sms();
  expect(next.id).toBeGreaterThan(sms.id);
  expect((await second.emit.call()).id).not.toBe(call.id);
  await second.close();
});

test('a killed sandbox comes back with all that it had answered', async () => {
  const entry = new URL('../../src/sandbox/sandbox.ts', import.meta.url).href;
  const script = `
    import { createSandbox } from ${JSON.stringify(entry)};
    const { url, apiKey } = await createSandbox({ dataDir: ${JSON.stringify(dataDir)}, calls: 20, threads: 4 });
    console.log(JSON.stringify({ url, apiKey }));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  const running = JSON.parse(String(line));
  await caller(running)('POST', '/webhooks', hook);
  for (let count = 0; count < 20; count++) await caller(running, '/_sandbox')('POST', '/events/call');
  const before = await snapshot(running);
  child.kill('SIGKILL');
  await once(child, 'exit');

  const reopened = await createSandbox({ dataDir });
  expect(await snapshot(reopened)).toEqual(before);
  await reopened.close();
});

test('half a line at the end of the journal is a change that never happened', async () => {
  const first = await createSandbox({ dataDir, calls: 5, threads: 2 });
  await first.emit.call();
  const before = await snapshot(first);
  await first.close();
  await appendFile(join(dataDir, 'sandbox.jsonl'), '{"kind":"call","key":"17');

  const second = await createSandbox({ dataDir });
  expect(await snapshot(second)).toEqual(before);
  await second.close();
});

test('a journal that is damaged elsewhere stops the start and names its line', async () => {
  const first = await createSandbox({ dataDir, calls: 0, threads: 0 });
  await first.close();
  await first.close();
  await appendFile(join(dataDir, 'sandbox.jsonl'), 'not json\n{}\n');
  await expect(createSandbox({ dataDir })).rejects.toThrow(/sandbox\.jsonl, line 2 is not JSON/);
});
