import { resolve } from 'node:path';
import { readSettings, type Settings, type Variable, weaknessesOf } from '../../config/settings.ts';
import type { Context } from '../context.ts';
import { createDatabase } from '../db/database.ts';
import { findRunning, pagesToken } from '../local/data-folder.ts';
import { toType } from '../shared/command-name.ts';
import { envFileNote } from '../shared/env-file.ts';
import { createCommandLog, createProcessLog, printNote } from './terminal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface CommandNeeds {
  readonly needed?: readonly Variable[];
  readonly servesPages?: boolean | Variable;
}

/** The settings of the API. */
export const api: readonly Variable[] = ['API_BASE_URL', 'API_KEY'];

/**
 * The settings of a command, from the environment. Missing ones come from a running `trunkline start` with the same
 * DATA_DIR, unless the environment names another database or service: the database of one account is never combined
 * with the API of another. `tell` gets the sources, to print them. Rejects with a SettingsError.
 */
export async function commandSettings(
  needs: CommandNeeds = {},
  environment: Environment = process.env,
  tell: (note: string) => void = printNote,
): Promise<Settings> {
  const note = envFileNote();
  if (note !== undefined) tell(note);
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim()));
  const folder = given.DATA_DIR ?? '.data';
  const running = await findRunning(folder);
  const isOfAnother = (['DATABASE_URL', 'API_BASE_URL', 'API_KEY'] as const).some(
    (name) => given[name] !== undefined && given[name] !== running?.environment[name],
  );
  if (!running || isOfAnother) {
    if (given.DATABASE_URL === undefined && needs.needed?.includes('DATABASE_URL')) {
      tell(
        running
          ? `The running ${toType('start')} has another API_BASE_URL or API_KEY, so its database isn't used.`
          : `No start that this user can see runs with the data folder ${resolve(folder)}; DATA_DIR names another one.`,
      );
    }
    return readSettings(given, needs);
  }
  tell(`Using the settings${running.isSandbox ? ' and the sandbox' : ''} of the running ${toType('start')}.`);
  return readSettings({ ...running.environment, ...given }, needs);
}

/** Opens the database, with its settings, for a command that needs nothing else. The caller disposes of it. */
export async function openDatabase(name: string, needs: CommandNeeds = {}) {
  const settings = await commandSettings(withDatabase(needs));
  const { databaseUrl: url = '' } = settings;
  return { ...createDatabase({ url, log: createCommandLog(), maxConnections: 2, name }), settings };
}

/** Opens the database, the queues and, if `needed` names it, the API. The caller disposes of it. */
export async function openContext(name: string, needs: CommandNeeds = {}): Promise<Context> {
  const settings = await commandSettings(withDatabase(needs));
  // Loaded on demand: commands that only read the database need neither queues nor the API.
  const { createContext, readySettings } = await import('../context.ts');
  return createContext(readySettings(settings), { log: createCommandLog(), name, maxConnections: 4 });
}

function withDatabase({ needed = [], ...other }: CommandNeeds): CommandNeeds {
  return { ...other, needed: ['DATABASE_URL', ...needed] };
}

/** The settings and the log of a long-running process, with a token where it serves pages or metrics. */
export async function openProcess(needs: Required<CommandNeeds>) {
  const notes: string[] = [];
  const reading = commandSettings(withDatabase(needs), process.env, (note) => notes.push(note));
  const given = await reading.catch((error: unknown) => {
    for (const note of notes) printNote(note);
    throw error;
  });
  const { databaseUrl = '' } = given;
  const isServing = needs.servesPages === true || given.workerPort !== undefined;
  const { adminToken, adminTokenFile } = isServing
    ? await pagesToken(given)
    : { ...given.receiver, adminTokenFile: undefined };
  const log = createProcessLog(given.logLevel, given.timeZone);
  for (const note of notes) log.info(note);
  for (const weakness of weaknessesOf(given)) log.warn(weakness);
  return { settings: { ...given, databaseUrl, receiver: { ...given.receiver, adminToken } }, log, adminTokenFile };
}
