import { weaknessesOf } from '../../config/settings.ts';
import { createOutages } from '../alerts/watch.ts';
import { connectionsOf, createContext, readySettings } from '../context.ts';
import { pagesToken } from '../local/data-folder.ts';
import { startHeartbeat } from '../processes/heartbeat.ts';
import { reportConnections } from '../processes/running.ts';
import { createLog } from '../shared/log.ts';
import { commandSettings } from './environment.ts';
import { drainMs, type Entry, runUntilStopped, waitForMigrations, waitForPostgres } from './lifecycle.ts';
import type { Output } from './output.ts';

/** Connections opened together at the start with queues in Postgres: for tables, producers, jobs and their listener. */
const minConnections = 4;

// Loaded on demand, because most workers serve no HTTP.
const server = () => import('../server/health.ts');

export async function runWorker(entry: Entry): Promise<Output> {
  const given = readySettings(
    await commandSettings({
      needed: ['DATABASE_URL', 'API_BASE_URL', 'API_KEY'],
      servesPages: 'WORKER_PORT',
    }),
  );
  const { adminToken } = given.workerPort === undefined ? given.receiver : await pagesToken(given);
  const settings = { ...given, receiver: { ...given.receiver, adminToken } };
  const log = createLog(settings.logLevel);
  for (const weakness of weaknessesOf(settings)) log.warn(weakness);
  const outages = createOutages({ settings, log });
  const { databaseUrl, redisUrl, workerPort } = settings;
  await waitForPostgres(databaseUrl, log, redisUrl === undefined ? minConnections : 1, outages.failed);
  await waitForMigrations(settings, log);
  const context = await createContext(settings, {
    log,
    name: 'worker',
    maxConnections: connectionsOf(settings, { receives: false, works: true }),
  });
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
