import { resolve } from 'node:path';
import { readSettings, weaknessesOf } from '../../config/settings.ts';
import { type Started, start } from '../local/start.ts';
import { toType } from '../shared/command-name.ts';
import { withoutPassword } from '../shared/masking.ts';
import { drainMs, type Entry, runUntilStopped } from './lifecycle.ts';
import type { Output } from './output.ts';
import { createStartLog } from './terminal.ts';

export async function runAll(entry: Entry): Promise<Output> {
  const needed = process.env.API_BASE_URL ? (['API_KEY'] as const) : [];
  const settings = readSettings(process.env, { needed, servesPages: true, makesToken: true });
  const log = createStartLog(settings.logLevel, settings.timeZone);
  for (const weakness of weaknessesOf(settings)) log.warn(weakness);
  const starting = start(settings, { log, startWorkers: entry.startWorkers, drainMs });
  // A Ctrl-C during the start waits until it is complete, because an embedded Postgres must not be left running.
  runUntilStopped(log, {
    abandon: (what) => void starting.then((each) => each.abandon(what)).catch(() => undefined),
    async close() {
      await (await starting).close();
    },
  });
  const started = await starting;
  const { close: _, abandon: __, psqlArgument: ___, ...addresses } = started;
  return { json: addresses, text: describeStart(started) };
}

function describeStart(started: Started): string {
  const { rulesFile, signInUrl, databaseUrl, psqlArgument, sandboxUrl, dataDir, adminTokenFile, proposedZone } =
    started;
  return [
    '',
    'Trunkline is running. Ctrl-C finishes the work in progress and stops it.',
    '',
    `  status page   ${signInUrl}`,
    `                This link signs your browser in for 30 days. It is valid for an hour; ${toType('status')} prints a new one.`,
    `  password      ${adminTokenFile === undefined ? 'ADMIN_TOKEN' : `in ${adminTokenFile}`} (any user name)`,
    `  database      ${withoutPassword(databaseUrl)}`,
    `  try           psql ${psqlArgument} -c 'select started_at, direction, status, external_number from warehouse.calls order by started_at desc limit 10'`,
    `  data folder   ${resolve(dataDir)}`,
    `  rules         ${rulesFile}; after a change: ${toType(`rules apply ${rulesFile}`)}`,
    ...(proposedZone === undefined
      ? []
      : [
          `  time zone     UTC, since TIME_ZONE is not set. Most users of the account are in ${proposedZone}: set TIME_ZONE=${proposedZone}.`,
          '                Until you set it (UTC is a choice too), rules that speak of hours do not act.',
        ]),
    ...(sandboxUrl === undefined
      ? []
      : [
          `  sandbox       ${sandboxUrl} (an account of its own, free of charge)`,
          '',
          'For the real service set API_BASE_URL and API_KEY, and PUBLIC_URL if there is an address at which it reaches this',
          'receiver; without it, calls and texts are polled.',
        ]),
    '',
  ].join('\n');
}
