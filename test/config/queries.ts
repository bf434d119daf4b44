import { readdirSync, readFileSync } from 'node:fs';

const config = new URL('../../config/', import.meta.url);
export const readConfig = (path: string) => readFileSync(new URL(path, config), 'utf8');

/** The files of the cookbook in their order. */
export const questions = readdirSync(new URL('cookbook/', config))
  .filter((file) => file.endsWith('.sql'))
  .sort()
  .map((file) => ({ file, text: readConfig(`cookbook/${file}`) }));

/** The question of the cookbook whose file begins with a number. */
export function question(number: string): string {
  const found = questions.find(({ file }) => file.startsWith(`${number}-`));
  if (!found) throw new Error(`The cookbook has no ${number}`);
  return found.text;
}
