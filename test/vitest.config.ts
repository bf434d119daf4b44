import './environment.ts';

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
    const rank = ({ moduleId, project }: TestSpecification) =>
      (project.name === 'debian' ? 0 : 2) + (longFolders.test(moduleId) ? 0 : 1);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}

/** The statements of the mirror run on both servers, as do the migrations, which create the database that the tests clone. */
const onBoth = ['warehouse'];

/** What asks most of Postgres apart from those runs on Debian's, the older one with its default settings; all else on the embedded. */
const onDebian = ['completeness', 'config', 'db', 'inbox', 'ledger', 'privacy', 'reporting', 'stores', 'sync'];

const root = fileURLToPath(new URL('..', import.meta.url));

/** By `npm test -- --postgres=…`: all on the one, all on the other, or (by default) shared between them as above. */
const servers = process.env.TEST_POSTGRES ?? 'shared';

const isFaults = process.env.FAULTS === 'all';

const all = ['test/**/*.test.ts'];
const filesIn = (folders: readonly string[]) => folders.map((folder) => `test/${folder}/**/*.test.ts`);
/** What takes minutes runs by `npm run faults`. */
const longFiles = isFaults ? [] : ['test/faults/long/**'];

const projects = [
  {
    name: 'debian',
    include: servers === 'shared' ? filesIn([...onBoth, ...onDebian]) : all,
    exclude: longFiles,
    isChosen: servers !== 'embedded',
  },
  {
    name: 'embedded',
    include: all,
    exclude: servers === 'shared' ? [...longFiles, ...filesIn(onDebian)] : longFiles,
    isChosen: servers !== 'debian',
  },
].flatMap(({ isChosen, ...test }) =>
  isChosen ? [{ extends: true as const, test: { ...test, globalSetup: ['test/stores/setup.ts'] } }] : [],
);

export default defineConfig({
  root,
  test: {
    projects,
    setupFiles: ['test/draws.ts'],
    // Only what never ends should fail by time: a loaded machine may take many times as long as an idle one.
    testTimeout: isFaults ? 600_000 : 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: conditionTimeoutMs } },
    // Much of a test is waiting for processes and stores: with five at a time, two cores are idle for a twentieth of the time.
    maxWorkers: 6,
    // Loading the modules of a file costs more than most files do: each takes over what those before it loaded.
    isolate: false,
    // Node loads the sources as it does in a deployment, compiled once for all workers and runs.
    experimental: { viteModuleRunner: false },
    sequence: { sequencer: LongestFirst },
  },
});
