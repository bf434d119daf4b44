#!/usr/bin/env node
import { startWorkers } from '../workers/workers.ts';
import { createProgram } from './cli/program.ts';

await createProgram({ startWorkers }).parseAsync();
