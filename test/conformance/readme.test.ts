import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { coverageTable, operationsTable } from './operations-table.ts';

const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');

test('the README shows every operation with its scope, its method and its cases', () => {
  expect(readme).toContain(operationsTable());
});

test('the README shows how many clauses of each section are tested', () => {
  expect(readme).toContain(coverageTable());
});
