import { resolve } from 'node:path';
import { readSettings, type Settings, type Variable, withPlainSslMode } from '../../config/settings.ts';
import type { Context } from '../context.ts';
import { createDatabase, type OpenDatabase } from '../db/database.ts';
import { findRunning, type Running } from '../local/data-folder.ts';
import { toType } from '../shared/command-name.ts';
import { createCommandLog } from './terminal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Settings that change what a command reports or predicts. */
const daemonSettings = ['TIME_ZONE', 'RULES_FILE', 'RULES_MODE'] as const;

interface CommandNeeds {
  readonly needed?: readonly Variable[];
  readonly servesPages?: boolean | Variable;
  /** Also take these settings from the daemon. Not for a process that acts by itself. */
  readonly isLikeDaemon?: boolean;
}

/**
 * The settings of a command, from the environment. Missing stores and API settings (with `isLikeDaemon` also those that
 * change results) come from a running `trunkline start` with the same DATA_DIR, unless DATABASE_URL names another
 * database. Standard error then names them. Rejects with a SettingsError.
 */
export async function commandSettings(
  { isLikeDaemon = false, ...options }: CommandNeeds = {},
  environment: Environment = process.env,
): Promise<Settings> {
  const wanted = [...(options.needed ?? []), ...(isLikeDaemon ? daemonSettings : [])];
  const isComplete = environment.DATABASE_URL && wanted.every((name) => environment[name]);
  const running = isComplete ? undefined : await findRunning(environment.DATA_DIR || '.data');
  // Never combine the database of one account with the API of another.
  const isOfAnother = environment.DATABASE_URL && withPlainSslMode(environment.DATABASE_URL) !== running?.databaseUrl;
  if (!running || isOfAnother) return readSettings(environment, options);
  const borrowed = borrow(running, environment, isLikeDaemon);
  if (borrowed.parts.length > 0)
    console.error(`Using ${new Intl.ListFormat('en-GB').format(borrowed.parts)} of the running ${toType('start')}.`);
  const settings = readSettings(borrowed.environment, options);
  return running.isSandbox ? { ...settings, hoursZone: settings.timeZone } : settings;
}

/** The settings of the API. */
export const api: readonly Variable[] = ['API_BASE_URL', 'API_KEY'];

/** What a command opens: its database, and the settings it was opened with. */
interface CommandDatabase extends OpenDatabase {
  readonly settings: Settings;
}

/** Opens the database for a command that needs nothing else. The caller disposes of it. */
export async function openDatabase(name: string, needs: CommandNeeds = {}): Promise<CommandDatabase> {
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

function withDatabase({ needed = [] }: CommandNeeds): CommandNeeds {
  return { isLikeDaemon: true, needed: ['DATABASE_URL', ...needed] };
}

/** The environment with borrowed settings, and these settings in words. */
function borrow(running: Running, given: Environment, isLikeDaemon: boolean) {
  const parts: string[] = [];
  let environment = given;
  if (!given.DATABASE_URL) {
    // Use the same daemon's Redis: jobs in another one would reach no worker.
    environment = { ...environment, DATABASE_URL: running.databaseUrl, REDIS_URL: running.redisUrl };
    parts.push('the Postgres');
    if (running.redisUrl !== undefined) parts.push('the Redis');
  }
  if (!given.API_BASE_URL && !given.API_KEY && running.api) {
    environment = { ...environment, API_BASE_URL: running.api.baseUrl, API_KEY: running.api.key };
    parts.push(running.isSandbox ? 'the sandbox' : 'the API');
  }
  for (const [name, value] of isLikeDaemon ? settingsOf(running) : []) {
    if (given[name]) continue;
    environment = { ...environment, [name]: value };
    parts.push(`the ${name}`);
  }
  return {
    environment: {
      ...environment,
      WEBHOOK_SECRET: given.WEBHOOK_SECRET || running.webhookSecret,
      PUBLIC_URL: given.PUBLIC_URL || running.publicUrl,
      ENCRYPTION_KEY: given.ENCRYPTION_KEY || running.encryptionKey,
    },
    parts,
  };
}

/** The running daemon's settings that differ from the defaults. */
function settingsOf({ timeZone, rulesFile, rulesMode }: Running): [name: string, value: string][] {
  const usual = readSettings({});
  const each: [string, string | undefined, string | undefined][] = [
    ['TIME_ZONE', timeZone, undefined],
    ['RULES_FILE', rulesFile, resolve(usual.rulesFile)],
    ['RULES_MODE', rulesMode, usual.rulesMode],
  ];
  return each.flatMap(([name, value, fallback]) => (value === undefined || value === fallback ? [] : [[name, value]]));
}
