import { appendFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { dataFolder, sandboxOfTest, snapshot } from './client/caller.ts';

const hook = { type: 'AccountSMS', url: 'http://127.0.0.1:1/hook', name: 'kept', enabled: false };
const journalOf = (dataDir: string) => join(dataDir, 'sandbox.jsonl');

test('close and reopen: everything is as it was, whatever the options say', async () => {
  const dataDir = await dataFolder();
  const { sandbox: first, ...asks } = await sandboxOfTest({ dataDir, seed: 5, calls: 30, threads: 6 });
  await asks.ask('POST', '/webhooks', hook);
  await asks.control('POST', '/keys', { name: 'other', key: 'another-key', scopes: ['users:read'] });
  const sms = await first.emit.sms({ text: 'remember me' });
  const call = await first.emit.call({ status: 'answered', recorded: true, recordingAfterMs: 0 });
  const before = await snapshot(first);
  await first.close();

  const { sandbox: second, ask } = await sandboxOfTest({ dataDir, seed: 6, calls: 3 });
  expect(await snapshot(second)).toEqual(before);
  expect((await stat(journalOf(dataDir))).mode & 0o777).toBe(0o600);
  expect((await ask('GET', '/users', undefined, 'another-key')).status).toBe(200);
  const thread = await ask('GET', `/sms/conversations/${sms.line}/${sms.number}`);
  expect(thread.body.data.messages[0]).toMatchObject({ id: sms.id, text: 'remember me' });
  expect((await ask('GET', `/calls/${call.id}/recordings`)).body.data).toHaveLength(call.recordings.length);
  expect((await second.emit.sms()).id).toBeGreaterThan(sms.id);
  expect((await second.emit.call()).id).not.toBe(call.id);
});

test('half a line at the end of the journal is a change that never happened', async () => {
  const dataDir = await dataFolder();
  const { sandbox: first } = await sandboxOfTest({ dataDir, calls: 5, threads: 2 });
  await first.emit.call();
  const before = await snapshot(first);
  await first.close();
  await appendFile(journalOf(dataDir), '{"kind":"call","key":"17');
  const { sandbox: second } = await sandboxOfTest({ dataDir });
  expect(await snapshot(second)).toEqual(before);
});

test('a journal that is damaged elsewhere stops the start and names its line', async () => {
  const dataDir = await dataFolder();
  const { sandbox } = await sandboxOfTest({ dataDir });
  await sandbox.close();
  await appendFile(journalOf(dataDir), 'not json\n{}\n');
  await expect(createSandbox({ dataDir })).rejects.toThrow(/sandbox\.jsonl, line 2 is not JSON/);
});
