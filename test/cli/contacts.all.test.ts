import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../at-end.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';
import { runInProcess } from './in-process.ts';

test('an import of 100,000 rows takes seconds', async () => {
  const folder = await temporaryFolder();
  const row = (at: number) => `1212${5_550_000 + at},Name ${at},"Company, ${at}",Sam,es,vip;gold`;
  const rows = Array.from({ length: 100_000 }, (_, at) => row(at));
  const file = join(folder, 'customers.csv');
  await writeFile(file, ['number,name,company,owner,language,tags', ...rows].join('\n'));
  const environment = { DATABASE_URL: await databaseForTest(migrated) };
  const began = performance.now();
  const { code, out } = await runInProcess(environment, 'contacts', 'import', file);
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('100,000 contacts: 100000 new') });
  expect(performance.now() - began).toBeLessThan(30_000);
});
