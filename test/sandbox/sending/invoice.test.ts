import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
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
const london = '447700900123';
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

test('a malformed body is refused before a foreign line, and that before a missing rate', async () => {
  const statusOf = async (body: object) => (await ask('POST', '/sms/messages', { message: 'hello', ...body })).status;
  const foreign = { from: '12125550100', to: [paris] };
  expect(await statusOf({ ...foreign, colour: 1 })).toBe(400);
  expect(await statusOf(foreign)).toBe(403);
  expect(await statusOf({ ...foreign, from: line })).toBe(422);
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

test('rates that the operator changes apply from the next send on', async () => {
  await control('PATCH', '/account', { rates: [{ prefix: '1', smsMicros: 100_000, mmsMicros: 7_900 }] });
  const { body } = await send([ann], 'a'.repeat(400));
  expect(body.data.messages).toMatchObject([{ unitPrice: 0.1, units: 3, price: 0.3 }]);
  expect((await send([ann, bob], 'hi')).body.data.billing.totalPrice).toBe(0.0079);
  expect((await send([london], 'hi')).status).toBe(422);
});

const micros = (dollars: number) => Math.round(dollars * 1_000_000);

test('what the answers ask for is what is charged, whatever is sent', async () => {
  await control('PATCH', '/account', {
    rates: [
      { prefix: '1', smsMicros: 7_900, mmsMicros: 20_100 },
      { prefix: '44', smsMicros: 41_300, mmsMicros: 33_333 },
    ],
  });
  await sandbox.emit.sms({ line, number: bob, text: 'STOP' });
  const before = (await control('GET', '/state')).body.data.messages;
  const totals = { posts: 0, charged: 0, micros: 0 };

  const recipients = fc.array(fc.constantFrom(ann, '(212) 555-0142', bob, london, '13125550150', paris, 'nobody'), {
    maxLength: 4,
  });
  const text = fc.string({ unit: fc.constantFrom('a', ' ', '€', 'ש', '🚨', 'ó'), maxLength: 700 });
  await fc.assert(
    fc.asyncProperty(recipients, text, async (to, message) => {
      const { status, body } = await send(to, message);
      totals.posts += 1;
      expect([200, 201, 400, 422]).toContain(status);
      if (status >= 400) return;
      const { billing, messages, skipped } = body.data;
      expect(status === 201).toBe(messages.length === 1);
      expect(skipped.length + billing.recipientCount).toBe(to.length);
      for (const { price, unitPrice, units } of messages) {
        expect(micros(price)).toBe(micros(unitPrice) * units);
        expect(JSON.stringify(price)).toMatch(/^\d+(\.\d{1,6})?$/);
        expect(billing).toMatchObject({ units, totalPrice: price });
      }
      totals.charged += messages.length;
      totals.micros += micros(billing.totalPrice);
    }),
    { numRuns: 150 },
  );

  const sends = sandbox.sends();
  expect(totals.charged).toBeGreaterThan(20);
  expect(sends.filter(({ status }) => status !== null)).toHaveLength(totals.posts);
  const charges = sends.flatMap(({ charge }) => charge ?? []);
  expect(charges).toHaveLength(totals.charged);
  expect(charges.reduce((sum, { totalMicros }) => sum + totalMicros, 0)).toBe(totals.micros);
  expect(sends.reduce((sum, { totalPrice }) => sum + micros(totalPrice), 0)).toBe(totals.micros);
  expect((await control('GET', '/state')).body.data.messages).toBe(before + totals.charged);
});

test('sends that come at once are each charged once, under ids of their own', async () => {
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => send([ann], `text ${index}`)));
  const ids = answers.map(({ body }) => body.data.messages[0].id);
  expect(new Set(ids).size).toBe(40);
  const charged = sandbox.sends().flatMap(({ charge }) => charge?.messageIds ?? []);
  expect(charged.toSorted()).toEqual(ids.toSorted());
});
