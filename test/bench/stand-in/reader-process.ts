import { queueSettings } from '../../../config/queues.ts';
import { apiKey, createService } from '../../../src/api-client/client.ts';
import { createQueues } from '../../../src/queues/queues.ts';
import { createLog } from '../../../src/shared/log.ts';
import { callId } from './calls.ts';

// The baselines of a drain: the same reads without queue or writes (`reads`), or the same jobs without reads (`jobs`).
const [mode, text] = process.argv.slice(2);
const count = Number(text);
const log = createLog('warn');
const { reads } = queueSettings.calls;
const began = performance.now();
await (mode === 'reads' ? readAll() : answerAll());
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1_000 }));
process.exit();

async function readAll(): Promise<void> {
  const service = createService({ baseUrl: process.env.API_BASE_URL ?? '', credential: apiKey('bench-key'), log });
  let next = 0;
  async function lane(): Promise<void> {
    while (next < count) {
      next += 1;
      await service.calls.get(callId(next - 1));
    }
  }
  await Promise.all(Array.from({ length: reads }, lane));
  await service.close();
}

async function answerAll(): Promise<void> {
  const { DATABASE_URL: databaseUrl = '', REDIS_URL: redisUrl } = process.env;
  const queues = await createQueues({ databaseUrl, redisUrl, log });
  const answered = Promise.withResolvers<void>();
  let left = count;
  queues.work('calls', {}, async () => {
    left -= 1;
    if (left === 0) answered.resolve();
  });
  await answered.promise;
}
