import { readFile } from 'node:fs/promises';
import { type Settings, SettingsError } from '../../config/settings.ts';
import { parseRules } from '../rules/file/parse.ts';

/**
 * Stops a start whose RULES_FILE names a file that is missing or has mistakes, since somebody meant its rules to be in
 * force. A file that goes bad later replaces nothing, and stops nothing. Throws a SettingsError.
 */
export async function refuseBadRules(
  { rulesFile: file, timeZone }: Pick<Settings, 'rulesFile' | 'timeZone'>,
  { RULES_FILE }: Readonly<Record<string, string | undefined>> = process.env,
): Promise<void> {
  if (!RULES_FILE) return;
  try {
    parseRules(await readFile(file, 'utf8'), { file, timeZone });
  } catch (error) {
    throw new SettingsError([`RULES_FILE names a file that cannot be used:${problemOf(file, error as Error)}`]);
  }
}

function problemOf(file: string, error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'rules') return ` ${file} cannot be read (${code ?? error.message})`;
  // Each mistake has its own place, line and cure below it.
  return `\n${error.message}`.replace(/\n(?=.)/g, '\n    ');
}
