import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Pool } from 'pg';
import { describe, test } from 'vitest';
import { findRunning } from '../../../../src/local/data-folder.ts';
import { backends } from '../../../stores/backends.ts';
import { createPart } from '../../deployment/part.ts';
import { freePort } from '../../deployment/ports.ts';
import { openSandbox } from '../../deployment/sandbox.ts';
import { openRedis } from '../../deployment/stores.ts';
import { startTown } from '../../load/town.ts';
import { createRandom } from '../../random.ts';
import { conclude, drawPace, drillLimitMs, drills, liveAgain, liveInVain, liveOn, liveRules } from './drill.ts';

describe.each(backends)('on %s', (backend) => {
  test.for(drills(5))(
    'copied folder %i: a copy of the data folder takes the place of the folder',
    { timeout: drillLimitMs },
    async (number, { onTestFinished }) => {
      const began = performance.now();
      const random = createRandom(`copied folder ${backend} ${number}`);
      const pace = drawPace(random);
      // Whoever copies the database alone keeps what lies beside it.
      const isWhole = number % 2 === 1;
      const folder = await mkdtemp(join(tmpdir(), 'trunkline-folder-'));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      // Postgres does not run as root, and enters as somebody else.
      await chmod(folder, 0o755);
      const dataDir = join(folder, 'data');
      const copied = isWhole ? dataDir : join(dataDir, 'postgres');
      const [service, redis] = await Promise.all([
        openSandbox(onTestFinished),
        backend === 'redis' ? openRedis(folder, onTestFinished) : undefined,
      ]);
      const port = await freePort();
      const environment = {
        ...(await liveRules(onTestFinished)),
        DATA_DIR: dataDir,
        API_BASE_URL: service.url,
        API_KEY: 'sandbox-key',
        ...(redis && { REDIS_URL: redis.url }),
        PORT: String(port),
        PUBLIC_URL: `http://127.0.0.1:${port}`,
      };
      const start = createPart(
        { name: 'start', args: ['start'], env: environment, readyWords: 'Trunkline is running' },
        onTestFinished,
      );
      const restart = async (between: () => Promise<void>) => {
        start.signal('SIGTERM');
        await start.ended();
        await between();
        await start.start();
      };
      await start.start();
      const town = await startTown(service, random, pace.perSecond, onTestFinished);
      const lived = { environment, town };

      await liveOn();
      await restart(() => copy(copied, join(folder, 'copy')));
      const lostFrom = Date.now();
      await liveInVain(lived, pace.lostMs);
      await restart(async () => {
        await rm(copied, { recursive: true });
        await copy(join(folder, 'copy'), copied);
      });
      await liveAgain(lived, lostFrom);
      const running = await findRunning(dataDir);
      const database = new Pool({ connectionString: running?.databaseUrl ?? '', max: 2 });
      onTestFinished(() => database.end());
      const site = { ...lived, service, database, redisUrl: redis?.url, parts: [start] };
      await conclude(site, 'copied folder', backend, pace, isWhole ? 'all of it' : 'the database alone', began);
    },
  );
});

/** With its owners, which Postgres insists on. */
async function copy(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
}
