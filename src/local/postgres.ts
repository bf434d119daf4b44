import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { escapeLiteral } from 'pg';
import { withClient } from '../db/connections.ts';
import { makeDataFolder } from '../shared/data-folder.ts';
import { UserError } from '../shared/errors.ts';
import type { Log } from '../shared/log.ts';
import { type Cluster, makeFolder, openCluster, owner, superuser } from './cluster.ts';
import { claimFolder, commandLineOf } from './data-folder.ts';

/** Server settings for a small machine. The `log_…` settings keep message texts out of the server's log. */
const defaults = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '256MB',
  synchronous_commit: 'on',
  wal_compression: 'on',
  max_wal_size: '2GB',
  jit: 'off',
  random_page_cost: '1.1',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
} as const;

const databaseName = 'trunkline';
const stopTimeoutMs = 20_000;
const logLimit = 16 * 1024 * 1024;

interface PostgresOptions {
  /** The folder that keeps the database, its password and its port between runs. */
  readonly dataDir: string;
  /** Default: the port of the last run if it is free, else any free port. */
  readonly port?: number;
  readonly log: Log;
  /** Server settings that override the defaults. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface LocalPostgres {
  /** Connection string of the database `trunkline` for its owner. Doesn't change during the life of this object. */
  readonly url: string;
  /** The same without a password, for psql and other libpq programs, which read it from a file. */
  readonly passfileUrl: string;
  /** The same for the superuser, for administration. */
  readonly superuserUrl: string;
  readonly port: number;
  /** Process id of the server. Changes when it is restarted. */
  readonly pid: number;
  /**
   * Stops the server and releases the folder. `immediate` is a crash: the next start recovers from the log. A server
   * that doesn't stop within `timeoutMs` is stopped immediately.
   */
  stop(mode?: 'fast' | 'immediate', timeoutMs?: number): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Runs an embedded Postgres on 127.0.0.1 until `stop()`. It doesn't get the signals of this process, so it outlives the
 * drain. Restarts a server that dies, and first stops one that a killed process left behind.
 *
 * stopped ─ start ─▶ serving ─ dies ─▶ restarting ─▶ serving ─ stop() ─▶ stopped
 *
 * Throws `UserError` if another process uses the folder, and what `makeFolder` and `openCluster` throw. Any other
 * error quotes the end of the server's log.
 */
export async function startPostgres(options: PostgresOptions): Promise<LocalPostgres> {
  await makeFolder(options.dataDir);
  const releaseFolder = await claimFolder(options.dataDir);
  try {
    const cluster = await openCluster(options.dataDir);
    await makeDataFolder(options.dataDir);
    await endLeftover(cluster.directory, stopTimeoutMs, options.log);
    const settings = { ...defaults, ...options.settings };
    const server = await firstLaunch(cluster, join(options.dataDir, 'port'), options.port, settings);
    await prepareDatabase(cluster, server.port);
    return keepServing(cluster, server, settings, releaseFolder, options.log);
  } catch (error) {
    await releaseFolder();
    throw error;
  }
}

interface Server {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly port: number;
}

async function firstLaunch(
  cluster: Cluster,
  portFile: string,
  wanted: number | undefined,
  settings: Readonly<Record<string, string>>,
): Promise<Server> {
  const remembered = Number(await readFile(portFile, 'utf8').catch(() => '0'));
  let port = wanted ?? (remembered || (await freePort()));
  for (let attempt = 1; ; attempt += 1) {
    try {
      const server = await launch(cluster, port, settings);
      await writeFile(portFile, `${port}\n`);
      return server;
    } catch (error) {
      const isPortTaken = error instanceof ServerEnded && error.code === 'port_taken';
      if (!isPortTaken || wanted !== undefined || attempt === 5) throw error;
      port = await freePort();
    }
  }
}

async function launch(cluster: Cluster, port: number, settings: Readonly<Record<string, string>>): Promise<Server> {
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  await using file = await open(cluster.logFile, 'a+', 0o600);
  if ((await file.stat()).size > logLimit) await file.truncate();
  const logStart = (await file.stat()).size;
  const child = cluster.serve(['-p', String(port), ...flags], {
    // Its own session, so that a Ctrl-C in the terminal only reaches us.
    detached: true,
    stdio: ['ignore', file.fd, file.fd],
  });
  const ended = once(child, 'exit').then(() => 'ended' as const);
  while (child.pid !== undefined) {
    if (await isReady(cluster.directory, child.pid)) return { child, pid: child.pid, port };
    const outcome = await Promise.race([ended, sleep(15)]);
    if (outcome === 'ended') break;
  }
  await ended;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(4096), 0, 4096, logStart);
  const reason = buffer.toString('utf8', 0, bytesRead).trim() || 'it ended without a message';
  throw new ServerEnded(reason, (await isPortFree(port)) ? 'not_started' : 'port_taken');
}

/** The server ended during its start. Only its log says why. */
class ServerEnded extends UserError {
  readonly code: 'port_taken' | 'not_started';

  constructor(reason: string, code: ServerEnded['code']) {
    super(`The embedded Postgres did not start: ${reason}`);
    this.code = code;
  }
}

