import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    // `npm run faults` runs those that take minutes too.
    exclude: process.env.FAULTS === 'all' ? [] : ['test/faults/long/**'],
    globalSetup: ['test/stores/setup.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // Much of a test is waiting for processes and stores, so that two at a time are worth it even on one core.
    maxWorkers: 2,
  },
});
