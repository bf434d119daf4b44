import { readdirSync, readFileSync } from 'node:fs';

const config = new URL('../../config/', import.meta.url);
export const readConfig = (path: string) => readFileSync(new URL(path, config), 'utf8');

/** The files of the cookbook in their order. */
export const questions = readdirSync(new URL('cookbook/', config))
  .filter((file) => file.endsWith('.sql'))
  .sort()
  .map((file) => ({ file, text: readConfig(`cookbook/${file}`) }));

/** The text of a file of the cookbook, by its name without the number. */
export function question(name: string): string {
  const found = questions.find(({ file }) => file.replace(/^\d+-/, '') === `${name}.sql`);
  if (!found) throw new Error(`The cookbook has no ${name}`);
  return found.text;
}
