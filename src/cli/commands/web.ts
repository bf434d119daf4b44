import { weaknessesOf } from '../../../config/settings.ts';
import { connectionsOf, createContext, readySettings } from '../../context.ts';
import { createLog } from '../../log.ts';
import { areMigrated } from '../../migrations.ts';
import { createReceiver } from '../../receiver/receiver.ts';
import { startRegistration } from '../../receiver/registration.ts';
import { registerPages } from '../../status/pages.ts';
import { reportConnections, reportProcess } from '../../status/processes.ts';
import { followMigrations, refusePostgresFaults, untilPostgresIsThere } from '../arrival.ts';
import { commandSettings } from '../environment.ts';
import { runUntilStopped } from '../lifetime.ts';

/** Receives webhooks and serves the pages, until it is told to stop. */
export async function run({ json }: { json?: boolean }): Promise<void> {
  const settings = readySettings(
    await commandSettings({ needed: ['DATABASE_URL', 'WEBHOOK_SECRET'], servesPages: true }),
  );
  const log = createLog(settings.logLevel);
  for (const weakness of weaknessesOf(settings)) log.warn(weakness);
  // With queues in Redis it serves at once, and answers 503 until Postgres is there.
  const { databaseUrl, redisUrl } = settings;
  if (redisUrl === undefined) await untilPostgresIsThere(databaseUrl, log);
  else await refusePostgresFaults(databaseUrl);
  const context = await createContext(settings, {
    log,
    name: 'web',
    maxConnections: connectionsOf(settings, { receives: true, works: false }),
  });
  const receiver = await createReceiver(context, (app) => registerPages(app, context));
  const { publicUrl, secret } = settings.receiver;
  const registration =
    publicUrl === undefined || secret === undefined ? undefined : startRegistration(context, publicUrl, secret);
  const reporting = reportProcess(context, 'web');
  const stopping = new AbortController();
  const meanwhile = 'Until they are there, /readyz is 503, and so is the answer to what cannot be stored.';
  const areThere = () => areMigrated(context.database.db, redisUrl === undefined);
  void followMigrations(areThere, log, meanwhile, stopping.signal);
  runUntilStopped(log, {
    abandon: (what) => context.service?.abandon(what),
    async close() {
      stopping.abort();
      await Promise.all([receiver.close(), registration?.stop()]);
      await reporting.stop();
      await context[Symbol.asyncDispose]();
    },
  });
  // Only now: whoever reads it may tell it to stop.
  log.info(
    { url: receiver.url, queue: settings.redisUrl ? 'redis' : 'postgres', connections: context.connections },
    'The receiver listens',
  );
  void reportConnections(context);
  if (json)
    console.log(
      JSON.stringify({ url: receiver.url, port: receiver.port, registers: registration?.isUnderWay ?? false }),
    );
}
