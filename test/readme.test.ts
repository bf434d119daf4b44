import { readFile } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { settingsTable } from '../config/settings.ts';
import { migratedDatabase } from './world/database.ts';

const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

test('the README shows the settings as their schema has them', () => {
  expect(readme).toContain(settingsTable());
});

const samples = [...readme.matchAll(/```sql\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
  block.split(/;\s*\n/).filter((statement) => statement.trim() !== ''),
);

test.each(samples)("the README's sample runs: %s", async (statement) => {
  await expect(database.query(statement)).resolves.toBeInstanceOf(Array);
});

test('the README has samples to run', () => {
  expect(samples.length).toBeGreaterThan(3);
});
