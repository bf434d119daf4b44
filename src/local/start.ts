import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSettings, settingsRows } from '../../config/settings.ts';
import { meaningOf, type Service, ServiceError } from '../api-client/client.ts';
import { type Context, createContext, readySettings } from '../context.ts';
import { isOfSandbox } from '../credentials/account-check.ts';
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
import { announceRunning, findRunning, keptSecret, pagesToken } from './data-folder.ts';
import { startPostgres } from './postgres.ts';

export type Started = Awaited<ReturnType<typeof start>>;

interface StartOptions {
  readonly log: Log;
  /** Passed in by the entry point, because nothing in `src` may import the workers. */
  startWorkers(context: Context, options: { readonly role: 'start' }): Promise<{ close(ms: number): Promise<void> }>;
  readonly drainMs: number;
  /** Told if a part fails for good. */
  fail(error: Error): void;
}

/** Milliseconds to close everything else after the drain, and the minimum for each part. */
const closingMs = 700;
const minMs = 100;

/** Milliseconds to wait for an answer of the service. */
const answerMs = 3_000;

/** Why the account can't be read, with the remedy. */
async function problemOf(service: Service | undefined): Promise<string | undefined> {
  try {
    await service?.users.list({ signal: AbortSignal.timeout(answerMs) });
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { sentence, remedy } = meaningOf(error);
    return `${sentence} ${remedy}`;
  }
}

const packagedRules = fileURLToPath(new URL('../../config/rules.yaml', import.meta.url));

/** Variables of one process, which another one of the same deployment doesn't share. */
const ofOneProcess = ['DATA_DIR', 'HOST', 'PORT', 'WORKER_PORT', 'LOG_LEVEL', 'DATABASE_POOL_SIZE'];

/**
 * Runs everything in this process: supplies what the environment lacks (Postgres, the sandbox, secrets), migrates, and
 * starts the receiver and the workers. Throws `UserError` if the data folder is in use.
 */
export async function start(given: Readonly<Record<string, string | undefined>>, options: StartOptions) {
  const { log } = options;
  const { dataDir } = readSettings(given);
  const running = await findRunning(dataDir);
  if (running) {
    throw new UserError(`Trunkline runs already with the data folder ${resolve(dataDir)}.`, {
      remedy: `Open ${signInLink(running.statusUrl, running.adminToken)} or stop process ${running.pid} first, or choose another folder with DATA_DIR.`,
    });
  }
  const environment: Record<string, string> = Object.fromEntries(
    settingsRows().flatMap(({ name }) => (given[name]?.trim() ? [[name, given[name]]] : [])),
  );
  const opened: (() => Promise<void>)[] = [];
  /** Drains, then stops all parts in reverse order of their start. A part that hangs doesn't keep Postgres from it. */
  const close = async () => {
    const deadline = performance.now() + options.drainMs + closingMs;
    for (const each of opened.reverse()) {
      await withTimeout(Math.max(minMs, deadline - performance.now()), each(), () => undefined);
    }
    opened.length = 0;
  };
  try {
    let psqlArgument = '"$DATABASE_URL"';
    if (environment.DATABASE_URL === undefined) {
      const postgres = await startPostgres({ dataDir: join(dataDir, 'postgres'), log, onCrash: options.fail });
      opened.push(() => postgres.stop('fast', closingMs));
      environment.DATABASE_URL = postgres.url;
      psqlArgument = `'${postgres.passfileUrl}'`;
    }
    const sandbox = environment.API_BASE_URL === undefined ? await openSandbox(join(dataDir, 'sandbox')) : undefined;
    if (sandbox) {
      opened.push(sandbox.close);
      Object.assign(environment, { API_BASE_URL: sandbox.url, API_KEY: sandbox.apiKey });
      environment.TIME_ZONE ??= 'UTC';
    }
    environment.WEBHOOK_SECRET ??= await keptSecret(join(dataDir, 'webhook-secret'));
    environment.ENCRYPTION_KEY ??= await keptSecret(join(dataDir, 'encryption-key'));
    const supplied = readSettings(environment);
    const { adminToken, adminTokenFile } = await pagesToken(supplied);
    environment.ADMIN_TOKEN = adminToken;
    const { rulesFile } = supplied;
    // An installed package starts in an empty folder. The sandbox then runs the rules of the package.
    environment.RULES_FILE = sandbox && !existsSync(rulesFile) ? packagedRules : resolve(rulesFile);
    const settings = readySettings(readSettings(environment));
    await migrateAll(settings.databaseUrl, log, settings.searchLanguage);
    const context = await createContext(settings, {
      log,
      name: 'start',
      maxConnections: { receives: true, works: true },
      isOwnSandbox: sandbox !== undefined,
    });
    opened.push(() => context[Symbol.asyncDispose](), startHeartbeat(log).stop);
    const { db } = context.database;
    if (!sandbox && (await isOfSandbox(db))) {
      throw new UserError('The database holds the data of the sandbox.', {
        remedy: 'For a real account, set DATA_DIR to another folder, or DATABASE_URL to another database.',
      });
    }
    const receiver = await createReceiver(context, (app) => registerPages(app, context));
    opened.push(receiver.close);
    const workers = await options.startWorkers(context, { role: 'start' });
    opened.push(() => workers.close(options.drainMs));
    if (sandbox) environment.PUBLIC_URL ??= receiver.url;
    const { PUBLIC_URL: publicUrl, WEBHOOK_SECRET: secret } = environment;
    if (publicUrl !== undefined) opened.push(startWebhookRegistration(context, publicUrl, secret).stop);
    // Browsers open one address, not all of them.
    const statusUrl = `${receiver.url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')}/`;
    for (const name of ofOneProcess) delete environment[name];
    const isSandbox = sandbox !== undefined;
    opened.push(await announceRunning(dataDir, { statusUrl, adminToken, isSandbox, environment }));
    return {
      addresses: {
        statusUrl,
        signInUrl: signInLink(statusUrl, adminToken),
        databaseUrl: withoutPassword(settings.databaseUrl),
        /** Undefined if a real service is used. */
        sandboxUrl: sandbox?.url,
        dataDir,
        rulesFile: settings.rulesFile,
        /** The file of the generated ADMIN_TOKEN. Undefined if one was set. */
        adminTokenFile,
        /** Why the account can't be read, with the remedy. */
        problem: await problemOf(context.service),
        /** Undefined while nobody has chosen one. */
        timeZone: settings.hoursZone,
      },
      /** The argument for psql, without a password. */
      psqlArgument,
      /** Aborts API requests in progress. */
      abandon: (what: 'repeatable' | 'all') => context.service?.abandon(what),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens the sandbox at its usual port if that is free, else at any. */
async function openSandbox(dataDir: string) {
  const open = (port: number) => createSandbox({ dataDir, traffic: true, port });
  return open(defaultSandboxPort).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    return open(0);
  });
}
