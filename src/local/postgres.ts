import { once } from 'node:events';
import { readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, escapeLiteral } from 'pg';
import { isPostgresAway } from '../db/refusals.ts';
import { UserError } from '../shared/errors.ts';
import type { Log } from '../shared/log.ts';
import { type Cluster, openCluster, owner, superuser } from './cluster.ts';
import { commandLineOf } from './data-folder.ts';

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
/** How long a server that ended may still be seen. */
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
  const { pid, port, client } = await launchAlone(cluster, options);
  await prepareDatabase(client, cluster);
  // The types of the driver lack it.
  (client as Client & { unref(): void }).unref();
  let isStopping = false;
  // A process that exits can't wait for its server, so it only asks the server to stop.
  const onExit = () => process.kill(pid, 'SIGINT');
  process.once('exit', onExit);
  client.once('end', async () => {
    await sleep(crashMs);
    if (isStopping || (await findServer(cluster.directory))) return;
    process.off('exit', onExit);
    options.onCrash?.(
      new UserError('The embedded Postgres ended.', { remedy: `Its log says why: ${cluster.logFile}.` }),
    );
  });
  /** Stops the server and releases the folder. `immediate` is a crash: the next start recovers from the log. */
  const stop = async (mode: 'fast' | 'immediate' = 'fast', timeoutMs = stopTimeoutMs) => {
    isStopping = true;
    await stopServer(cluster, mode, timeoutMs);
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

/** Resolves when the server is gone. After `timeoutMs`, stops it immediately. */
async function stopServer({ control }: Cluster, mode: 'fast' | 'immediate', timeoutMs: number): Promise<void> {
  // A server that is gone already can't be stopped, which is as well.
  const ask = (each: string, ms: number) => control('stop', '-m', each, '-t', String(Math.ceil(ms / 1_000)));
  await ask(mode, timeoutMs).catch(() => ask('immediate', stopTimeoutMs).catch(() => undefined));
}

const maxLaunches = 5;
/** How long a start that has just launched its server may take to lock it. */
const lockedWithinMs = 500;

/**
 * Launches the server, and makes this process the only one that uses it: a lock in it ends with the process that holds
 * it, however that ends. A server that nobody has locked was left behind by a killed process, and is stopped.
 */
async function launchAlone(cluster: Cluster, options: PostgresOptions) {
  const portFile = join(options.dataDir, 'port');
  const lastPort = Number(await readFile(portFile, 'utf8').catch(() => '0'));
  for (let launches = 0; ; ) {
    const found = await findServer(cluster.directory);
    if (found) await sleep(lockedWithinMs);
    else {
      launches += 1;
      const port = options.port ?? (await freePort(lastPort));
      await launch(cluster, port, { ...defaults, ...options.settings }).catch(async (error: unknown) => {
        // The server of another start, or the children of a killed one, may appear or end meanwhile.
        if (launches === maxLaunches) throw error;
        await sleep(lockedWithinMs);
      });
    }
    const server = await findServer(cluster.directory);
    const client = server && (await lock(cluster, server.port, options.dataDir));
    if (!client) continue;
    if (!found) {
      await writeFile(portFile, `${server.port}\n`);
      return { ...server, client };
    }
    options.log.warn({ pid: found.pid }, 'A killed process left its Postgres running; it is stopped first');
    await stopServer(cluster, 'fast', stopTimeoutMs);
  }
}

async function launch(cluster: Cluster, port: number, settings: Readonly<Record<string, string>>): Promise<void> {
  const { logFile } = cluster;
  const { size } = await stat(logFile).catch(() => ({ size: 0 }));
  if (size > logLimit) await truncate(logFile);
  const flags = Object.entries(settings).map(([name, value]) => `-c '${name}=${value}'`);
  await cluster
    .control('start', '-l', logFile, '-t', '86400', '-o', `-p ${port} ${flags.join(' ')}`)
    .catch(async () => {
      const lines = (await readFile(logFile, 'utf8').catch(() => '')).trim().split('\n');
      throw new UserError(`The embedded Postgres did not start. Its log ends with: ${lines.slice(-5).join('\n')}`);
    });
}

const ownerLock = 7_281_001;

/** Locks a server for this process. Undefined while it starts or ends. Throws `UserError` if another process has it. */
async function lock(cluster: Cluster, port: number, folder: string): Promise<Client | undefined> {
  const client = new Client({
    connectionString: urlOf(cluster, port, superuser, 'postgres'),
    application_name: `trunkline ${process.pid}`,
    connectionTimeoutMillis: stopTimeoutMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ is_ours: boolean; holder: string | null }>(
      `select pg_try_advisory_lock(${ownerLock}) as is_ours,
         (select split_part(application_name, ' ', 2) from pg_stat_activity where pid =
           (select pid from pg_locks where locktype = 'advisory' and objid = ${ownerLock} and granted limit 1)) as holder`,
    );
    if (rows[0]?.is_ours) return client;
    throw new UserError(`${folder} is in use by process ${rows[0]?.holder}.`, {
      remedy: 'Stop that process, or choose another folder with DATA_DIR.',
    });
  } catch (error) {
    await client.end().catch(() => undefined);
    if (!isPostgresAway(error)) throw error;
    return undefined;
  }
}

/** Creates the daemon's role, which isn't a superuser, and its database. */
async function prepareDatabase(client: Client, cluster: Cluster): Promise<void> {
  const role = await client.query('select from pg_roles where rolname = $1', [owner]);
  if (role.rowCount === 0) await client.query(`create role ${owner}`);
  // CREATEROLE is needed for `migrate --bi-role`.
  await client.query(`alter role ${owner} login createrole password ${escapeLiteral(cluster.passwords[owner])}`);
  // The lock of a start stands in this database, and whoever may enter it could take that.
  await client.query('revoke connect on database postgres from public');
  // Lets the role report whose query blocks it, and lets its owner end that query.
  await client.query(`grant pg_read_all_stats, pg_signal_backend to ${owner}`);
  const found = await client.query('select from pg_database where datname = $1', [databaseName]);
  if (found.rowCount === 0) await client.query(`create database ${databaseName} owner ${owner}`);
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

/** The running server of the cluster, according to its lock file. */
async function findServer(directory: string): Promise<{ readonly pid: number; readonly port: number } | undefined> {
  const file = join(directory, 'postmaster.pid');
  const [pid, , , port] = (await readFile(file, 'utf8').catch(() => '')).split('\n').map(Number);
  const line = pid && (await commandLineOf(pid));
  if (!pid || !port || !line) return undefined;
  if (line.includes(directory)) return { pid, port };
  // After a reboot, or in a new container, another process may have the id, and Postgres would refuse to start. In all
  // other cases keep the file: Postgres needs it to find out whether children of a killed server still write.
  await rm(file, { force: true });
  return undefined;
}
