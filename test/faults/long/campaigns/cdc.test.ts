import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type DebianPostgres, startDebianPostgres } from '../../../stores/debian.ts';
import { caughtUp, mentionsOf, run, subscribe, tablesThatDiffer, viewsThatDiffer } from '../../../world/copy.ts';
import { migrated } from '../../../world/database.ts';
import { until } from '../../../world.ts';
import { deploy } from '../../deployment/deployment.ts';
import { runCommand } from '../../deployment/part.ts';
import type { PostgresStore } from '../../deployment/stores.ts';
import { createProgress, report, sized } from '../../figures.ts';
import { startLoad } from '../../load/load.ts';
import type { OnOpen } from '../../nemesis/proxy.ts';
import { expectNothingLost } from '../../oracle/oracle.ts';
import { createRandom } from '../../random.ts';

test('a copy is equal row by row after its publisher was killed again and again, and nobody erased is in it', async ({
  onTestFinished,
}) => {
  const began = performance.now();
  const kills = sized(20);
  const progress = createProgress('cdc');
  const random = createRandom('cdc');
  const publisher = await openServer({ wal_level: 'logical' }, onTestFinished);
  const copyServer = await openServer({ wal_retrieve_retry_interval: '500ms' }, onTestFinished);
  await migrated(copyServer.server.url);
  const urls = { publisher: publisher.superuserUrl, copy: copyServer.superuserUrl };
  const deployment = await deploy({ backend: 'postgres', openPostgres: async () => publisher }, onTestFinished);
  const { postgres, environment, web, worker } = deployment;

  await runCommand(['migrate', '--cdc-role', 'replica'], environment);
  await postgres.run(`alter role replica replication password 'replica'`);
  await subscribe(urls.copy, Object.assign(new URL(postgres.url), { username: 'replica', password: 'replica' }).href);
  const load = await startLoad(deployment, random, onTestFinished);
  for (let time = 0; time < kills; time += 1) {
    await load.isAccepted(random.between(1, 20));
    await postgres.crash();
    await sleep(random.between(0, 400));
    await postgres.start();
    progress(() => `${time + 1} of ${kills}`);
  }
  await load.isAccepted(3);
  await load.finish();
  await expectNothingLost(deployment, load);

  const erased = [...new Set(load.threads.map(({ number }) => number))].slice(0, 3);
  await caughtUp(urls.publisher);
  for (const number of erased) expect(await mentionsOf(number, urls)).not.toEqual([]);
  for (const number of erased) await runCommand(['erase', number, '--yes'], environment);
  await until(async () => {
    const waiting =
      'select from ops.rollup_markers union all select from ops.send_markers union all select from ops.rule_tallies';
    return (await run(urls.publisher, waiting)).length === 0;
  });
  for (const part of [web, worker]) {
    part.signal('SIGTERM');
    await part.ended();
  }
  await caughtUp(urls.publisher);
  expect(await tablesThatDiffer(urls)).toEqual({});
  for (const number of erased) expect(await mentionsOf(number, urls)).toEqual([]);
  const views = await viewsThatDiffer(urls);
  expect(views.differing).toEqual({});
  expect(views.answered.length).toBeGreaterThanOrEqual(10);
  const [rows] = await run(urls.copy, 'select sum(n_live_tup)::integer as count from pg_stat_user_tables');
  const said = `publisher killed ${kills} times under load, ${(await load.accepted()).length} deliveries accepted, about ${rows?.count} rows and ${views.answered.length} views equal, ${erased.length} people erased`;
  report('cdc', 'postgres', said, began);
}, 3_600_000);

/** A server of its own, whose crash is a SIGKILL. */
async function openServer(
  settings: Readonly<Record<string, string>>,
  onOpen: OnOpen,
): Promise<PostgresStore & { readonly superuserUrl: string; readonly server: DebianPostgres }> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-debian-'));
  onOpen(() => rm(folder, { recursive: true, force: true }));
  const server = await startDebianPostgres(folder, settings);
  onOpen(() => server.stop());
  const superuserUrl = Object.assign(new URL(server.superuserUrl), { pathname: new URL(server.url).pathname }).href;
  return {
    ...{ server, url: server.url, superuserUrl, crash: server.kill, start: server.restart },
    run: (...statements) => run(superuserUrl, ...statements).then(() => undefined),
    log: () => readFile(join(folder, 'postgres.log'), 'utf8'),
  };
}
