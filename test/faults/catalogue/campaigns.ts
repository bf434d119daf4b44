import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The test files of each campaign, which does one thing many times over; `once` is every fault by itself. */
export const campaigns: Readonly<Record<string, readonly string[]>> = {
  kills: ['test/faults/long/campaigns/kills.test.ts'],
  'random-kills': ['test/faults/long/campaigns/random-kills.test.ts'],
  stores: ['test/faults/long/campaigns/stores.test.ts'],
  cdc: ['test/faults/long/campaigns/cdc.test.ts'],
  permutations: ['test/faults/long/campaigns/permutations.test.ts'],
  fuzz: ['test/faults/long/campaigns/fuzz.test.ts'],
  paging: ['test/completeness/coverage/listing.test.ts'],
  refresh: ['test/credentials/processes.test.ts'],
  ledger: ['test/ledger/model.test.ts', 'test/faults/long/ledger.test.ts'],
  week: ['test/faults/long/week.test.ts'],
  drills: testsIn('test/faults/long/drills'),
  once: [...testsIn('test/faults'), ...testsIn('test/faults/long')],
};

function testsIn(folder: string): string[] {
  const files = readdirSync(`${root}${folder}`).filter((name) => name.endsWith('.test.ts'));
  return files.map((name) => `${folder}/${name}`);
}
