import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../../config/settings.ts';
import { ServiceError } from '../api-client/client.ts';
import { createOAuth } from '../api-client/oauth/oauth.ts';
import { serviceName } from '../credentials/credentials.ts';
import { abandonLogin, beginLogin, type LoginOutcome, readOutcome } from '../credentials/login.ts';
import { type Sealer, tokenSealer } from '../credentials/sealer.ts';
import { forgetTokens, type LoginStatus, readLoginStatus } from '../credentials/tokens.ts';
import type { Database } from '../db/database.ts';
import { toTheSecond } from '../ops/format.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { openDatabase } from './environment.ts';
import { type Output, pairsOf } from './output.ts';
import { type ConsentFlags, confirm, createCommandLog } from './terminal.ts';

const log = createCommandLog('error');

const outcomeCheckMs = 300;

interface LoginOptions {
  readonly scopes?: readonly string[];
  /** Seconds to wait for the login to be completed. */
  readonly wait: number;
  readonly register?: boolean;
  readonly json?: boolean;
}

/** Prints the URL to open, waits until the receiver gets the callback, and prints the granted scopes. */
export async function login({ scopes, wait, register = false, json }: LoginOptions): Promise<Output> {
  await using database = await openDatabase('auth', { needed: ['API_BASE_URL', 'PUBLIC_URL', 'ENCRYPTION_KEY'] });
  const { db, settings } = database;
  const begun = await begin(db, settings, { scopes, registerAgain: register, validMs: wait * 1_000 });
  const say = json ? console.error : console.log;
  say(`Open this address in a browser, as the user for whom the daemon shall act:\n\n  ${begun.url}\n`);
  say(`Waiting for the answer, for ${Math.ceil(wait / 60)} min at most.`);
  const ended = await awaitOutcome(db, begun.id, wait * 1_000);
  if (ended === undefined) throw new UserError(timeoutSentence(settings));
  if (ended.outcome === 'denied') throw new UserError('The user refused; nothing was granted.');
  if (ended.outcome === 'failed') throw new UserError(`The login failed: ${ended.reason}.`);

  const standing = await readLoginStatus(db);
  const missing = [...begun.notOffered, ...ended.missingScopes];
  const apiKeyIsSet = settings.api.key !== undefined;
  const lines = [
    `Logged in. Granted: ${standing?.scopes.join(' ')}`,
    begun.notOffered.length > 0 && `The service does not offer: ${begun.notOffered.join(' ')}`,
    ended.missingScopes.length > 0 && `Requested but not granted: ${ended.missingScopes.join(' ')}`,
    missing.length > 0 && 'Data that needs these scopes is not mirrored; everything else is.',
    apiKeyIsSet && 'API_KEY is set and takes precedence: unset it to use the login.',
  ];
  return {
    json: { scopes: standing?.scopes ?? [], missing, apiKeyIsSet },
    text: lines.filter(Boolean).join('\n'),
  };
}

async function begin(
  db: Database,
  settings: Settings,
  wish: { scopes: readonly string[] | undefined; registerAgain: boolean; validMs: number },
) {
  const { api, receiver } = settings;
  const service = serviceName(api.baseUrl as string);
  const oauth = createOAuth({ baseUrl: service, log });
  const sealer = tokenSealer(settings) as Sealer;
  try {
    return await beginLogin({ db, sealer, oauth }, { ...wish, service, publicUrl: receiver.publicUrl as string });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new UserError(`The login cannot start (${error.message}). ${remedyOf(error)}`);
  } finally {
    await oauth.close();
  }
}

async function awaitOutcome(db: Database, id: string, validMs: number): Promise<LoginOutcome | undefined> {
  const deadline = performance.now() + validMs;
  while (performance.now() < deadline) {
    const ended = await readOutcome(db, id);
    if (ended) return ended;
    await sleep(outcomeCheckMs);
  }
  await abandonLogin(db, id);
  // The callback may have arrived between the last check and giving up.
  return readOutcome(db, id);
}

function timeoutSentence({ receiver }: Settings): string {
  return [
    'No answer arrived in time, so the login was abandoned.',
    `Check that the browser was sent to ${receiver.publicUrl}, and that the receiver (${toType('web')}) answers there.`,
    `If the service did not know the program, use ${toType('auth login --register')}.`,
  ].join(' ');
}

/** Prints the credential in use, and the state of the login. */
export async function showLogin(): Promise<Output> {
  await using database = await openDatabase('auth');
  const { db, settings } = database;
  const login = await readLoginStatus(db);
  const inUse = settings.api.key !== undefined ? 'api_key' : login ? 'login' : 'none';
  return { json: { inUse, login: login ?? null }, text: describeCredential(inUse, login, settings.timeZone) };
}

/** Deletes the tokens, after confirmation. Within seconds, no process uses them any more. */
export async function logout(flags: ConsentFlags): Promise<Output> {
  await using database = await openDatabase('auth');
  const { db } = database;
  const preview = await confirm(flags, async () => {
    const wasLoggedIn = (await readLoginStatus(db)) !== undefined;
    const sentence = wasLoggedIn
      ? 'The tokens would be deleted. Without an API key, nothing would be mirrored any more.'
      : 'Nobody is logged in; there is nothing to delete.';
    return { sentence, data: { wasLoggedIn } };
  });
  if (preview) return preview;
  const wasLoggedIn = await forgetTokens(db);
  return {
    json: { wasLoggedIn, isDone: true },
    text: wasLoggedIn
      ? 'The tokens are deleted. The service cannot revoke them through its API: withdraw the permission in its portal too.'
      : 'Nobody was logged in.',
  };
}

function describeCredential(
  inUse: 'api_key' | 'login' | 'none',
  login: LoginStatus | undefined,
  timeZone: string,
): string {
  const names = { api_key: 'API_KEY.', login: 'the login.', none: 'nothing; nobody is logged in.' };
  if (login === undefined) return `In use: ${names[inUse]}`;
  const { state, scopes, service, loggedInAt, expiresAt, lastError } = login;
  const states = { valid: 'valid', refreshing: 'valid, being refreshed', lost: `lost: run ${toType('auth login')}` };
  const facts = pairsOf(
    {
      state: states[state],
      service,
      scopes: scopes.join(' '),
      made: toTheSecond(loggedInAt, timeZone),
      expires: `${toTheSecond(expiresAt, timeZone)}${state === 'lost' ? '' : ', refreshed by itself'}`,
      error: lastError,
    },
    '  ',
  );
  return `In use: ${names[inUse]}\n\n${facts}`;
}

/** The remedy if a login can't start. */
function remedyOf({ operation, advice }: ServiceError): string {
  return operation === 'oauth.register' && advice !== 'retry'
    ? 'PUBLIC_URL must be HTTPS, with a host that the service’s operator allows. If it is, ask the operator for the reason.'
    : 'Check that API_BASE_URL is right.';
}
