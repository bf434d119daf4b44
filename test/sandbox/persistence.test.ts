import { appendFile, cp, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { dataFolder, karen, line, sandboxOfTest, snapshot } from './client/caller.ts';
import { createProgram } from './client/login.ts';

const journalOf = (dataDir: string) => join(dataDir, 'sandbox.jsonl');
const number = '13125550201';

/** Every entity of every table, and the highest number that was given in it. */
const tablesOf = ({ store: { apply: _, clear: __, ...tables } }: Sandbox) =>
  Object.values(tables).map((table) => [table.kind, table.highestKey(), table.values()] as const);

/** A life of an account, in which something is kept in each table, and in some the newest is deleted. */
async function live(dataDir: string): Promise<Sandbox> {
  const { sandbox, ask, control } = await sandboxOfTest({ dataDir, seed: 5, calls: 30, threads: 6 });
  await ask('POST', '/webhooks', { type: 'AccountSMS', url: 'http://127.0.0.1:1/hook', name: 'kept', enabled: false });
  await control('POST', '/keys', { name: 'other', key: 'another-key', scopes: ['users:read'] });
  await control('PATCH', '/account', { sensitiveContent: true });
  const token = (await control('POST', '/tokens', { userId: karen })).body.data.access_token;
  const template = async () =>
    (await ask('POST', '/sms/templates', { title: 'Hours', body: 'At nine.' }, token)).body.data;
  await template();
  await ask('DELETE', `/sms/templates/${(await template()).id}`, undefined, token);
  await ask('PUT', '/sms/drafts/one', { message: 'To be said' });
  await sandbox.emit.sms({ line, number, text: 'STOP' });
  const { id } = await sandbox.emit.sms({ line, number, text: 'And this goes' });
  await ask('DELETE', `/sms/conversations/${line}/${number}/messages/${id}`);
  await ask('POST', `/sms/conversations/${line}/${number}/resolve`);
  // A text to a blocked number is charged, and has no receipt that would come at any time.
  const blocked = '12125550142';
  await ask('POST', `/sms/lines/${line}/blocked`, { number: blocked });
  const attachments = [{ filename: 'a.gif', contentType: 'image/gif', content: 'R0lGODlhAQABAAAAACw=' }];
  await ask('POST', '/sms/messages', { from: line, to: [blocked], attachments });
  await sandbox.emit.call({ status: 'answered', recorded: true, recordingAfterMs: 0 });
  const { approve, redeem, refresh } = await createProgram(sandbox.url, ['users:read']);
  await approve(karen);
  await refresh((await redeem(await approve(karen))).body.refresh_token);
  return sandbox;
}

test('everything is as it was after a close, whatever the options say, and after a kill', async () => {
  const [dataDir, copy] = [await dataFolder(), await dataFolder()];
  const first = await live(dataDir);
  const before = tablesOf(first);
  expect(before.filter(([, , rows]) => rows.length === 0).map(([kind]) => kind)).toEqual([]);
  // What a kill leaves is what was written until then.
  await cp(dataDir, copy, { recursive: true });
  await first.close();
  expect((await stat(journalOf(dataDir))).mode & 0o777).toBe(0o600);
  for (const folder of [dataDir, copy, dataDir]) {
    const { sandbox } = await sandboxOfTest({ dataDir: folder, seed: 6, calls: 3 });
    expect(tablesOf(sandbox)).toEqual(before);
    await sandbox.close();
  }
});

test('what happens after a restart has ids of its own, and a reset brings back the seeded state', async () => {
  const dataDir = await dataFolder();
  const { sandbox: first } = await sandboxOfTest({ dataDir, calls: 5, threads: 2 });
  const seeded = tablesOf(first);
  const [sms, call] = [await first.emit.sms(), await first.emit.call()];
  await first.close();
  const { sandbox: second } = await sandboxOfTest({ dataDir });
  expect((await second.emit.sms()).id).toBe(sms.id + 1);
  expect((await second.emit.call()).id).not.toBe(call.id);
  await second.reset();
  expect(tablesOf(second)).toEqual(seeded);
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
