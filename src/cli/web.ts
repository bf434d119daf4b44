import { createOutages } from '../alerts/outages.ts';
import { startAlerts } from '../alerts/watch.ts';
import { createContext } from '../context.ts';
import { startHeartbeat } from '../processes/heartbeat.ts';
import { reportConnections, reportProcess } from '../processes/running.ts';
import { registerPages } from '../server/pages.ts';
import { createReceiver } from '../server/receiver.ts';
import { startWebhookRegistration } from '../sync/subscriptions/registration.ts';
import { openProcess } from './environment.ts';
import { runUntilStopped, waitForPostgres } from './lifecycle.ts';
import type { Output } from './output.ts';

export async function runWeb(): Promise<Output> {
  const { settings, log, adminTokenFile } = await openProcess({ needed: ['WEBHOOK_SECRET'], servesPages: true });
  const { databaseUrl, redisUrl } = settings;
  const outages = createOutages({ settings, log });
  // With queues in Redis, it serves at once and answers 503 until Postgres is reachable.
  if (redisUrl === undefined) await waitForPostgres(databaseUrl, log, { onFailure: outages.failed });
  const maxConnections = { receives: true, works: false };
  const context = await createContext(settings, { log, name: 'web', maxConnections });
  const heartbeat = startHeartbeat(log);
  const receiver = await createReceiver(context, (app) => registerPages(app, context));
  const { publicUrl, secret } = settings.receiver;
  const registration =
    publicUrl === undefined || secret === undefined ? undefined : startWebhookRegistration(context, publicUrl, secret);
  const reporting = reportProcess(context, 'web');
  const alerts = startAlerts(context, outages);
  const stopping = new AbortController();
  const fail = runUntilStopped(log, {
    abandon: (what) => context.service?.abandon(what),
    async close() {
      stopping.abort();
      await Promise.all([receiver.close(), registration?.stop(), alerts.stop()]);
      await reporting.stop();
      await heartbeat.stop();
      await context[Symbol.asyncDispose]();
    },
  });
  const meanwhile = 'Until then /readyz and deliveries that cannot be stored are answered 503.';
  const migrations = { areQueuesHere: redisUrl === undefined, meanwhile };
  waitForPostgres(databaseUrl, log, { migrations, signal: stopping.signal }).catch(fail);
  const { url, port } = receiver;
  const queue = redisUrl === undefined ? 'postgres' : 'redis';
  // Printed last, because a reader of this line may send a signal at once.
  log.info({ url, queue, connections: context.connections, adminTokenFile }, 'The receiver is listening');
  void reportConnections(context);
  return { json: { url, port, registers: registration?.isStarted ?? false } };
}
