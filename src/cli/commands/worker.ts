import { type QueueName, queueNames } from '../../../config/queues.ts';
import { weaknessesOf } from '../../../config/settings.ts';
import { connectionsOf, createContext, readySettings } from '../../context.ts';
import { createLog } from '../../log.ts';
import { reportConnections } from '../../status/processes.ts';
import { untilMigrated, untilPostgresIsThere } from '../arrival.ts';
import { commandSettings } from '../environment.ts';
import { drainMs, runUntilStopped } from '../lifetime.ts';
import type { Entry } from '../program.ts';
import { refuseBadRules } from '../rules-file.ts';

/** Works the queues, until it is told to stop. */
export async function run(entry: Entry, options: { queues?: QueueName[]; json?: boolean }): Promise<void> {
  const settings = readySettings(await commandSettings({ needed: ['DATABASE_URL', 'API_BASE_URL', 'API_KEY'] }));
  await refuseBadRules(settings);
  const log = createLog(settings.logLevel);
  for (const weakness of weaknessesOf(settings)) log.warn(weakness);
  await untilPostgresIsThere(settings.databaseUrl, log);
  await untilMigrated(settings, log);
  const context = await createContext(settings, {
    log,
    name: 'worker',
    maxConnections: connectionsOf(settings, { receives: false, works: true }),
  });
  const workers = await entry.startWorkers(context, options.queues ? { queues: options.queues } : {});
  const { connections } = context;
  const queues = options.queues ?? queueNames;
  runUntilStopped(log, {
    abandon: (what) => context.service?.abandon(what),
    async close() {
      await workers.close(drainMs);
      await context[Symbol.asyncDispose]();
    },
  });
  // Only now: whoever reads it may tell it to stop.
  log.info({ queues, connections }, 'The worker works');
  void reportConnections(context);
  if (options.json) console.log(JSON.stringify({ queues, connections }));
}
