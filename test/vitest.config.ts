import './environment.ts';

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { selectFiles } from './selection.ts';
import { conditionTimeoutMs, testTimeoutMs } from './timeouts.ts';

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

const { debian, embedded } = selectFiles();
const projects = Object.entries({ debian, embedded }).flatMap(([name, include]) =>
  include.length === 0
    ? []
    : [{ extends: true as const, test: { name, include: [...include], globalSetup: ['test/stores/setup.ts'] } }],
);

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    projects,
    setupFiles: ['test/draws.ts'],
    testTimeout: testTimeoutMs,
    hookTimeout: testTimeoutMs,
    // So many failures have one reason.
    bail: 20,
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
