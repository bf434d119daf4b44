#!/usr/bin/env node
import { createProgram } from './cli/program.ts';

// Loaded when a command asks for it: a receiver has no use for what workers read with.
const workers = () => import('../workers/workers.ts');

await createProgram({
  startWorkers: async (context, options) => (await workers()).startWorkers(context, options),
}).parseAsync();
