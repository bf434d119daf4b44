import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { coverageTable, operationsTable } from './operations-table.ts';

const path = '../../docs/api-coverage.md';
const tables = { operations: operationsTable(), clauses: coverageTable() };

test('docs/api-coverage.md shows every operation, and how much of each section is tested', async () => {
  let page = await readFile(new URL(path, import.meta.url), 'utf8');
  for (const [name, table] of Object.entries(tables)) {
    const place = new RegExp(`(<!-- ${name} -->\\n).*?(\\n<!-- end -->)`, 's');
    expect(page).toMatch(place);
    page = page.replace(place, (_, before, after) => before + table + after);
  }
  // With -u, the page is written with the tables as they should be.
  await expect(page).toMatchFileSnapshot(path);
});
