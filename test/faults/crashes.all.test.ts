import { describe, expect, test } from 'vitest';
import { backends } from '../stores/backends.ts';
import { loseJobs } from './deployment/stores.ts';
import { isAccepted } from './load/sender.ts';
import { surviveUnderLoad } from './load/survive.ts';

/** Each happening is read, and compared at the end: few of them are enough for one crash of each part. */
const gentle = { from: 50, to: 150 };

/** Every part once, within a minute; each by itself, and more than once, is in `long/`. */
describe.concurrent.each(backends)('on %s', (backend) => {
  test('loses nothing that it answered 2xx while every part is killed in turn under load', async ({
    onTestFinished,
  }) => {
    await surviveUnderLoad('parts', { backend, pace: gentle }, onTestFinished, async (deployment) => {
      const { web, worker, postgres, redis, load, random } = deployment;
      await load.isAccepted(3);

      await web.crash();
      await load.isRefused(1);
      await web.start();
      await load.goesOn(random.between(5, 10));

      await worker.crash();
      await load.goesOn(random.between(3, 6));
      await worker.start();
      await load.goesOn(random.between(5, 10));

      await loseJobs(deployment);
      await redis?.crash();
      const withoutQueues = await load.sentDuring(() => load.goesOn(redis ? 20 : 0));
      await redis?.start();
      await load.isAccepted(3);

      await postgres.crash();
      const withoutPostgres = await load.sentDuring(() => load.isRefused(3));
      await postgres.start();

      expect(withoutQueues.filter((each) => !isAccepted(each))).toEqual([]);
      expect(withoutPostgres.length).toBeGreaterThan(0);
      expect(withoutPostgres.filter(({ status, retryAfter }) => status !== 503 || retryAfter === null)).toEqual([]);
    });
  });
});
