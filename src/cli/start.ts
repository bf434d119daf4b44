import { resolve } from 'node:path';
import { readSettings, weaknessesOf } from '../../config/settings.ts';
import { type Started, start } from '../local/start.ts';
import { quoted, toType } from '../shared/command-name.ts';
import { envFileNote } from '../shared/env-file.ts';
import { drainMs, type Entry, runUntilStopped } from './lifecycle.ts';
import type { Output } from './output.ts';
import { createProcessLog } from './terminal.ts';

export async function runAll(entry: Entry): Promise<Output> {
  const needed = process.env.API_BASE_URL ? (['API_KEY'] as const) : [];
  const settings = readSettings(process.env, { needed, servesPages: true, makesToken: true });
  const log = createProcessLog(settings.logLevel, settings.timeZone);
  const note = envFileNote();
  if (note !== undefined) log.info(note);
  for (const weakness of weaknessesOf(settings)) log.warn(weakness);
  // A Ctrl-C during the start waits until it is complete, because an embedded Postgres must not be left running.
  const fail = runUntilStopped(log, {
    abandon: (what) => void starting.then((each) => each.abandon(what)).catch(() => undefined),
    async close() {
      await (await starting).close();
    },
  });
  const starting = start(process.env, { log, startWorkers: entry.startWorkers, drainMs, fail });
  const started = await starting;
  return { json: started.addresses, text: describeStart(started) };
}

function describeStart({ addresses, psqlArgument }: Started): string {
  const { signInUrl, databaseUrl, sandboxUrl, dataDir, rulesFile, adminTokenFile, timeZone, problem } = addresses;
  return [
    '',
    problem === undefined
      ? 'Trunkline is running. Ctrl-C finishes the work in progress and stops it.'
      : `Trunkline is running, but can't read the account: ${problem} Ctrl-C stops it.`,
    '',
    `  status page   ${signInUrl}`,
    `                This link signs your browser in for 30 days. It is valid for an hour; ${toType('status')} prints a new one.`,
    `  password      ${adminTokenFile === undefined ? 'ADMIN_TOKEN' : `in ${adminTokenFile}`} (any user name)`,
    `  database      ${databaseUrl}`,
    `  try           psql ${psqlArgument} -c 'select started_at, direction, status, external_number from warehouse.calls order by started_at desc limit 10'`,
    `  data folder   ${resolve(dataDir)}`,
    `  rules         ${rulesFile}; after a change: ${toType(`rules apply ${quoted(rulesFile)}`)}`,
    ...(timeZone === undefined
      ? [
          `  time zone     UTC, since TIME_ZONE is not set; ${toType('status')} names that of most users of the account.`,
          '                Until you set it (UTC is a choice too), rules that speak of hours do not act.',
        ]
      : []),
    ...(sandboxUrl === undefined
      ? []
      : [
          `  sandbox       ${sandboxUrl} (an account of its own, free of charge)`,
          '',
          'For the real service set API_BASE_URL and API_KEY, and PUBLIC_URL if there is an address at which it reaches this',
          'receiver; without it, calls and texts are polled. Set DATA_DIR to another folder then: this one holds the sandbox.',
        ]),
    '',
  ].join('\n');
}
