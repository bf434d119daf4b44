import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { conditionTimeoutMs } from './timeouts.ts';

/** Whole deployments, outages, commands in processes of their own, every case of the specification: what takes long begins first. */
const longFolders = /\/test\/(?:faults|local|credentials|cli|conformance|queues|rules\/shipped)\b/;

/** One server after the other, since a worker that changes servers is started anew, which costs seconds of loading modules. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => longFolders.test(moduleId);
    const ofServers = Map.groupBy(sorted, ({ project }) => project.name);
    return [...ofServers.values()].flatMap((own) => [...own.filter(isLong), ...own.filter((file) => !isLong(file))]);
  }
}

/** The folders whose tests depend on the version or the settings of Postgres: they run on Debian's too. */
const sqlFolders = [
  'completeness',
  'config',
  'db',
  'inbox',
  'ledger',
  'privacy',
  'reporting',
  'stores',
  'sync',
  'warehouse',
];

/** What takes long there by waiting or by processes of its own, and asks Postgres nothing that the others do not. */
const longFiles = [
  'test/db/dead-connections.test.ts',
  'test/sync/mirroring.test.ts',
  'test/sync/unconfirmed-targets.test.ts',
  'test/completeness/coverage/backfill.test.ts',
  'test/completeness/gaps/gap-detection.test.ts',
  'test/ledger/crashes.test.ts',
  'test/ledger/model.test.ts',
  'test/privacy/erase-at-service.test.ts',
  'test/ledger/worker.test.ts',
  'test/reporting/freshness.test.ts',
  'test/reporting/oracle.test.ts',
];

const root = fileURLToPath(new URL('..', import.meta.url));

/** Whether a file, or what it imports, takes a database: without one it would do the same on both servers. */
function usesPostgres(path: string, seen = new Set<string>()): boolean {
  if (path.endsWith('test/stores/databases.ts')) return true;
  if (seen.has(path)) return false;
  seen.add(path);
  const imports = readFileSync(join(root, path), 'utf8').matchAll(/\b(?:from|import)\s*\(?'(\.[^']+\.ts)'/g);
  return [...imports].some(([, name = '']) => usesPostgres(join(dirname(path), name), seen));
}

const onBoth = sqlFolders
  .flatMap((folder) => globSync(`test/${folder}/**/*.test.ts`, { cwd: root }))
  .filter((file) => usesPostgres(file) && !longFiles.includes(file));

/** The Postgres servers to run on, by `npm test -- --postgres=…`. Default: all files on the embedded one, the folders above on Debian's too. */
const servers = process.env.TEST_POSTGRES ?? 'both';

const isFaults = process.env.FAULTS === 'all';

const projects = [
  { name: 'embedded', include: ['test/**/*.test.ts'], isChosen: servers !== 'debian' },
  {
    name: 'debian',
    include: servers === 'debian' ? ['test/**/*.test.ts'] : onBoth,
    isChosen: servers !== 'embedded',
  },
].flatMap(({ name, include, isChosen }) =>
  isChosen ? [{ extends: true as const, test: { name, include, globalSetup: ['test/stores/setup.ts'] } }] : [],
);

export default defineConfig({
  root,
  test: {
    projects,
    // `npm run faults` runs those that take minutes too.
    exclude: isFaults ? [] : ['test/faults/long/**'],
    setupFiles: ['test/draws.ts'],
    // Only what never ends should fail by time: a loaded machine may take many times as long as an idle one.
    testTimeout: isFaults ? 600_000 : 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: conditionTimeoutMs } },
    // Much of a test is waiting for processes and stores: with four at a time, two cores are idle for an eighth of the time.
    maxWorkers: 5,
    // Loading the modules of a file costs more than most files do: each takes over what those before it loaded.
    isolate: false,
    sequence: { sequencer: LongestFirst },
  },
});
