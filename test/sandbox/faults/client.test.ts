import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createService, type Service, ServiceError } from '../../../src/api-client/client.ts';
import type { FaultInput } from '../../../src/sandbox/faults/spec.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { createLog } from '../../../src/shared/log.ts';
import { bareRefusal, proxyPage, redirect, truncated } from '../presets.ts';

let sandbox: Sandbox;
let service: Service;
let patient: Service;
let from: string;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 5, threads: 0 });
  const client = {
    baseUrl: sandbox.url,
    apiKey: sandbox.apiKey,
    log: createLog('silent'),
    retry: { tries: 1 },
    circuit: { failures: 1_000 },
  };
  service = createService({ ...client, limits: { headersMs: 300, answerMs: 600 } });
  patient = createService(client);
  from = (await service.lines.list()).data[0]?.number ?? '';
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await Promise.all([service.close(), patient.close()]);
  await sandbox.close();
});

const charges = () => sandbox.sends().filter(({ charge }) => charge !== null).length;

async function failureOf(work: Promise<unknown>): Promise<ServiceError> {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(outcome instanceof ServiceError)) throw new Error(`${String(outcome)} is no ServiceError`);
  return outcome;
}

test.each<[string, FaultInput, Partial<ServiceError>, number]>([
  ['reset after it went out', { kind: 'reset', when: 'after' }, { code: 'network', effect: 'unknown' }, 1],
  ['reset before', { kind: 'reset' }, { code: 'network', effect: 'unknown' }, 0],
  ['reset midway', { kind: 'reset', when: 'midway' }, { code: 'network', effect: 'unknown' }, 1],
  ['answered too late', { kind: 'slow', ms: 5_000 }, { code: 'timeout', effect: 'unknown' }, 1],
  ['dripped out', { kind: 'drip', everyMs: 50 }, { code: 'timeout', effect: 'unknown' }, 1],
  ['cut off', { kind: 'cutOff' }, { effect: 'unknown' }, 1],
  ['answered by half', truncated, { code: 'unreadable', effect: 'unknown' }, 1],
  [
    'answered by nothing',
    { kind: 'answer', status: 200, body: '', when: 'after' },
    { code: 'unreadable', effect: 'unknown' },
    1,
  ],
  ['answered by a proxy', { ...proxyPage(502), when: 'after' }, { code: 'server', status: 502, effect: 'unknown' }, 1],
  ['refused by a proxy', bareRefusal, { code: 'unexpected_status', status: 403, effect: 'unknown' }, 0],
  ['led elsewhere', redirect, { code: 'redirect', effect: 'unknown' }, 0],
  ['refused by the service', { kind: 'answer' }, { code: 'server', status: 500, effect: 'none' }, 0],
  ['asked to wait', { kind: 'answer', status: 429 }, { code: 'rate_limited', effect: 'none' }, 0],
])('a send that is %s is charged as often as can be known', async (_, fault, expected, charged) => {
  sandbox.faults({ ...fault, operation: 'sendMessage' } as FaultInput);
  const error = await failureOf(service.messages.send({ from, to: ['12125550142'], message: 'hello' }));
  expect(error).toMatchObject(expected);
  expect(charges()).toBe(charged);
  await expect.poll(() => sandbox.requests().map(({ fault }) => fault)).toEqual([fault.kind]);
});

test('a reset forgets a send whose answer is still held back', async () => {
  sandbox.faults({ kind: 'slow', ms: 500, operation: 'sendMessage' });
  const held = patient.messages.send({ from, to: ['12125550142'], message: 'hello' });
  await expect.poll(charges).toBe(1);
  await sandbox.reset();
  await held;
  expect(sandbox.sends()).toEqual([]);
});
