import '../environment.ts';

import { fileURLToPath } from 'node:url';
import { startVitest } from 'vitest/node';
import { withheld } from '../environment.ts';

// The one run that a variable may point at another service than the sandbox.
for (const name of Object.keys(withheld)) if (name.startsWith('CONFORMANCE_')) process.env[name] = withheld[name];

/** `npm run conformance`: the suite alone, without the stores that other tests need; a name selects cases. */
const vitest = await startVitest('test', [], {
  root: fileURLToPath(new URL('../..', import.meta.url)),
  config: false,
  run: true,
  watch: false,
  include: ['test/conformance/conformance.test.ts'],
  testTimeout: 20_000,
  hookTimeout: 60_000,
  reporters: ['tree'],
  ...(process.argv[2] !== undefined && { testNamePattern: process.argv[2] }),
});
await vitest.close();
