import { createQueues } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';

// A worker in a process of its own: says what it began, and never ends it.
const [redisUrl = '', databaseUrl = ''] = process.argv.slice(2);
const queues = await createQueues({
  redisUrl: redisUrl || undefined,
  databaseUrl,
  log: createLog('error'),
  timing: { lockDuration: 1_000, stalledInterval: 500 },
});
queues.work('calls', {}, async (job) => {
  console.log(job.key);
  await new Promise(() => setInterval(() => {}, 60_000));
});
