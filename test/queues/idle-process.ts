import { createQueues } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';

// Uses the queues, closes them, and must then end by itself: nothing here exits the process.
const [redisUrl = '', databaseUrl = ''] = process.argv.slice(2);
const queues = await createQueues({ redisUrl: redisUrl || undefined, databaseUrl, log: createLog('error') });
const handled = Promise.withResolvers<void>();
const worker = queues.work('calls', {}, async () => handled.resolve());
while (!(await queues.health()).isReachable) await new Promise((resolve) => setTimeout(resolve, 20));
await queues.enqueue('calls', [{ kind: 'call', key: '1783385492.057900' }]);
await handled.promise;
await worker.close(5_000);
await queues.close();
