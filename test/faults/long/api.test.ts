import { expect, test, vi } from 'vitest';
import type { FaultInput } from '../../../src/sandbox/faults/spec.ts';
import { createPart } from '../deployment/part.ts';
import { deployForSuite } from '../deployment/suite.ts';
import { startLoad } from '../load/load.ts';
import { createSender } from '../load/sender.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom } from '../random.ts';

const deployment = deployForSuite({ backend: 'redis' });
const limit = { timeout: 30_000, interval: 100 };

/** Those that look like an answer: what they say is mirrored, until a read of the same thing finds otherwise. */
const believable: readonly (readonly [string, ...FaultInput[]])[] = [
  ['leaves fields out', { kind: 'fields', change: 'drop', rate: 0.4 }],
  ['answers null where values were', { kind: 'fields', change: 'null', rate: 0.4 }],
  ['answers values of another type', { kind: 'fields', change: 'retype', rate: 0.4 }],
  ['has empty lists', { kind: 'noRows', rate: 0.4 }],
  ['has keys and values that nobody knows', { kind: 'newKeys', rate: 0.5 }, { kind: 'newValues', rate: 0.3 }],
  ['has paging state beside the data', { kind: 'siblings', rate: 0.5 }],
  ['finds now and then nothing (a flapping 404)', { kind: 'error', status: 404, rate: 0.5, operation: 'GET /' }],
];

const failing: readonly (readonly [string, ...FaultInput[]])[] = [
  ['answers 500', { kind: 'error', status: 500, rate: 0.4 }],
  ['answers 502 with HTML', { kind: 'html', status: 502, rate: 0.4 }],
  ['answers 200 with HTML', { kind: 'html', status: 200, rate: 0.4 }],
  ['answers 429 without Retry-After', { kind: 'error', status: 429, rate: 0.4 }],
  ['answers 429 with Retry-After', { kind: 'error', status: 429, rate: 0.4, retryAfterSeconds: 1 }],
  [
    'answers 503 with Retry-After as a date',
    { kind: 'error', status: 503, rate: 0.4, retryAfterSeconds: 1, retryAfterAs: 'date' },
  ],
  ['is slow', { kind: 'slow', ms: 1_500, rate: 0.5 }],
  ['drips', { kind: 'drip', everyMs: 20, bytes: 64, rate: 0.4 }],
  ['cuts JSON short', { kind: 'truncated', rate: 0.2 }, { kind: 'cutOff', rate: 0.2 }],
  ['has no data', { kind: 'noData', rate: 0.4 }],
  ['answers nothing', { kind: 'empty', rate: 0.4 }],
  ['sends gzip bombs', { kind: 'bomb', bytes: 256 * 1_024 ** 2, rate: 0.2 }],
  ['names another content type', { kind: 'contentType', rate: 0.4 }],
  [
    'resets connections',
    { kind: 'reset', rate: 0.2 },
    { kind: 'reset', when: 'midway', rate: 0.2 },
    { kind: 'reset', when: 'after', rate: 0.1 },
  ],
  ['redirects', { kind: 'redirect', rate: 0.3 }],
  ['sends call ids as numbers', { kind: 'unquotedCallIds' }],
  ['pages threads that shift', { kind: 'shift', announce: true, rate: 0.1, operation: 'readThread' }],
  ['is down', { kind: 'error', status: 503, rate: 1 }],
];

test.for([...failing, ...believable])(
  'holds the final state after the service %s',
  async ([name, ...answers], { onTestFinished }) => {
    const { service } = deployment();
    const load = await startLoad(deployment(), createRandom(name), onTestFinished);
    await service.faults(...answers);
    await load.goesOn(40);
    await load.finish();
    await service.faults();
    if (believable.some(([each]) => each === name)) await load.readAgain();
    await expectNothingLost(deployment(), load);
  },
);

test('parks only what a revoked scope concerns, and goes on when it is granted again', async ({ onTestFinished }) => {
  const { service, database } = deployment();
  const load = await startLoad(deployment(), createRandom('scope'), onTestFinished);
  const all = ['sms:read', 'sms:write', 'sms:send', 'messages:read', 'messages:write', 'users:read', 'reports:read'];
  const others = ['recordings:read', 'webhooks:read', 'webhooks:write'];
  await load.goesOn(10);
  await service.grant([...all.filter((scope) => scope !== 'messages:read'), ...others]);
  await load.goesOn(20);
  await vi.waitUntil(async () => (await parked()).length > 0, limit);
  expect(await parked()).toEqual([{ kind: 'thread', missing_scope: 'messages:read' }]);
  const before = await callsHeld();
  await load.goesOn(20);
  await vi.waitUntil(async () => (await callsHeld()) > before, limit);
  await service.grant([...all, ...others]);
  await load.finish();
  await expectNothingLost(deployment(), load);
  expect(await parked()).toEqual([]);

  async function parked(): Promise<unknown[]> {
    return (await database.query('select kind, missing_scope from ops.streams')).rows;
  }
  async function callsHeld(): Promise<number> {
    return (await database.query('select from warehouse.calls')).rowCount ?? 0;
  }
});

test.for([
  ['a name that does not resolve', (): string => 'https://trunkline-service.invalid'],
  ['a server that does not speak TLS', (): string => deployment().service.url.replace('http:', 'https:')],
  ['a port that refuses', (): string => 'http://127.0.0.1:9'],
] as const)(
  'keeps what is owed while the API is %s, and reads it afterwards',
  async ([name, address], { onTestFinished }) => {
    const { worker, environment, database } = deployment();
    const load = await startLoad(deployment(), createRandom(name), onTestFinished);
    worker.signal('SIGTERM');
    await worker.ended();
    const lost = createPart(
      {
        name: 'worker without the API',
        args: ['worker'],
        env: { ...environment, API_BASE_URL: address() },
        readyWords: 'The worker processes its queues',
      },
      onTestFinished,
    );
    await lost.start();
    await load.goesOn(30);
    await vi.waitUntil(async () => (await failed()) > 0, limit);
    expect(lost.isRunning).toBe(true);
    await lost.crash();
    await worker.start();
    await load.finish();
    await expectNothingLost(deployment(), load);

    async function failed(): Promise<number> {
      const { rowCount } = await database.query(
        'select from ops.sync_targets where dirty_version > clean_version and last_error is not null',
      );
      return rowCount ?? 0;
    }
  },
);

test('looks again for recordings and transcripts that are late and never announced', async () => {
  const { service, hooks } = deployment();
  const durationSeconds = 120;
  // The first look comes a minute after the end of the call, which lies nearly as far back.
  const startedAt = Date.now() - (durationSeconds + 54) * 1_000;
  const { id: callId, transcriptIds } = await service.call({
    direction: 'inbound',
    status: 'answered',
    durationSeconds,
    startTime: new Date(startedAt).toISOString(),
    recorded: true,
    recordingAfterMs: 1_500,
    transcriptAfterMs: 2_500,
    announce: false,
  });
  const body = JSON.stringify({ callId, webhookType: 'AccountEndedCalls' });
  await createSender(hooks, createRandom('unannounced')).insist('AccountEndedCalls', body);
  const areWritten = async () => (await service.read(`/calls/${callId}/transcripts`)).length === transcriptIds.length;
  await vi.waitUntil(areWritten, { timeout: 10_000, interval: 100 });
  await expectNothingLost(deployment(), {
    threads: [],
    callIds: [callId],
    accepted: async () => [`AccountEndedCalls ${callId}`],
  });
});
