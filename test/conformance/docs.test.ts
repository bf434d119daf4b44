import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { coverageTable, operationsTable } from './operations-table.ts';

const page = await readFile(new URL('../../docs/api-coverage.md', import.meta.url), 'utf8');

test('docs/api-coverage.md shows every operation with its scope, its method and its cases', () => {
  expect(page).toContain(operationsTable());
});

test('docs/api-coverage.md shows how many clauses of each section are tested', () => {
  expect(page).toContain(coverageTable());
});
