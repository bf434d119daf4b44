import { resolve } from 'node:path';
import { readSettings, type Settings, type Variable } from '../../config/settings.ts';
import { findRunning, type Running } from '../local/running.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the daemon judges by. */
type Judgement = 'TIME_ZONE' | 'RULES_FILE' | 'RULES_MODE';

interface CommandNeeds {
  readonly needed?: readonly Variable[];
  readonly servesPages?: boolean;
  /** What a command that foretells or remakes the daemon's work must judge by as well. */
  readonly alike?: readonly Judgement[];
}

/**
 * The settings of a command: the environment's, and where that names no stores, those of the `trunkline start` that runs
 * on this machine with the same DATA_DIR; that is said once on standard error. What must be `alike` is taken from it where
 * the environment gives none, unless that names another database. Throws a SettingsError.
 */
export async function commandSettings(
  { alike = [], ...options }: CommandNeeds = {},
  environment: Environment = process.env,
): Promise<Settings> {
  const wanted = [...(options.needed ?? []), ...alike];
  const isComplete = environment.DATABASE_URL && wanted.every((name) => environment[name]);
  const running = isComplete ? undefined : await findRunning(environment.DATA_DIR || '.data');
  if (!running || isOfAnother(running, environment)) return readSettings(environment, options);
  const borrowed = borrow(running, environment, alike);
  if (borrowed.parts.length > 0) console.error(`Using ${listed(borrowed.parts)} of the running \`trunkline start\`.`);
  return readSettings(borrowed.environment, options);
}

/** A database of one account and the API of another must never meet. */
function isOfAnother({ databaseUrl }: Running, { DATABASE_URL }: Environment): boolean {
  return Boolean(DATABASE_URL) && DATABASE_URL !== databaseUrl;
}

interface Borrowed {
  readonly environment: Environment;
  /** What was taken from it, for people. */
  readonly parts: readonly string[];
}

function borrow(running: Running, given: Environment, alike: readonly Judgement[]): Borrowed {
  const parts: string[] = [];
  let environment = given;
  if (!given.DATABASE_URL) {
    // The queues belong to the database: a Redis of another's would ring for nobody.
    environment = { ...environment, DATABASE_URL: running.databaseUrl, REDIS_URL: running.redisUrl };
    parts.push('the Postgres');
    if (running.redisUrl !== undefined) parts.push('the Redis');
  }
  if (!given.API_BASE_URL && !given.API_KEY && running.api) {
    environment = { ...environment, API_BASE_URL: running.api.baseUrl, API_KEY: running.api.key };
    parts.push(running.isSandbox ? 'the sandbox' : 'the API');
  }
  for (const [name, value] of judgements(running)) {
    if (!alike.includes(name) || given[name]) continue;
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

/** In what a running daemon judges otherwise than a command would that was given nothing. */
function judgements({ timeZone, rulesFile, rulesMode }: Running): [Judgement, string][] {
  const usual = readSettings({});
  const each: [Judgement, string | undefined, string | undefined][] = [
    ['TIME_ZONE', timeZone, undefined],
    ['RULES_FILE', rulesFile, resolve(usual.rulesFile)],
    ['RULES_MODE', rulesMode, usual.rulesMode],
  ];
  return each.flatMap(([name, value, fallback]) => (value === undefined || value === fallback ? [] : [[name, value]]));
}

function listed(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}
