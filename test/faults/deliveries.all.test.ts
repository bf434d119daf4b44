import { beforeAll, expect, test, vi } from 'vitest';
import { defaultReadPauses } from '../../src/inbox/targets.ts';
import { conditionTimeoutMs } from '../timeouts.ts';
import { deployForSuite } from './deployment/suite.ts';
import { contentTypes, noise } from './load/fuzz.ts';
import { type DeliveredType, deliveryKey } from './load/keys.ts';
import { startLoad } from './load/load.ts';
import { createSender } from './load/sender.ts';
import { received } from './load/traffic.ts';
import { expectNothingLost } from './oracle/oracle.ts';
import { createRandom } from './random.ts';

const deployment = deployForSuite({ backend: 'redis' });
const maxReads = 10;
/** Milliseconds before a call that was not found is asked for again. */
const pauseAfterMissing = 5_000;
const quiet = { timeout: conditionTimeoutMs, interval: 50 };

// The history of the day before is mirrored at the start by itself; what these tests count must not be of it.
beforeAll(() => vi.waitUntil(isHistoryHeld, quiet));

test('reads a text delivered a hundred times a few times, and keeps it once', async () => {
  const { service } = deployment();
  const line = await someLine();
  const text = 'pelican, a hundred times';
  const made = await service.sms({ line, number: '19175553001', text, announce: false });
  const body = JSON.stringify(received(made, text));
  const answers = await sendMany('AccountSMS', 100, body);
  expect(new Set(answers)).toEqual(new Set([202]));
  const accepted = answers.map(() => deliveryKey('AccountSMS', body));
  await expectNothingLost(deployment(), { threads: [made], callIds: [], accepted: async () => accepted });
  expect(await readsOf(`/sms/conversations/${line}/${made.number}`)).toBeLessThanOrEqual(maxReads);
});

test('mirrors texts and calls whose deliveries are late, doubled and overtake each other', async ({
  onTestFinished,
}) => {
  const { service } = deployment();
  const load = await startLoad(deployment(), createRandom('disorder'), onTestFinished);
  await service.faults(
    { kind: 'delayed', ms: 200 },
    { kind: 'repeated', rate: 0.4 },
    { kind: 'delayed', ms: 1_000, rate: 0.5 },
    { kind: 'dropped', rate: 0.1 },
  );
  await load.goesOn(80);
  await load.finish();
  await service.faults();
  await expectNothingLost(deployment(), load);
});

test('keeps malformed deliveries as they are, and writes nothing from them', async () => {
  const random = createRandom('malformed');
  const before = await warehouseSize();
  const unrecognized = await unrecognizedCount();
  const shaped = ['', '{', '[[[[', '{"callId":', 'null', '0', '"', '\ufeff{}', '['.repeat(50_000), 'a[b][__proto__]=1'];
  const bodies = [...Array.from({ length: 100 }, () => noise(random)), ...shaped.map((text) => Buffer.from(text))];
  for (const body of bodies) expect(await post(body, random.pick(contentTypes))).toBe(202);
  expect(await unrecognizedCount()).toBe(unrecognized + bodies.length);
  expect(await warehouseSize()).toEqual(before);
});

test.for([
  [
    'an unknown thread',
    defaultReadPauses.activeMs,
    'AccountSMS',
    { fromNumber: '19995550001', direction: 'received', id: 1 },
  ],
  [
    'an unknown call',
    pauseAfterMissing,
    'AccountEndedCalls',
    { callId: '1700000000.4242', webhookType: 'AccountEndedCalls' },
  ],
] as const)(
  'reads at most once per pause for forged deliveries of %s, and writes nothing',
  async ([, pause, type, event]) => {
    const before = await warehouseSize();
    const line = await someLine();
    const body = JSON.stringify(type === 'AccountSMS' ? { ...event, toNumber: line } : event);
    const path = type === 'AccountSMS' ? `/sms/conversations/${line}/19995550001` : '/calls/1700000000.4242';
    const began = performance.now();
    for (let delivery = 0; delivery < 60; delivery += 1) expect(await sendMany(type, 1, body)).toEqual([202]);
    await vi.waitUntil(async () => (await readsOf(path)) > 0, quiet);
    await vi.waitUntil(async () => (await dueNow()) === 0, quiet);
    expect(await readsOf(path)).toBeLessThanOrEqual(2 + (performance.now() - began) / pause);
    expect(await warehouseSize()).toEqual(before);
  },
);

test('reads a forged line that is not ours once, and writes nothing', async () => {
  const before = await warehouseSize();
  const event = { id: 1, line: '12025550199', number: '19995550002', webhookType: 'AccountSMS' };
  for (let delivery = 0; delivery < 60; delivery += 1) {
    expect(await sendMany('AccountSMS', 1, JSON.stringify(event))).toEqual([202]);
  }
  const path = `/sms/conversations/${event.line}/${event.number}`;
  await vi.waitUntil(async () => (await readsOf(path)) > 0 && (await dueNow()) === 0, quiet);
  expect(await readsOf(path)).toBe(1);
  expect(await warehouseSize()).toEqual(before);
});

async function someLine(): Promise<string> {
  const [line] = await deployment().service.read('/sms/lines');
  return String(line?.number);
}

async function sendMany(type: DeliveredType, count: number, body: string): Promise<(number | undefined)[]> {
  const sender = createSender(deployment().hooks, createRandom('many'));
  const sent = await Promise.all(Array.from({ length: count }, () => sender.send(type, body)));
  return sent.map(({ status }) => status);
}

async function post(body: Buffer, contentType: string): Promise<number> {
  const response = await fetch(deployment().hooks('AccountSMS')[0] as string, {
    method: 'POST',
    headers: { 'content-type': contentType },
    body: new Uint8Array(body),
  });
  await response.text();
  return response.status;
}

/** How often the daemon has read an address of the API. */
async function readsOf(path: string): Promise<number> {
  const requests = await deployment().service.requests();
  return requests.filter((request) => request.path.split('?')[0] === `/api/public/v1${path}`).length;
}

async function count(sql: string): Promise<number> {
  const { rows } = await deployment().database.query<{ count: number }>(
    `select count(*)::integer as count from ${sql}`,
  );
  return rows[0]?.count ?? 0;
}

const unrecognizedCount = () => count('ops.deliveries where not is_recognized');
const dueNow = () => count('ops.sync_targets where dirty_version > clean_version and due_at <= now()');

const isHistoryHeld = async () =>
  (await count('ops.coverage')) > 0 && (await count('ops.coverage where due_at <= now()')) === 0;

async function warehouseSize(): Promise<Record<string, number>> {
  const tables = ['calls', 'call_legs', 'recordings', 'transcripts', 'sms_conversations', 'sms_messages'];
  const sizes = await Promise.all(tables.map(async (table) => [table, await count(`warehouse.${table}`)] as const));
  return Object.fromEntries(sizes);
}
