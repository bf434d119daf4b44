import { makeConsolePrintable, runCommand } from './cli/failures.ts';
import type { Entry } from './cli/lifecycle.ts';
import { createProgram } from './cli/program.ts';
import { loadOwnEnvFile } from './shared/env-file.ts';

// Loaded on demand, since a receiver doesn't need the code of the workers.
const workers = () => import('../workers/workers.ts');

makeConsolePrintable();
await runCommand(loadOwnEnvFile, process.argv.includes('--json'));
const entry: Entry = {
  startWorkers: async (context, options) => (await workers()).startWorkers(context, options),
};
await createProgram(entry, process.argv.slice(2)).parseAsync();
