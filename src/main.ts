#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// Stripped types and compiled code are kept between starts; that halves the time and the memory of a start.
enableCompileCache();
const { createProgram } = await import('./cli/program.ts');
const { makeConsolePrintable } = await import('./cli/exit.ts');
// Loaded when a command asks for it: a receiver has no use for what workers read with.
const workers = () => import('../workers/workers.ts');

makeConsolePrintable();
await createProgram({
  startWorkers: async (context, options) => (await workers()).startWorkers(context, options),
}).parseAsync();
