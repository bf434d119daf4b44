import { test } from 'vitest';
import { deploy } from '../deployment/deployment.ts';
import { startLoad } from '../load/load.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom } from '../random.ts';

const rate = 0.03;

test('holds the final state after every kind of wrong answer came now and then', async ({ onTestFinished }) => {
  const deployment = await deploy({ backend: 'postgres' }, onTestFinished);
  const load = await startLoad(deployment, createRandom('answers'), onTestFinished);
  await deployment.service.faults(
    { kind: 'encoded', as: 'unquotedCallIds' },
    { kind: 'error', status: 500, rate },
    { kind: 'error', status: 429, retryAfterSeconds: 1, rate },
    { kind: 'error', status: 404, operation: 'GET /', rate },
    { kind: 'html', status: 502, rate },
    { kind: 'html', status: 200, rate },
    { kind: 'empty', rate },
    { kind: 'redirect', rate },
    { kind: 'reset', rate },
    { kind: 'reset', when: 'midway', rate },
    { kind: 'drip', everyMs: 10, bytes: 256, rate },
    { kind: 'truncated', rate },
    { kind: 'cutOff', rate },
    { kind: 'contentType', rate },
    { kind: 'noData', rate },
    { kind: 'noRows', rate },
    { kind: 'siblings', rate },
    { kind: 'newKeys', rate },
    { kind: 'newValues', rate },
    { kind: 'fields', change: 'drop', rate },
    { kind: 'fields', change: 'null', rate },
    { kind: 'fields', change: 'retype', rate },
    { kind: 'unquotedCallIds' },
  );
  await load.goesOn(60);
  await load.finish();
  await deployment.service.faults();
  await load.readAgain();
  await expectNothingLost(deployment, load);
});
