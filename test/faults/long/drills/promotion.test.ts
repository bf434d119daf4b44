import { describe, test } from 'vitest';
import { backends } from '../../../stores/backends.ts';
import { deploy } from '../../deployment/deployment.ts';
import { openMovingPostgres } from '../../deployment/moving-postgres.ts';
import { startTown } from '../../load/town.ts';
import { createRandom } from '../../random.ts';
import { conclude, drawPace, drillLimitMs, drills, liveAgain, liveInVain, liveOn, liveRules } from './drill.ts';

describe.each(backends)('on %s', (backend) => {
  test.for(drills(5))(
    'promotion %i: a standby that lacks the last seconds takes the place of the primary',
    { timeout: drillLimitMs },
    async (number, { onTestFinished }) => {
      const began = performance.now();
      const random = createRandom(`promotion ${backend} ${number}`);
      const pace = drawPace(random);
      const isRestarted = number % 2 === 0;
      const postgres = await openMovingPostgres(onTestFinished);
      const deployment = await deploy(
        {
          backend,
          workers: 2,
          environment: await liveRules(onTestFinished),
          openPostgres: async () => postgres.store,
        },
        onTestFinished,
      );
      const { service, database, environment, redis, webs, workers } = deployment;
      const parts = [...webs, ...workers];
      const town = await startTown(service, random, pace.perSecond, onTestFinished);
      const site = { service, database, redisUrl: redis?.url, parts, environment, town };

      await liveOn();
      const standby = await postgres.follow();
      await standby.cut();
      const lostFrom = Date.now();
      await liveInVain(site, pace.lostMs);
      await standby.promote();
      if (isRestarted) {
        await Promise.all(parts.map((part) => part.crash()));
        await Promise.all(parts.map((part) => part.start()));
      }
      await liveAgain(site, lostFrom);
      await conclude(site, 'promotion', backend, pace, isRestarted ? 'restarted' : 'kept running', began);
    },
  );
});
