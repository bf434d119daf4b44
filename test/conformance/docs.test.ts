import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { operationsTable } from './operations-table.ts';

const path = '../../docs/api-coverage.md';

test('docs/api-coverage.md shows every operation', async () => {
  const page = await readFile(new URL(path, import.meta.url), 'utf8');
  const place = /(<!-- operations -->\n).*?(\n<!-- end -->)/s;
  expect(page).toMatch(place);
  // With -u, the page is written with the table as it should be.
  await expect(page.replace(place, (_, before, after) => before + operationsTable() + after)).toMatchFileSnapshot(path);
});
