import { expect, test } from 'vitest';
import { deployForSuite } from '../../deployment/suite.ts';
import { createProgress, report, sized } from '../../figures.ts';
import { fuzzed } from '../../load/fuzz.ts';
import { startLoad } from '../../load/load.ts';
import { expectNothingLost } from '../../oracle/oracle.ts';
import { createRandom } from '../../random.ts';

const bodies = sized(5_000);
const lanes = 8;
const deployment = deployForSuite({ backend: 'redis' });

test('keeps every fuzzed body and mirrors what happens meanwhile', async ({ onTestFinished }) => {
  const began = performance.now();
  const progress = createProgress('fuzz');
  const random = createRandom('fuzz');
  const load = await startLoad(deployment(), createRandom('beside the fuzz'), onTestFinished);
  const before = await stored();
  const statuses: number[] = [];
  let left = bodies;
  async function lane(): Promise<void> {
    while (left > 0) {
      left -= 1;
      const { type, contentType, body } = fuzzed(random);
      const response = await fetch(deployment().hooks(type)[0] as string, {
        method: 'POST',
        headers: { 'content-type': contentType, 'user-agent': 'fuzz' },
        body: new Uint8Array(body),
      });
      await response.text();
      statuses.push(response.status);
      progress(() => `${statuses.length} of ${bodies}`);
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane));
  await load.finish();
  expect([...new Set(statuses)]).toEqual([202]);
  expect(await stored()).toBe(before + bodies);
  await expectNothingLost(deployment(), load);
  report('fuzz', 'redis', `${bodies} fuzzed bodies beside a load`, began);
}, 1_800_000);

async function stored(): Promise<number> {
  const { rows } = await deployment().database.query<{ count: number }>(
    `select count(*)::integer as count from ops.deliveries where user_agent = 'fuzz'`,
  );
  return rows[0]?.count ?? 0;
}
