import { once } from 'node:events';
import { readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, escapeLiteral } from 'pg';
import { UserError } from '../shared/errors.ts';
import type { Log } from '../shared/log.ts';
import { type Cluster, openCluster, owner, superuser } from './cluster.ts';
import { findProcess } from './data-folder.ts';

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
/** Milliseconds between two checks of whether a stopped server has ended. */
const endsMs = 50;
/** How long a server that has ended may still look alive. */
const crashMs = 500;
const logLimit = 16 * 1024 * 1024;

interface PostgresOptions {
  /** The folder that keeps the database, its password and its port between runs. */
  readonly dataDir: string;
  /** Default: the port of the last run if it is free, else any free port. */
  readonly port?: number;
  readonly log: Log;
  /** Server settings that override the defaults. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Told once if the server ends by itself. */
  readonly onCrash?: (error: UserError) => void;
}

export type LocalPostgres = Awaited<ReturnType<typeof startPostgres>>;

/**
 * Runs an embedded Postgres on 127.0.0.1 until `stop()`. It doesn't get the signals of this process, so it outlives the
 * drain. Takes the place of a server that a killed process left behind. Throws `UserError` if another process uses the
 * folder, and what `openCluster` throws. Any other error quotes the end of the server's log.
 */
export async function startPostgres(options: PostgresOptions) {
  const cluster = await openCluster(options.dataDir);
  const { pid, port } = await launchAlone(cluster, options);
  const isRunning = async () => (await findServer(cluster.directory))?.pid === pid;
  // A process that exits can't wait for its server, so it only asks the server to stop.
  const onExit = () => tell(pid, 'SIGINT');
  process.once('exit', onExit);
  let isStopping = false;
  const client = await prepareDatabase(cluster, port);
  // The types of the driver lack it.
  (client as Client & { unref(): void }).unref();
  client.once('end', async () => {
    await sleep(crashMs);
    if (isStopping || (await isRunning())) return;
    process.off('exit', onExit);
    options.onCrash?.(
      new UserError('The embedded Postgres ended.', { remedy: `Its log says why: ${cluster.logFile}.` }),
    );
  });
  /**
   * Stops the server and releases the folder. `immediate`, or fast for longer than `timeoutMs`, is a crash: the next
   * start recovers from the log.
   */
  const stop = async (mode: 'fast' | 'immediate' = 'fast', timeoutMs = stopTimeoutMs) => {
    isStopping = true;
    const deadline = mode === 'fast' ? performance.now() + timeoutMs : 0;
    while (await isRunning()) {
      tell(pid, performance.now() < deadline ? 'SIGINT' : 'SIGQUIT');
      await sleep(endsMs);
    }
    process.off('exit', onExit);
  };
  return {
    url: urlOf(cluster, port, owner),
    /** The address without a password, for psql and other libpq programs, which read the password from a file. */
    passfileUrl: `postgres://${owner}@127.0.0.1:${port}/${databaseName}?passfile=${pathInUrl(cluster.passfile)}`,
    superuserUrl: urlOf(cluster, port, superuser),
    port,
    /** Of the server. */
    pid,
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

/** A setting without meaning for Postgres. The server's command line shows it. */
const ownerSetting = 'trunkline.owner';
const maxLaunches = 5;
const launchAgainMs = 500;

/** Launches the server for this process alone. Stops one that was left behind. */
async function launchAlone(cluster: Cluster, { dataDir, port, settings, log }: PostgresOptions) {
  const portFile = join(dataDir, 'port');
  const lastPort = Number(await readFile(portFile, 'utf8').catch(() => '0'));
  let stopBy: number | undefined;
  for (let launches = 0; ; await sleep(launchAgainMs)) {
    const found = await findServer(cluster.directory);
    if (found?.owner !== undefined) {
      throw new UserError(`${dataDir} is in use by process ${found.owner}.`, {
        remedy: 'Stop that process, or choose another folder with DATA_DIR.',
      });
    }
    if (found) {
      const { pid } = found;
      if (!stopBy) log.warn({ pid }, 'A killed process left its Postgres running; it is stopped first');
      stopBy ??= performance.now() + stopTimeoutMs;
      tell(pid, performance.now() < stopBy ? 'SIGINT' : 'SIGQUIT');
      continue;
    }
    try {
      const server = await launch(cluster, port ?? (await freePort(lastPort)), { ...defaults, ...settings });
      await writeFile(portFile, `${server.port}\n`).catch((err) => log.warn({ err }, 'The port is not kept'));
      return server;
    } catch (error) {
      // Another start may have been faster, or processes of a killed server may still be ending.
      launches += 1;
      if (launches === maxLaunches) throw error;
    }
  }
}

/** Postgres launches one server at most in a cluster. Throws `UserError` if that isn't the server launched here. */
async function launch(cluster: Cluster, port: number, settings: Readonly<Record<string, string>>) {
  const { directory, logFile, start } = cluster;
  const { size } = await stat(logFile).catch(() => ({ size: 0 }));
  if (size > logLimit) await truncate(logFile);
  const owned = { ...settings, [ownerSetting]: await markOf(process.pid) };
  const flags = Object.entries(owned).map(([name, value]) => `-c '${name}=${value}'`);
  // pg_ctl puts its own -D and -l between double quotes into a shell's line, where $ and ` have a meaning.
  const path = directory.replaceAll("'", `'\\''`);
  const line = `-D '${path}' -p ${port} ${flags.join(' ')}`;
  const isStarted = await start('-l', basename(logFile), '-t', '86400', '-o', line).then(
    () => true,
    () => false,
  );
  const server = isStarted ? await findServer(directory) : undefined;
  if (server) return server;
  const lines = (await readFile(logFile, 'utf8').catch(() => '')).trim().split('\n');
  throw new UserError(`The embedded Postgres did not start. Its log ends with: ${lines.slice(-5).join('\n')}`);
}

/** The owner as the command line of its server names it. The time tells it from a later process with the same id. */
const markOf = async (pid: number) => `${pid} since ${(await findProcess(pid))?.begun};`;

/** The running server of a cluster. `owner`: the process that launched it; undefined if that was killed since. */
async function findServer(directory: string) {
  const file = join(directory, 'postmaster.pid');
  const [pid, , , port] = (await readFile(file, 'utf8').catch(() => '')).split('\n').map(Number);
  const { commandLine: line } = (pid && (await findProcess(pid))) || {};
  if (!pid || !port || !line) return undefined;
  if (line.includes(directory)) {
    const owner = Number.parseInt(line.split(`${ownerSetting}=`)[1] ?? '', 10);
    return { pid, port, owner: line.includes(await markOf(owner)) ? owner : undefined };
  }
  // After a reboot, or in a new container, another process may have the id, and Postgres would refuse to start. In all
  // other cases keep the file: Postgres needs it to find out whether children of a killed server still write.
  await rm(file, { force: true });
  return undefined;
}

/** Sends a signal to a server that may be gone already. */
function tell(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {}
}

/** Creates the daemon's role, which isn't a superuser, and its database. Resolves to its connection. */
async function prepareDatabase(cluster: Cluster, port: number): Promise<Client> {
  const client = new Client({ connectionString: urlOf(cluster, port, superuser, 'postgres') });
  client.on('error', () => undefined);
  await client.connect();
  const role = await client.query('select from pg_roles where rolname = $1', [owner]);
  if (role.rowCount === 0) await client.query(`create role ${owner}`);
  // CREATEROLE is needed for `migrate --bi-role`.
  await client.query(`alter role ${owner} login createrole password ${escapeLiteral(cluster.passwords[owner])}`);
  // Lets the role report whose query blocks it, and lets its owner end that query.
  await client.query(`grant pg_read_all_stats, pg_signal_backend to ${owner}`);
  const found = await client.query('select from pg_database where datname = $1', [databaseName]);
  if (found.rowCount === 0) await client.query(`create database ${databaseName} owner ${owner}`);
  return client;
}

function urlOf(cluster: Cluster, port: number, role: keyof Cluster['passwords'], database = databaseName): string {
  return `postgres://${role}:${cluster.passwords[role]}@127.0.0.1:${port}/${database}`;
}

/** Escapes a path for use in a URL between single quotes on a command line. */
function pathInUrl(path: string): string {
  return encodeURIComponent(path).replaceAll('%2F', '/').replaceAll("'", '%27');
}

/** The given port of 127.0.0.1 if nobody listens there, else another. */
async function freePort(wanted: number): Promise<number> {
  const probe = createServer().listen(wanted, '127.0.0.1');
  try {
    await once(probe, 'listening');
    return (probe.address() as AddressInfo).port;
  } catch {
    return freePort(0);
  } finally {
    probe.close();
  }
}
