import { type Program, program } from '../program.ts';

/** A command in a process of its own. */
export const trunkline = (environment: Readonly<Record<string, string>>, ...args: string[]): Program =>
  program(args, environment);