function keepServing(
  cluster: Cluster,
  first: Server,
  settings: Readonly<Record<string, string>>,
  releaseFolder: () => Promise<void>,
  log: Log,
): LocalPostgres {
  const { port } = first;
  let server = first;
  let isStopping = false;
  const stopping = new AbortController();
  const serving = watch();

  async function watch(): Promise<void> {
    for (;;) {
      server.child.unref();
      if (server.child.exitCode === null && server.child.signalCode === null) await once(server.child, 'exit');
      if (isStopping) return;
      log.error(
        { logFile: cluster.logFile },
        'The embedded Postgres ended unexpectedly and is restarted. The reason is in its log',
      );
      const next = await relaunch();
      if (!next) return;
      server = next;
      // `stop` may have been called during the launch, when it only reached the dead server.
      if (isStopping) server.child.kill('SIGINT');
      else log.info({ pid: server.pid }, 'The embedded Postgres is running again');
    }
  }

  async function relaunch(): Promise<Server | undefined> {
    for (let pause = 50; !isStopping; pause = Math.min(pause * 2, 10_000)) {
      try {
        return await launch(cluster, port, settings);
      } catch (err) {
        // The child processes of a killed server need a moment to notice its death, and hold its memory until then.
        if (pause > 1_000) log.error({ err }, 'The embedded Postgres cannot be started; the start is retried');
        await sleep(pause, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
    return undefined;
  }

  async function end(mode: 'fast' | 'immediate', timeoutMs: number): Promise<void> {
    isStopping = true;
    stopping.abort();
    server.child.ref();
    server.child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    const timeout = setTimeout(() => server.child.kill('SIGQUIT'), timeoutMs);
    await serving;
    clearTimeout(timeout);
    await releaseFolder();
  }

  let ending: Promise<void> | undefined;
  const stop = (mode: 'fast' | 'immediate' = 'fast', timeoutMs = stopTimeoutMs) => {
    ending ??= end(mode, timeoutMs);
    return ending;
  };
  return {
    url: urlOf(cluster, port, owner, databaseName),
    passfileUrl: `postgres://${owner}@127.0.0.1:${port}/${databaseName}?passfile=${pathInUrl(cluster.passfile)}`,
    superuserUrl: urlOf(cluster, port, superuser, databaseName),
    port,
    get pid() {
      return server.pid;
    },
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

/** Creates the daemon's role, which isn't a superuser, and its database. */
async function prepareDatabase(cluster: Cluster, port: number): Promise<void> {
  await withClient({ connectionString: urlOf(cluster, port, superuser, 'postgres') }, async (client) => {
    const role = await client.query('select from pg_roles where rolname = $1', [owner]);
    if (role.rowCount === 0) await client.query(`create role ${owner}`);
    // CREATEROLE is needed for `migrate --bi-role`.
    await client.query(`alter role ${owner} login createrole password ${escapeLiteral(cluster.passwords[owner])}`);
    // Lets the role report whose query blocks it, and lets its owner end that query.
    await client.query(`grant pg_read_all_stats, pg_signal_backend to ${owner}`);
    const found = await client.query('select from pg_database where datname = $1', [databaseName]);
    if (found.rowCount === 0) await client.query(`create database ${databaseName} owner ${owner}`);
  });
}

function urlOf(cluster: Cluster, port: number, role: keyof Cluster['passwords'], database: string): string {
  return `postgres://${role}:${cluster.passwords[role]}@127.0.0.1:${port}/${database}`;
}

/** Escapes a path for use in a URL between single quotes on a command line. */
function pathInUrl(path: string): string {
  return encodeURIComponent(path).replaceAll('%2F', '/').replaceAll("'", '%27');
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}

/** Whether a server can listen on this port of 127.0.0.1. */
async function isPortFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1');
  const isFree = await once(probe, 'listening').then(
    () => true,
    () => false,
  );
  probe.close();
  return isFree;
}

/** Whether the server with this process id accepts connections, according to its lock file. */
async function isReady(directory: string, pid: number): Promise<boolean> {
  const lock = await readLock(directory);
  return lock?.pid === pid && lock.status === 'ready';
}

/** Stops a server that a killed process left behind. After `timeoutMs`, with an immediate shutdown. */
async function endLeftover(directory: string, timeoutMs: number, log: Log): Promise<void> {
  const pid = (await readLock(directory))?.pid;
  const line = pid === undefined ? undefined : await commandLineOf(pid);
  if (pid === undefined || line === undefined) return;
  if (!line.includes(directory)) {
    // The process id was reused (after a reboot, or in a new container), and Postgres would refuse to start. In all
    // other cases keep the lock file: Postgres needs it to find out whether children of a killed server still write.
    await rm(join(directory, 'postmaster.pid'), { force: true });
    return;
  }
  log.warn({ pid }, 'A killed process left its Postgres running; it is stopped first');
  process.kill(pid, 'SIGINT');
  const timeout = setTimeout(() => process.kill(pid, 'SIGQUIT'), timeoutMs);
  while ((await commandLineOf(pid)) === line) await sleep(20);
  clearTimeout(timeout);
}

async function readLock(directory: string) {
  const text = await readFile(join(directory, 'postmaster.pid'), 'utf8').catch(() => '');
  if (text === '') return undefined;
  const lines = text.split('\n');
  return { pid: Number(lines[0]), status: lines[7]?.trim() };
}
