import type { RequestListener } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { createService } from '../../src/api-client/client.ts';
import { findings } from '../../src/checks/checks.ts';
import { acceptAccount } from '../../src/credentials/account-check.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';
import { createWorld, quick, until, type World } from '../world.ts';
import { openAccounts } from './accounts.ts';

const { opened, account, serve, databaseAt } = openAccounts(afterEach);

async function worldOf(databaseUrl: string, url: string, key: string): Promise<World> {
  const world = await createWorld({ ...quick, backend: 'postgres', databaseUrl, api: { url, key } });
  let closing: Promise<void> | undefined;
  const { close } = world;
  const closeOnce = () => (closing ??= close());
  opened.push(closeOnce);
  return Object.assign(world, { close: closeOnce });
}

const held = `select (select count(*)::int from warehouse.calls where deleted_at is null) as calls,
  (select count(*)::int from warehouse.sms_lines where deleted_at is null) as lines,
  (select count(*)::int from warehouse.users where deleted_at is null) as users,
  (select count(*)::int from ops.coverage where state = 'proven') as proven`;
const refused = `select count(*)::int from ops.coverage where last_error is not null`;

async function mirrorOf(sandbox: Sandbox): Promise<{ databaseUrl: string; holdings: unknown; callId: string }> {
  const databaseUrl = await databaseForTest(migrated);
  const world = await worldOf(databaseUrl, sandbox.url, sandbox.apiKey);
  const due = `select count(*)::int from ops.coverage where due_at <= now() and to_at <= now()`;
  await until(async () => {
    const [now] = await world.query<Record<string, number>>(held);
    return (now?.users ?? 0) > 0 && (now?.lines ?? 0) > 0 && (now?.proven ?? 0) > 20 && (await world.value(due)) === 0;
  });
  await world.settled();
  // Calls vouch for the account once it was recognized after their reads.
  await world.context.service?.confirmAccount('test');
  const [holdings] = await world.query(held);
  const callId = String(await world.value('select call_id from warehouse.calls order by started_at desc limit 1'));
  await world.close();
  return { databaseUrl, holdings, callId };
}

async function problemOf(world: World): Promise<string | undefined> {
  const checks = await findings(world.context);
  return checks.find(({ check }) => check === 'account_unrecognized')?.detail;
}

test('another account deletes, proves and mixes in nothing, is named, and is forgotten with the right one back', async () => {
  const [ours, theirs] = [await account(1), await account(2)];
  const { databaseUrl, holdings, callId } = await mirrorOf(ours);

  const wrong = await worldOf(databaseUrl, theirs.url, theirs.apiKey);
  await wrong.deliver('AccountEndedCalls', { id: callId });
  await wrong.query(`update ops.coverage set due_at = now()`);
  await until(async () => (await problemOf(wrong)) !== undefined);
  expect(await problemOf(wrong)).toContain('another account answers');
  await until(async () => (await wrong.value(refused)) !== 0);
  expect(await wrong.query(held)).toEqual([holdings]);
  expect(theirs.requests().filter(({ path }) => /calls\/search|conversations/.test(path))).toEqual([]);
  const text = { from: '16465550100', to: ['12125550142'], message: 'Hello' };
  const unsent = { code: 'account_unrecognized', effect: 'none' };
  await expect(wrong.context.service?.messages.send(text)).rejects.toMatchObject(unsent);
  expect(theirs.sends()).toEqual([]);
  await wrong.close();

  const right = await worldOf(databaseUrl, ours.url, ours.apiKey);
  // Not in the minutes that a failed comparison waits.
  await right.query(`update ops.coverage set due_at = now() where last_error is not null`);
  await until(async () => (await right.value(refused)) === 0);
  await right.settled();
  expect(await right.query(held)).toEqual([holdings]);
  expect(await problemOf(right)).toBeUndefined();
});

test('another account may be accepted: what it does not have goes, and its own comes', async () => {
  const [ours, theirs] = [await account(1), await account(2)];
  const { databaseUrl } = await mirrorOf(ours);
  await acceptAccount(databaseAt(databaseUrl).db);
  const world = await worldOf(databaseUrl, theirs.url, theirs.apiKey);
  const service = createService({ baseUrl: theirs.url, apiKey: theirs.apiKey });
  opened.push(service.close);
  // The hour that runs is compared after its end.
  const end = Math.floor(Date.now() / 3_600_000) * 3_600;
  const { data } = await service.calls.search({ start: end - 24 * 3_600, end, limit: 1 });
  const ofTheirs = 'select count(*)::int from warehouse.calls where call_id = $1';
  await until(async () => (await world.value(ofTheirs, data.calls[0]?.id)) === 1);
  await until(async () => (await world.value(`${refused} and last_error like '%another account%'`)) === 0);
  expect(await problemOf(world)).toBeUndefined();
});

test('a service that is not this API proves nothing and is named', async () => {
  const missing = '{"error":{"type":"not_found","message":"No such path"}}';
  const answers: readonly (readonly [string, RequestListener])[] = [
    ['404 with an error of its own', (_, response) => response.writeHead(404).end('{"error":"no such page"}')],
    ['404 in the envelope', (_, response) => response.writeHead(404).end(missing)],
    ['200 with HTML', (_, response) => response.writeHead(200).end('<html>It works</html>')],
    ['302', (_, response) => response.writeHead(302, { location: 'https://example.com/' }).end()],
  ];
  const { databaseUrl, holdings, callId } = await mirrorOf(await account(1));
  for (const [name, listener] of answers) {
    const wrong = await worldOf(databaseUrl, await serve(listener), 'key');
    await wrong.deliver('AccountEndedCalls', { id: callId });
    await until(
      async () => (await problemOf(wrong)) !== undefined,
      () => name,
    );
    expect(await wrong.query(held), name).toEqual([holdings]);
    const settled = `select count(*)::int from ops.sync_targets where state <> 'active' or misses > 0`;
    expect(await wrong.value(settled), name).toBe(0);
    await wrong.close();
  }
});

test('a part of the path of the API leads nowhere, and is not adopted by an empty mirror', async () => {
  const ours = await account(1);
  const world = await worldOf(await databaseForTest(migrated), `${ours.url}/api`, ours.apiKey);
  await until(async () => (await problemOf(world)) !== undefined);
  expect(await problemOf(world)).toContain('API_BASE_URL does not lead to this API');
  expect(await world.value('select count(*)::int from ops.account')).toBe(0);
});
