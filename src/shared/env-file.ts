import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadEnvFile } from 'node:process';
import { UserError } from './errors.ts';

let loaded: { readonly path: string; readonly names: ReadonlySet<string> } | undefined;

/**
 * Loads the variables of a `.env` in the current folder that the shell doesn't set. Not in a test (NODE_ENV=test),
 * which must not act on the account of whoever runs it. Throws a UserError if it can't be read.
 */
export function loadOwnEnvFile(): void {
  const path = resolve('.env');
  if (process.env.NODE_ENV === 'test' || !existsSync(path)) return;
  const before = new Set(Object.keys(process.env));
  try {
    loadEnvFile(path);
  } catch (cause) {
    throw new UserError(`${path} can't be read.`, { remedy: 'Let this user read it, or move it away.', cause });
  }
  loaded = { path, names: new Set(Object.keys(process.env)).difference(before) };
}

/** A sentence that names the loaded file. Undefined if nothing of it counts. */
export function envFileNote(): string | undefined {
  return loaded && loaded.names.size > 0 ? `Using the variables in ${loaded.path}.` : undefined;
}

/** Whether a variable came from the file, so that other commands in this folder have it too. */
export function isOfEnvFile(name: string): boolean {
  return loaded?.names.has(name) ?? false;
}
