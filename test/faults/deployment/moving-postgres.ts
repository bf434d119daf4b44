import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { vi } from 'vitest';
import { type DebianPostgres, startDebianPostgres, startStandby } from '../../stores/debian.ts';
import { conditionTimeoutMs } from '../../timeouts.ts';
import { type OnOpen, openWire } from '../nemesis/proxy.ts';
import type { PostgresStore } from './stores.ts';

/** Debian's Postgres at an address that can lead to another server, as that of a managed database does. */
export interface MovingPostgres {
  readonly store: PostgresStore;
  /** The server's own address, whatever the other one leads to. */
  readonly server: DebianPostgres;
  /** Starts a standby that follows the server asynchronously. */
  follow(): Promise<Standby>;
  /** A further server, with an empty database. */
  another(): Promise<DebianPostgres>;
  /** Leads the address to another server. */
  moveTo(server: DebianPostgres): void;
}

interface Standby {
  /** Ends the replication once the standby has everything: what is committed from now on is lost with the primary. */
  cut(): Promise<void>;
  /** The primary crashes, and the standby takes its place and its address. */
  promote(): Promise<void>;
}

const settings = { fsync: 'off' };

export async function openMovingPostgres(onOpen: OnOpen): Promise<MovingPostgres> {
  const opened = new Set<{ readonly server: DebianPostgres; readonly folder: string }>();

  async function open(start: (folder: string) => Promise<DebianPostgres>): Promise<DebianPostgres> {
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-server-'));
    onOpen(() => rm(folder, { recursive: true, force: true }));
    const server = await start(folder);
    opened.add({ server, folder });
    onOpen(() => server.stop('immediate'));
    return server;
  }

  const server = await open((folder) => startDebianPostgres(folder, settings));
  const wire = await openWire(portOf(server), onOpen);
  const moveTo = (to: DebianPostgres) => wire.redirect(portOf(to));

  return {
    server,
    store: {
      url: wire.through(server.url),
      crash: () => server.stop('immediate'),
      start: () => Promise.reject(new Error('A server that was left does not come back.')),
      run: (...statements) => run(server, ...statements).then(() => undefined),
      async log() {
        const logs = [...opened].map(({ folder }) => readFile(join(folder, 'postgres.log'), 'utf8'));
        return (await Promise.all(logs)).join('\n');
      },
    },
    moveTo,
    another: () => open((folder) => startDebianPostgres(folder, settings)),
    async follow() {
      const standby = await open((folder) => startStandby(folder, server, settings));
      return {
        async cut() {
          const [{ lsn } = {}] = await run(server, 'select pg_current_wal_lsn() as lsn');
          const hasAll = `select pg_last_wal_replay_lsn() >= '${lsn}' as has_all`;
          await until(async () => (await run(standby, hasAll))[0]?.has_all === true);
          await run(standby, `alter system set primary_conninfo = ''`, 'select pg_reload_conf()');
          await until(async () => (await run(server, 'select pid from pg_stat_replication')).length === 0);
        },
        async promote() {
          await server.stop('immediate');
          await run(standby, 'select pg_promote()');
          moveTo(standby);
        },
      };
    },
  };
}

function portOf({ url }: DebianPostgres): number {
  return Number(new URL(url).port);
}

/** Runs statements as superuser; resolves to the rows of the last one. */
async function run({ superuserUrl }: DebianPostgres, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: superuserUrl });
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) rows = (await client.query(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

const until = (condition: () => Promise<boolean>) =>
  vi.waitUntil(condition, { timeout: conditionTimeoutMs, interval: 50 });
