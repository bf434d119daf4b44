#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import type { Entry } from './cli/lifecycle.ts';

// Caching compiled code between starts halves the time and the memory of a start.
enableCompileCache();
const { createProgram } = await import('./cli/program.ts');
const { makeConsolePrintable } = await import('./cli/failures.ts');
// Loaded on demand, since a receiver does not need the code of the workers.
const workers = () => import('../workers/workers.ts');

makeConsolePrintable();
const entry: Entry = {
  startWorkers: async (context, options) => (await workers()).startWorkers(context, options),
};
await createProgram(entry, process.argv.slice(2)).parseAsync();
