import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../../../../config/settings.ts';
import { readySettings } from '../../../context.ts';
import { openCredential, serviceName } from '../../../credentials/credentials.ts';
import { beginLogin, ScopesNotOffered } from '../../../credentials/login.ts';
import { abandonLogin, type LoginOutcome, readOutcome } from '../../../credentials/logins.ts';
import { type Sealer, tokenSealer } from '../../../credentials/sealer.ts';
import { nameUser, readStanding } from '../../../credentials/tokens.ts';
import { createService, ServiceError } from '../../../service/client.ts';
import { createOAuth } from '../../../service/oauth/oauth.ts';
import type { Database } from '../../../warehouse/database.ts';
import { commandSettings } from '../../environment.ts';
import { CommandFailed } from '../../exit.ts';
import { createRemarks } from '../../remarks.ts';
import { cureOf } from './cure.ts';
import { openLogins } from './logins.ts';

const log = createRemarks('error');
const lookEveryMs = 300;
const patienceMs = 10_000;

export interface LoginOptions {
  readonly scopes?: readonly string[];
  /** Seconds to wait for the answer. */
  readonly wait: number;
  readonly register?: boolean;
  readonly json?: boolean;
}

/** Prints the address to open, waits for the receiver to take the answer, and says what was granted. */
export async function runLogin({ scopes, wait, register = false, json }: LoginOptions): Promise<void> {
  const settings = await commandSettings({ needed: ['DATABASE_URL', 'API_BASE_URL', 'PUBLIC_URL', 'ENCRYPTION_KEY'] });
  const baseUrl = settings.api.baseUrl as string;
  await using database = await openLogins(settings, log);
  const { db } = database;
  const begun = await begin(db, settings, { scopes, isAnew: register, forMs: wait * 1_000 });
  const say = json ? console.error : console.log;
  say(`Open this address in a browser, as the user for whom the daemon shall act:\n\n  ${begun.url}\n`);
  say(`It waits for the answer, ${Math.ceil(wait / 60)} min at most.`);
  const ended = await awaitOutcome(db, begun.id, wait * 1_000);
  if (ended === undefined) throw new CommandFailed(timeoutSentence(settings));
  if (ended.outcome === 'denied') throw new CommandFailed('The user did not allow it; nothing was granted.');
  if (ended.outcome === 'failed') throw new CommandFailed(`The log in did not succeed: ${ended.reason}.`);

  const user = await findUser(settings, baseUrl);
  if (user !== undefined) await nameUser(db, user);
  const standing = await readStanding(db);
  const missing = [...begun.notOffered, ...ended.missingScopes];
  const apiKeyIsSet = settings.api.key !== undefined;
  if (json) {
    console.log(JSON.stringify({ user: user ?? null, scopes: standing?.scopes ?? [], missing, apiKeyIsSet }));
    return;
  }
  console.log(`Logged in${user === undefined ? '' : ` as ${user}`}. Granted: ${standing?.scopes.join(' ')}`);
  if (begun.notOffered.length > 0) console.log(`The service does not offer: ${begun.notOffered.join(' ')}`);
  if (ended.missingScopes.length > 0) console.log(`Asked for and not granted: ${ended.missingScopes.join(' ')}`);
  if (missing.length > 0) console.log('What needs these waits; all else is mirrored.');
  if (apiKeyIsSet) console.log('API_KEY is set, and goes before the log in: unset it to use the log in.');
}

async function begin(
  db: Database,
  settings: Settings,
  wish: { scopes: readonly string[] | undefined; isAnew: boolean; forMs: number },
) {
  const { api, receiver } = settings;
  const service = serviceName(api.baseUrl as string);
  const oauth = createOAuth({ baseUrl: service, log });
  const sealer = tokenSealer(settings) as Sealer;
  try {
    return await beginLogin({ db, sealer, oauth }, { ...wish, service, publicUrl: receiver.publicUrl as string });
  } catch (error) {
    if (error instanceof ScopesNotOffered) throw new CommandFailed(error.message);
    if (!(error instanceof ServiceError)) throw error;
    throw new CommandFailed(`The log in cannot begin (${error.message}). ${cureOf(error)}`);
  } finally {
    await oauth.close();
  }
}

async function awaitOutcome(db: Database, id: string, forMs: number): Promise<LoginOutcome | undefined> {
  const deadline = performance.now() + forMs;
  while (performance.now() < deadline) {
    const ended = await readOutcome(db, id);
    if (ended) return ended;
    await sleep(lookEveryMs);
  }
  await abandonLogin(db, id);
  // The answer may have come with the last look.
  return readOutcome(db, id);
}

function timeoutSentence({ receiver }: Settings): string {
  return [
    'No answer came in time, so the log in is over.',
    `Was the browser sent to ${receiver.publicUrl}, and does the receiver (\`trunkline web\`) answer there?`,
    'If the service said that it does not know the program, use `trunkline auth login --register`.',
  ].join(' ');
}

/** Nothing tells a token's user, but who sees nobody else in the directory is the one who is seen. */
async function findUser(settings: Settings, baseUrl: string): Promise<string | undefined> {
  const open = openCredential({ ...readySettings(settings), api: { baseUrl, key: undefined } }, log);
  if (open === undefined) return undefined;
  const service = createService({ baseUrl, credential: open.credential, log });
  try {
    const { data } = await service.users.list({ signal: AbortSignal.timeout(patienceMs) });
    const [only, ...others] = data;
    if (only === undefined || others.length > 0) return undefined;
    return [only.firstName, only.lastName].filter(Boolean).join(' ') || undefined;
  } catch {
    return undefined;
  } finally {
    await service.close();
    await open.close();
  }
}
