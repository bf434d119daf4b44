import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Whole deployments, commands in processes of their own, every case of the specification: what takes long begins first. */
const longFolders = /\/test\/(?:faults|local|credentials|cli|conformance)\//;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => longFolders.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    // `npm run faults` runs those that take minutes too.
    exclude: process.env.FAULTS === 'all' ? [] : ['test/faults/long/**'],
    globalSetup: ['test/stores/setup.ts'],
    setupFiles: ['test/draws.ts'],
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // What is waited for comes at once, but a machine that does three things at a time may stand still for a second.
    expect: { poll: { timeout: 20_000 } },
    // Much of a test is waiting for processes and stores, so that three at a time are worth it even on two cores.
    maxWorkers: 3,
    // Loading the modules of a file costs more than most files do: each takes over what those before it loaded.
    isolate: false,
    sequence: { sequencer: LongestFirst },
  },
});
