import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readSettings } from '../../../config/settings.ts';
import type { Started } from '../../local/start.ts';
import { createLog } from '../../log.ts';
import { reporting } from '../exit.ts';
import { drainMs, runUntilStopped } from '../lifetime.ts';
import type { Entry } from '../program.ts';

export function addStart(program: Command, entry: Entry): void {
  program
    .command('start')
    .description('Everything in one process: Postgres and the sandbox unless the environment names real ones.')
    .option('--json', 'print the addresses as JSON')
    .action((options: { json?: boolean }) =>
      reporting(async () => {
        const settings = readSettings(process.env, {
          servesPages: true,
          ...(process.env.API_BASE_URL && { needed: ['API_KEY'] }),
        });
        const log = createLog(settings.logLevel);
        const { start } = await import('../../local/start.ts');
        const started = await start(settings, { log, startWorkers: entry.startWorkers, drainMs });
        const { close, ...addresses } = started;
        console.log(options.json ? JSON.stringify(addresses) : whereToLook(started));
        runUntilStopped(log, close);
      }),
    );
}

function whereToLook({ statusUrl, databaseUrl, sandboxUrl, dataDir }: Started): string {
  return [
    '',
    'Trunkline is running. Ctrl-C drains and stops it.',
    '',
    `  status page   ${statusUrl}`,
    `  database      ${databaseUrl}`,
    `  try           psql '${databaseUrl}' -c 'select started_at, direction, status, external_number from warehouse.calls order by started_at desc limit 10'`,
    `  data folder   ${resolve(dataDir)}`,
    ...(sandboxUrl === undefined
      ? []
      : [
          `  sandbox       ${sandboxUrl} (an account of its own, free of charge)`,
          '',
          'For the real service set API_BASE_URL, API_KEY and PUBLIC_URL (the address at which it reaches this receiver).',
        ]),
    '',
  ].join('\n');
}
