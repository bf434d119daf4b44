import { expect, inject, test } from 'vitest';
import { createQueues } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { testQueuesOn } from './contract.ts';

await testQueuesOn('postgres');

test('opening queues in a database without their schema is refused', async () => {
  const opening = createQueues({ redisUrl: undefined, databaseUrl: inject('postgresUrl'), log: createLog('silent') });
  await expect(opening).rejects.toThrow(/migrat/i);
});
