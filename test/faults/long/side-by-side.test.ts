import { describe, expect, test } from 'vitest';
import { wantedTypes } from '../../../src/sync/subscriptions/ensure.ts';
import { backends } from '../../stores/backends.ts';
import { deploy, ourSubscriptions } from '../deployment/deployment.ts';
import { startLoad } from '../load/load.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom } from '../random.ts';

describe.concurrent.each(backends)('on %s', (backend) => {
  test('two webs and two workers share the load, also while one of each is replaced', async ({ onTestFinished }) => {
    const deployment = await deploy({ backend, webs: 2, workers: 2 }, onTestFinished);
    const registered = (await ourSubscriptions(deployment.service, deployment.addresses)).map(({ type }) => type);
    expect(registered.sort(), 'each webhook once').toEqual([...wantedTypes].sort());
    const load = await startLoad(deployment, createRandom(`pairs ${backend}`), onTestFinished);
    for (const part of [deployment.webs[1], deployment.workers[1]]) {
      await load.goesOn(30);
      part?.signal('SIGTERM');
      expect(await part?.ended()).toEqual({ code: 0, signal: null });
      await load.goesOn(10);
      await part?.start();
    }
    await load.isAccepted(3);
    await load.finish();
    await expectNothingLost(deployment, load);
  });
});
