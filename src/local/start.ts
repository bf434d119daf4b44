import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../../config/settings.ts';
import { type Context, connectionsOf, createContext } from '../context.ts';
import { isOfSandbox } from '../credentials/account.ts';
import type { Database } from '../db/database.ts';
import { migrateAll } from '../migrations.ts';
import { startHeartbeat } from '../processes/heartbeat.ts';
import { createSandbox, defaultSandboxPort } from '../sandbox/sandbox.ts';
import { signInLink } from '../server/auth.ts';
import { registerPages } from '../server/pages.ts';
import { createReceiver } from '../server/receiver.ts';
import { UserError } from '../shared/errors.ts';
import type { Log } from '../shared/log.ts';
import { withoutPassword } from '../shared/masking.ts';
import { withTimeout } from '../shared/timeout.ts';
import { startWebhookRegistration } from '../sync/subscriptions/registration.ts';
import { readUsersZone } from '../warehouse/users.ts';
import { announceRunning, ownSecret, pagesToken } from './data-folder.ts';
import { type LocalPostgres, startPostgres } from './postgres.ts';

/** Everything that `start` runs in one process, and its addresses. */
export interface Started {
  readonly statusUrl: string;
  /** Signs a browser in and opens the status page. Valid for an hour. */
  readonly signInUrl: string;
  /** URL of the embedded Postgres, or DATABASE_URL, without the password. */
  readonly databaseUrl: string;
  /** The argument for psql, without a password. */
  readonly psqlArgument: string;
  /** Undefined if a real service is used. */
  readonly sandboxUrl: string | undefined;
  readonly dataDir: string;
  readonly rulesFile: string;
  /** The file of the generated ADMIN_TOKEN. Undefined if one was set. */
  readonly adminTokenFile: string | undefined;
  /** While no time zone is set: the most frequent one of the account's users, if known. */
  readonly proposedZone: string | undefined;
  /** Aborts API requests in progress. */
  abandon(what: 'repeatable' | 'all'): void;
  /** Drains, then stops all parts in reverse order of their start. Postgres is last. */
  close(): Promise<void>;
}

interface StartOptions {
  readonly log: Log;
  /** Passed in by the entry point, because nothing in `src` may import the workers. */
  startWorkers(context: Context, options: { readonly role: 'start' }): Promise<{ close(ms: number): Promise<void> }>;
  readonly drainMs: number;
}

/** Milliseconds to close everything else after the drain, and the minimum for each part. */
const closingMs = 700;
const minMs = 100;

/** Milliseconds that a first start waits for the account's users, which the workers read at once. */
const usersMs = 5_000;

async function zoneOfUsers(db: Database): Promise<string | undefined> {
  const deadline = performance.now() + usersMs;
  let zone = await readUsersZone(db);
  while (zone === null && performance.now() < deadline) {
    await sleep(200);
    zone = await readUsersZone(db);
  }
  return zone ?? undefined;
}

const packagedRules = fileURLToPath(new URL('../../config/rules.yaml', import.meta.url));

/**
 * Starts Postgres and the sandbox unless real ones are configured. Then migrates, and starts the receiver and the
 * workers.
 */
