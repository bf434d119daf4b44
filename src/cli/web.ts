import { weaknessesOf } from '../../config/settings.ts';
import { createOutages, startAlerts } from '../alerts/watch.ts';
import { connectionsOf, createContext, readySettings } from '../context.ts';
import { pagesToken } from '../local/data-folder.ts';
import { areMigrated } from '../migrations.ts';
import { startHeartbeat } from '../processes/heartbeat.ts';
import { reportConnections, reportProcess } from '../processes/running.ts';
import { registerPages } from '../server/pages.ts';
import { createReceiver } from '../server/receiver.ts';
import { createLog } from '../shared/log.ts';
import { startWebhookRegistration } from '../sync/subscriptions/registration.ts';
import { commandSettings } from './environment.ts';
import { checkPostgres, logMissingMigrations, runUntilStopped, waitForPostgres } from './lifecycle.ts';
import type { Output } from './output.ts';

/** Connections opened together at the start with queues in Postgres: for tables and producers. */
const minConnections = 2;

export async function runWeb(): Promise<Output> {
  const given = readySettings(await commandSettings({ needed: ['DATABASE_URL', 'WEBHOOK_SECRET'], servesPages: true }));
  const { adminToken, adminTokenFile } = await pagesToken(given);
  const settings = { ...given, receiver: { ...given.receiver, adminToken } };
  const log = createLog(settings.logLevel);
  for (const weakness of weaknessesOf(settings)) log.warn(weakness);
  // With queues in Redis, it serves at once and answers 503 until Postgres is reachable.
  const { databaseUrl, redisUrl } = settings;
  const outages = createOutages({ settings, log });
  if (redisUrl === undefined) await waitForPostgres(databaseUrl, log, minConnections, outages.failed);
  else await checkPostgres(databaseUrl);
  const context = await createContext(settings, {
    log,
    name: 'web',
    maxConnections: connectionsOf(settings, { receives: true, works: false }),
  });
  const heartbeat = startHeartbeat(log);
  const receiver = await createReceiver(context, (app) => registerPages(app, context));
  const { publicUrl, secret } = settings.receiver;
  const registration =
    publicUrl === undefined || secret === undefined ? undefined : startWebhookRegistration(context, publicUrl, secret);
  const reporting = reportProcess(context, 'web');
  const alerts = startAlerts(context, outages);
  const stopping = new AbortController();
  const areApplied = () => areMigrated(context.database.db, redisUrl === undefined);
  const meanwhile = 'Until then /readyz and deliveries that cannot be stored are answered 503.';
  void logMissingMigrations(areApplied, log, meanwhile, stopping.signal);
  runUntilStopped(log, {
    abandon: (what) => context.service?.abandon(what),
    async close() {
      stopping.abort();
      await Promise.all([receiver.close(), registration?.stop(), alerts.stop()]);
      await reporting.stop();
      await heartbeat.stop();
      await context[Symbol.asyncDispose]();
    },
  });
  // Printed last, because a reader of this line may send a signal at once.
  log.info(
    {
      url: receiver.url,
      queue: settings.redisUrl ? 'redis' : 'postgres',
      connections: context.connections,
      adminTokenFile,
    },
    'The receiver is listening',
  );
  void reportConnections(context);
  return { json: { url: receiver.url, port: receiver.port, registers: registration?.isStarted ?? false } };
}
