import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../log.ts';
import { credentialConnections } from '../postgres/limits.ts';
import { createOAuth } from '../service/oauth/oauth.ts';
import { apiKey, type Credential } from '../service/transport/authorization.ts';
import { createDatabase } from '../warehouse/database.ts';
import { createLoginCredential } from './credential.ts';
import { createRefresher } from './refresher.ts';
import { type KeySettings, tokenSealer } from './sealer.ts';

/** What an environment says about whom the daemon acts for. */
export interface CredentialSettings extends KeySettings {
  readonly api: { readonly baseUrl: string | undefined; readonly key: string | undefined };
  readonly databaseUrl: string;
}

/** A credential for the API, and the address that it is for. */
export interface OpenCredential {
  readonly kind: 'api_key' | 'login';
  readonly baseUrl: string;
  readonly credential: Credential;
  /** Waits for a refresh under way, whose answer must not be lost. */
  close(): Promise<void>;
}

/** Longer than a refresh waits for the lock. */
const statementMs = 20_000;
/** A lost answer costs a log in, so it is waited for longer than others. */
const answerMs = 60_000;
const closeMs = 20_000;

/** The base address of a service as log ins name it. */
export function serviceName(baseUrl: string): string {
  return new URL(baseUrl).href.replace(/\/+$/, '');
}

/** The API key where there is one, else the tokens of the log in; undefined when the settings name neither or no API. */
export function openCredential(settings: CredentialSettings, log: Log): OpenCredential | undefined {
  const { api, databaseUrl } = settings;
  const { baseUrl, key } = api;
  if (baseUrl === undefined) return undefined;
  if (key !== undefined) {
    return { kind: 'api_key', baseUrl, credential: apiKey(key), close: () => Promise.resolve() };
  }
  const sealer = tokenSealer(settings);
  if (sealer === undefined) return undefined;
  const database = createDatabase({
    url: databaseUrl,
    log,
    maxConnections: credentialConnections,
    name: 'credentials',
    statementMs,
  });
  const { db } = database;
  const oauth = createOAuth({ baseUrl, log, limits: { headersMs: answerMs, answerMs } });
  const closing = new AbortController();
  const refresher = createRefresher({ db, sealer, oauth, log, signal: closing.signal });
  const credential = createLoginCredential({ db, sealer, refresher, service: serviceName(baseUrl) });
  return {
    kind: 'login',
    baseUrl,
    credential,
    async close() {
      await Promise.race([credential.idle(), sleep(closeMs, undefined, { ref: false, signal: closing.signal })]);
      closing.abort();
      await Promise.allSettled([oauth.close()]);
      await database[Symbol.asyncDispose]();
    },
  };
}
