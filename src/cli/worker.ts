import { createOutages } from '../alerts/outages.ts';
import { createContext } from '../context.ts';
import { startHeartbeat } from '../processes/heartbeat.ts';
import { reportConnections } from '../processes/running.ts';
import { api, openProcess } from './environment.ts';
import { drainMs, type Entry, runUntilStopped, waitForPostgres } from './lifecycle.ts';
import type { Output } from './output.ts';

// Loaded on demand, because most workers serve no HTTP.
const server = () => import('../server/health.ts');

export async function runWorker(entry: Entry): Promise<Output> {
  const { settings, log } = await openProcess({ needed: api, servesPages: 'WORKER_PORT' });
  const outages = createOutages({ settings, log });
  const { databaseUrl, redisUrl, workerPort } = settings;
  const migrations = { areQueuesHere: redisUrl === undefined, meanwhile: 'This worker waits for them.' };
  await waitForPostgres(databaseUrl, log, { migrations, onFailure: outages.failed });
  const maxConnections = { receives: false, works: true };
  const context = await createContext(settings, { log, name: 'worker', maxConnections });
  const heartbeat = startHeartbeat(log);
  const port = workerPort === undefined ? undefined : await (await server()).openWorkerPort(context, workerPort);
  const workers = await entry.startWorkers(context, { outages });
  const { connections } = context;
  runUntilStopped(log, {
    abandon: (what) => context.service?.abandon(what),
    async close() {
      await Promise.all([workers.close(drainMs), port?.close()]);
      await heartbeat.stop();
      await context[Symbol.asyncDispose]();
    },
  });
  // Printed last, because a reader of this line may send a signal at once.
  log.info({ connections, url: port?.url }, 'The worker processes its queues');
  void reportConnections(context);
  return { json: { connections, url: port?.url } };
}
