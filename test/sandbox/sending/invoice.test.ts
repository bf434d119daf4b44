import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller } from '../client/caller.ts';

let dataDir: string;
let sandbox: Sandbox;
let ask: Ask;
let control: Ask;
const line = '16465550100';
const ann = '12125550142';
const bob = '13125550143';
const paris = '33612345678';

async function open(): Promise<void> {
  sandbox = await createSandbox({ dataDir, calls: 0, threads: 0 });
  ask = caller(sandbox);
  control = caller(sandbox, '/_sandbox');
}
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sandbox-'));
  await open();
});
afterEach(async () => {
  await sandbox.close();
  await rm(dataDir, { recursive: true });
});

const send = (to: string[], message: string) => ask('POST', '/sms/messages', { from: line, to, message });

test('every POST stands in the list of sends with its answer, oldest first, and its charge if it had one', async () => {
  const { body } = await send([ann, bob], 'hello');
  await send(['nobody'], 'hello');
  await send([paris], 'hello');
  await send([ann], '');
  await ask('POST', '/sms/messages', undefined, null);
  await ask('GET', '/sms/lines');
  const { data } = (await control('GET', '/sends')).body;
  expect(data).toEqual(sandbox.sends());
  expect(data.map(({ status, key }: { status: number; key: string }) => [status, key])).toEqual([
    [201, 'default'],
    [200, 'default'],
    [422, 'default'],
    [400, 'default'],
    [401, null],
  ]);
  expect(data[0]).toEqual({
    at: expect.stringMatching(/Z$/),
    key: 'default',
    status: 201,
    totalPrice: 0.03,
    charge: {
      id: 1,
      at: expect.stringMatching(/Z$/),
      key: 'default',
      from: line,
      to: [ann, bob],
      type: 'mms',
      units: 1,
      totalMicros: 30_000,
      messageIds: [body.data.messages[0].id],
    },
  });
  expect(data.slice(1)).toMatchObject(Array(4).fill({ totalPrice: 0, charge: null }));
  expect((await control('GET', '/sends?limit=2')).body.data).toEqual(data.slice(-2));
  expect((await control('GET', '/sends?limit=0')).body.data).toEqual([]);
  expect((await control('GET', '/sends?limit=x')).status).toBe(400);
});

test('charges survive a restart; a reset clears them', async () => {
  await send([ann], 'hello');
  await send([paris], 'hello');
  const [charged] = sandbox.sends();
  await sandbox.close();
  await open();
  expect(sandbox.sends()).toEqual([{ ...charged, at: charged?.charge?.at, status: null }]);
  await send([bob], 'hello');
  expect(sandbox.sends().map(({ charge }) => charge?.id)).toEqual([1, 2]);
  await sandbox.reset();
  expect(sandbox.sends()).toEqual([]);
});

test('sends that come at once are each charged once, under ids of their own', async () => {
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => send([ann], `text ${index}`)));
  const ids = answers.map(({ body }) => body.data.messages[0].id);
  expect(new Set(ids).size).toBe(40);
  const charged = sandbox.sends().flatMap(({ charge }) => charge?.messageIds ?? []);
  expect(charged.toSorted()).toEqual(ids.toSorted());
});
