import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, test } from 'vitest';
import { type Backend, backends } from '../../../stores/backends.ts';
import { debianPrograms } from '../../../stores/debian.ts';
import { type Deployment, deploy } from '../../deployment/deployment.ts';
import { openMovingPostgres } from '../../deployment/moving-postgres.ts';
import { type Part, runCommand } from '../../deployment/part.ts';
import { startTown } from '../../load/town.ts';
import type { OnOpen } from '../../nemesis/proxy.ts';
import { createRandom } from '../../random.ts';
import { conclude, drawPace, drillLimitMs, drills, liveAgain, liveInVain, liveOn, liveRules } from './drill.ts';

const timeout = drillLimitMs;

describe.each(backends)('on %s', (backend) => {
  test.for(drills(4))(
    'old dump %i: a back-up is restored by the book',
    { timeout },
    async (number, { onTestFinished }) => {
      // An outage can be longer than rules act on what they find after it.
      const maxAge = number % 2 === 0 ? '10s' : '10m';
      await restoreDump(`old dump ${number}`, backend, onTestFinished, byTheBook, maxAge);
    },
  );

  test.for(drills(1))(
    'forgotten step %i: a back-up is restored, and everything started with live rules',
    { timeout },
    async (number, { onTestFinished }) => {
      await restoreDump(`forgotten step ${number}`, backend, onTestFinished, ({ webs, workers }) =>
        startAll([...webs, ...workers]),
      );
    },
  );
});

async function restoreDump(
  name: string,
  backend: Backend,
  onOpen: OnOpen,
  start: (deployment: Deployment) => Promise<void>,
  maxAge?: string,
): Promise<void> {
  const began = performance.now();
  const random = createRandom(`${name} ${backend}`);
  const pace = drawPace(random);
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-dump-'));
  onOpen(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'trunkline.dump');
  const postgres = await openMovingPostgres(onOpen);
  const deployment = await deploy(
    { backend, workers: 2, environment: await liveRules(onOpen, maxAge), openPostgres: async () => postgres.store },
    onOpen,
  );
  const { service, database, environment, redis, webs, workers } = deployment;
  const parts = [...webs, ...workers];
  const town = await startTown(service, random, pace.perSecond, onOpen);
  const site = { service, database, redisUrl: redis?.url, parts, environment, town };

  await liveOn();
  await run('pg_dump', '--format=custom', `--file=${file}`, postgres.server.url);
  const lostFrom = Date.now();
  await liveInVain(site, pace.lostMs);
  await Promise.all(parts.map(end));
  const fresh = await postgres.another();
  await run('pg_restore', '--exit-on-error', `--dbname=${fresh.url}`, file);
  postgres.moveTo(fresh);
  await start(deployment);
  await liveAgain(site, lostFrom);
  await conclude(site, name.replace(/ \d+$/, ''), backend, pace, 'restored from a dump', began);
}

/** What docs/deploy.md says to do after `pg_restore`. */
async function byTheBook({ webs, workers, environment }: Deployment): Promise<void> {
  await runCommand(['migrate', '--json'], environment);
  await runCommand(['restored', '--json'], environment);
  await startAll([...webs, ...workers]);
}

async function startAll(parts: readonly Part[]): Promise<void> {
  await Promise.all(parts.map((part) => part.start()));
}

async function end(part: Part): Promise<void> {
  part.signal('SIGTERM');
  await part.ended();
}

/** One of Postgres' own programs, with the options of docs/deploy.md. */
async function run(program: string, ...args: string[]): Promise<void> {
  await promisify(execFile)(join(debianPrograms() ?? '', program), ['--no-owner', '--no-acl', ...args]);
}
