import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, test, vi } from 'vitest';
import { wantedTypes } from '../../src/sync/subscriptions/ensure.ts';
import { temporaryFolder } from '../at-end.ts';
import { conditionTimeoutMs } from '../timeouts.ts';
import { createPart, type Part } from './deployment/part.ts';
import { freePort } from './deployment/ports.ts';

interface Addresses {
  readonly databaseUrl: string;
  readonly sandboxUrl: string;
}

const limit = { timeout: conditionTimeoutMs, interval: 100 };

test('starts again after SIGKILL on the data that the Postgres left behind holds', async ({ onTestFinished }) => {
  const folder = await temporaryFolder();
  onTestFinished(() => endPostgres(folder));
  const part = createPart(
    {
      name: 'start',
      args: ['start', '--json'],
      env: { DATA_DIR: folder, PORT: String(await freePort()) },
      readyWords: '"databaseUrl"',
    },
    onTestFinished,
  );
  await part.start();
  await subscribed(part);
  const first = addressesOf(part);
  await text(first, 'before the kill');
  await vi.waitUntil(() => isMirrored(first, 'before the kill'), limit);

  await part.crash();
  expect(await isAlive(await postmasterOf(folder)), 'Postgres is left behind').toBe(true);
  await part.start();
  const second = addressesOf(part);
  expect(await isMirrored(second, 'before the kill')).toBe(true);
  await text(second, 'after the kill');
  await vi.waitUntil(() => isMirrored(second, 'after the kill'), limit);

  part.signal('SIGTERM');
  expect(await part.ended()).toEqual({ code: 0, signal: null });
  expect(await postmasterOf(folder), 'Postgres ended with it').toBeUndefined();
});

/** A text before the subscriptions would be found, but only by the next look at the lines' unread texts. */
function subscribed(part: Part): Promise<boolean> {
  return vi.waitUntil(() => part.output.match(/Webhook subscription created/g)?.length === wantedTypes.length, limit);
}

function addressesOf({ output }: Part): Addresses {
  const line = output.split('\n').findLast((each) => each.includes('"databaseUrl"'));
  return JSON.parse(line ?? '') as Addresses;
}

async function text({ sandboxUrl }: Addresses, message: string): Promise<void> {
  const response = await fetch(`${sandboxUrl}/_sandbox/events/sms`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: message }),
  });
  expect(response.status).toBe(201);
}

async function isMirrored({ databaseUrl }: Addresses, message: string): Promise<boolean> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query('select from warehouse.sms_messages where body = $1', [message]);
    return rowCount === 1;
  } finally {
    await client.end();
  }
}

async function postmasterOf(folder: string): Promise<number | undefined> {
  const lock = await readFile(join(folder, 'postgres', 'cluster', 'postmaster.pid'), 'utf8').catch(() => '');
  return lock === '' ? undefined : Number(lock.split('\n')[0]);
}

async function isAlive(pid: number | undefined): Promise<boolean> {
  try {
    return pid !== undefined && process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function endPostgres(folder: string): Promise<void> {
  const pid = await postmasterOf(folder);
  if (pid === undefined || !(await isAlive(pid))) return;
  process.kill(pid, 'SIGQUIT');
  await vi.waitUntil(async () => !(await isAlive(pid)), limit);
}
