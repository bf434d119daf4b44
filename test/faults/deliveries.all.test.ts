import { test, vi } from 'vitest';
import { conditionTimeoutMs } from '../timeouts.ts';
import { deployForSuite } from './deployment/suite.ts';
import { startLoad } from './load/load.ts';
import { expectNothingLost } from './oracle/oracle.ts';
import { createRandom } from './random.ts';

/* Bodies of any shape are in `webhooks/` and `server/hooks.test.ts`, forged ones in `sync/unconfirmed-targets.all.test.ts`. */

const deployment = deployForSuite({ backend: 'redis' });

test('mirrors texts and calls whose deliveries are late, doubled and overtake each other', async ({
  onTestFinished,
}) => {
  const { service, database } = deployment();
  // The history of the day before is mirrored at the start by itself; what is counted here must not be of it.
  const history = `select count(*) > 0 and count(*) filter (where due_at <= now()) = 0 as is_held from ops.coverage`;
  const isHeld = async () => (await database.query(history)).rows[0].is_held === true;
  await vi.waitUntil(isHeld, { timeout: conditionTimeoutMs, interval: 50 });
  const load = await startLoad(deployment(), createRandom('disorder'), onTestFinished);
  await service.faults(
    { kind: 'delayed', ms: 200 },
    { kind: 'repeated', rate: 0.4 },
    { kind: 'delayed', ms: 1_000, rate: 0.5 },
    { kind: 'dropped', rate: 0.1 },
  );
  await load.goesOn(80);
  await load.finish();
  await service.faults();
  await expectNothingLost(deployment(), load);
});