export async function start(settings: Settings, options: StartOptions): Promise<Started> {
  const { log } = options;
  const opened: (() => Promise<void>)[] = [];
  const close = async () => {
    // The embedded Postgres is stopped last. A part that hangs must not prevent that.
    const deadline = performance.now() + options.drainMs + closingMs;
    for (const each of opened.reverse()) {
      await withTimeout(Math.max(minMs, deadline - performance.now()), each(), () => undefined);
    }
    opened.length = 0;
  };
  try {
    const { url: databaseUrl, passfileUrl } =
      settings.databaseUrl === undefined ? await ownPostgres() : { url: settings.databaseUrl, passfileUrl: undefined };
    await migrateAll(databaseUrl, log, settings.searchLanguage);
    const sandbox = settings.api.baseUrl === undefined ? await ownSandbox() : undefined;
    const secret = settings.receiver.secret ?? (await ownSecret(settings.dataDir, 'webhook-secret'));
    const encryptionKey = settings.encryptionKey ?? (await ownSecret(settings.dataDir, 'encryption-key'));
    const { adminToken, adminTokenFile } = await pagesToken(settings);
    // An installed package starts in an empty folder. The sandbox then runs the rules of the package.
    const rulesFile = sandbox && !existsSync(settings.rulesFile) ? packagedRules : settings.rulesFile;
    const api = sandbox ? { baseUrl: sandbox.url, key: sandbox.apiKey, hadApiPath: false } : settings.api;
    const context = await createContext(
      {
        ...settings,
        rulesFile,
        hoursZone: sandbox ? settings.timeZone : settings.hoursZone,
        databaseUrl,
        api,
        encryptionKey,
        receiver: { ...settings.receiver, secret, adminToken },
      },
      {
        log,
        name: 'start',
        maxConnections: connectionsOf(settings, { receives: true, works: true }),
        isOwnSandbox: sandbox !== undefined,
      },
    );
    opened.push(() => context[Symbol.asyncDispose]());
    opened.push(startHeartbeat(log).stop);
    if (!sandbox && (await isOfSandbox(context.database.db))) {
      throw new UserError(
        'The database holds the data of the sandbox: for a real account, set DATA_DIR to another folder, or DATABASE_URL to another database.',
      );
    }
    const receiver = await createReceiver(context, (app) => registerPages(app, context));
    opened.push(receiver.close);
    const workers = await options.startWorkers(context, { role: 'start' });
    opened.push(() => workers.close(options.drainMs));
    const publicUrl = settings.receiver.publicUrl ?? (sandbox ? receiver.url : undefined);
    if (publicUrl !== undefined) opened.push(startWebhookRegistration(context, publicUrl, secret).stop);
    // Browsers open one address, not all of them.
    const statusUrl = `${receiver.url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')}/`;
    opened.push(
      await announceRunning(settings.dataDir, {
        databaseUrl,
        redisUrl: settings.redisUrl,
        ...(api.baseUrl !== undefined && { api: { baseUrl: api.baseUrl, key: api.key } }),
        isSandbox: sandbox !== undefined,
        webhookSecret: secret,
        encryptionKey,
        publicUrl,
        timeZone: settings.isTimeZoneSet ? settings.timeZone : undefined,
        rulesFile: resolve(rulesFile),
        rulesMode: settings.rulesMode,
        statusUrl,
        adminToken,
      }),
    );
    return {
      statusUrl,
      signInUrl: signInLink(statusUrl, adminToken),
      databaseUrl: passfileUrl === undefined ? withoutPassword(databaseUrl) : databaseUrl,
      psqlArgument: passfileUrl === undefined ? '"$DATABASE_URL"' : `'${passfileUrl}'`,
      sandboxUrl: sandbox?.url,
      dataDir: settings.dataDir,
      rulesFile: resolve(rulesFile),
      adminTokenFile,
      proposedZone: context.settings.hoursZone === undefined ? await zoneOfUsers(context.database.db) : undefined,
      abandon: (what) => context.service?.abandon(what),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }

  async function ownPostgres(): Promise<LocalPostgres> {
    const postgres = await startPostgres({ dataDir: join(settings.dataDir, 'postgres'), log });
    opened.push(() => postgres.stop('fast', closingMs));
    return postgres;
  }

  async function ownSandbox() {
    const sandboxOptions = { dataDir: join(settings.dataDir, 'sandbox'), traffic: true };
    const sandbox = await createSandbox({ ...sandboxOptions, port: defaultSandboxPort }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EADDRINUSE') throw error;
        return createSandbox({ ...sandboxOptions, port: 0 });
      },
    );
    opened.push(sandbox.close);
    return sandbox;
  }
}
