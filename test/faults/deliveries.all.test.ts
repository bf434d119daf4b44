import { beforeAll, expect, test, vi } from 'vitest';
import { defaultReadPauses } from '../../src/inbox/targets.ts';
import { conditionTimeoutMs } from '../timeouts.ts';
import { deployForSuite } from './deployment/suite.ts';
import { type DeliveredType, deliveryKey } from './load/keys.ts';
import { startLoad } from './load/load.ts';
import { createSender } from './load/sender.ts';
import { received } from './load/traffic.ts';
import { expectNothingLost } from './oracle/oracle.ts';
import { createRandom } from './random.ts';

const deployment = deployForSuite({ backend: 'redis' });
const quiet = { timeout: conditionTimeoutMs, interval: 50 };

// The history of the day before is mirrored at the start by itself; what these tests count must not be of it.
beforeAll(() => vi.waitUntil(isHistoryHeld, quiet));

test('reads a text delivered a hundred times a few times, and keeps it once', async () => {
  const line = await someLine();
  const text = 'pelican, a hundred times';
  const made = await deployment().service.sms({ line, number: '19175553001', text, announce: false });
  const body = JSON.stringify(received(made, text));
  const sender = createSender(deployment().hooks, createRandom('many'));
  const sent = await Promise.all(Array.from({ length: 100 }, () => sender.send('AccountSMS', body)));
  expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([202]));
  const accepted = sent.map(() => deliveryKey('AccountSMS', body));
  await expectNothingLost(deployment(), { threads: [made], callIds: [], accepted: async () => accepted });
  expect(await readsOf(`/sms/conversations/${line}/${made.number}`)).toBeLessThanOrEqual(10);
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

const contentTypes = [
  ...['application/json', 'application/json; charset=latin1', 'application/x-www-form-urlencoded', 'text/plain'],
  ...['multipart/form-data; boundary=x', 'application/octet-stream'],
];

test('keeps malformed deliveries as they are, and writes nothing from them', async () => {
  const random = createRandom('malformed');
  const noise = () => Uint8Array.from({ length: random.between(0, 4_000) }, () => random.between(0, 255));
  const before = await warehouseSize();
  const unrecognized = await unrecognizedCount();
  const shaped = ['', '{', '[[[[', '{"callId":', 'null', '0', '"', '\ufeff{}', '['.repeat(50_000), 'a[b][__proto__]=1'];
  const bodies = [...Array.from({ length: 100 }, noise), ...shaped];
  for (const body of bodies) expect(await post('AccountSMS', body, random.pick(contentTypes))).toBe(202);
  expect(await unrecognizedCount()).toBe(unrecognized + bodies.length);
  expect(await warehouseSize()).toEqual(before);
});

/** Milliseconds before a call that was not found is asked for again. */
const afterMissing = 5_000;
const [party, callId] = ['19995550001', '1700000000.4242'];
const foreign = { line: '12025550199', number: '19995550002' };

test.for<[what: string, pause: number, type: DeliveredType, path: (line: string) => string, body: object]>([
  [
    ...(['an unknown thread', defaultReadPauses.activeMs, 'AccountSMS'] as const),
    (line) => `/sms/conversations/${line}/${party}`,
    { fromNumber: party, direction: 'received', id: 1 },
  ],
  ['an unknown call', afterMissing, 'AccountEndedCalls', () => `/calls/${callId}`, { callId }],
  [
    ...(['a line that is not ours', Number.POSITIVE_INFINITY, 'AccountSMS'] as const),
    () => `/sms/conversations/${foreign.line}/${foreign.number}`,
    { id: 1, ...foreign },
  ],
])(
  'reads at most once per pause for forged deliveries of %s, and writes nothing',
  async ([, pause, type, path, own]) => {
    const before = await warehouseSize();
    const line = await someLine();
    const body = JSON.stringify({ webhookType: type, ...('fromNumber' in own && { toNumber: line }), ...own });
    const began = performance.now();
    for (let delivery = 0; delivery < 60; delivery += 1) expect(await post(type, body)).toBe(202);
    await vi.waitUntil(async () => (await readsOf(path(line))) > 0 && (await dueNow()) === 0, quiet);
    const pauses = (performance.now() - began) / pause;
    expect(await readsOf(path(line))).toBeLessThanOrEqual(pauses === 0 ? 1 : 2 + pauses);
    expect(await warehouseSize()).toEqual(before);
  },
);

async function someLine(): Promise<string> {
  const [line] = await deployment().service.read('/sms/lines');
  return String(line?.number);
}

async function post(type: DeliveredType, body: string | Uint8Array<ArrayBuffer>, contentType = 'application/json') {
  const [hook = ''] = deployment().hooks(type);
  const response = await fetch(hook, { method: 'POST', headers: { 'content-type': contentType }, body });
  await response.text();
  return response.status;
}

/** How often the daemon has read an address of the API. */
async function readsOf(path: string): Promise<number> {
  const requests = await deployment().service.requests();
  return requests.filter((request) => request.path.split('?')[0] === `/api/public/v1${path}`).length;
}

async function count(sql: string): Promise<number> {
  const { rows } = await deployment().database.query(`select count(*)::integer as count from ${sql}`);
  return rows[0].count;
}

const unrecognizedCount = () => count('ops.deliveries where not is_recognized');
const dueNow = () => count('ops.sync_targets where dirty_version > clean_version and due_at <= now()');

async function isHistoryHeld(): Promise<boolean> {
  return (await count('ops.coverage')) > 0 && (await count('ops.coverage where due_at <= now()')) === 0;
}

const warehouseSize = () =>
  Promise.all(
    ['calls', 'call_legs', 'recordings', 'transcripts', 'sms_conversations', 'sms_messages'].map(
      async (table) => `${table} ${await count(`warehouse.${table}`)}`,
    ),
  );
