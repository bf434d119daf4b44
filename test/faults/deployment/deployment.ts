import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Pool } from 'pg';
import { vi } from 'vitest';
import { createSealer } from '../../../src/credentials/sealer.ts';
import { migrateAll } from '../../../src/migrations.ts';
import { createLog } from '../../../src/shared/log.ts';
import { wantedTypes } from '../../../src/sync/subscriptions/ensure.ts';
import { temporaryFolder } from '../../at-end.ts';
import type { Backend } from '../../stores/backends.ts';
import { conditionTimeoutMs } from '../../timeouts.ts';
import type { OnOpen } from '../nemesis/proxy.ts';
import { openWires, type Wires } from '../nemesis/wires.ts';
import { createPart, type Part, type PartShape } from './part.ts';
import { freePort } from './ports.ts';
import { type FaultyService, openSandbox, type Resource } from './service.ts';
import { openPostgres, openRedis, type PostgresStore, type RedisStore } from './stores.ts';

/** A whole Trunkline as production runs it: every process and every store on its own, each open to faults. */
export interface Deployment {
  readonly webs: readonly Part[];
  readonly workers: readonly Part[];
  /** The first of each, where there is one. */
  readonly web: Part;
  readonly worker: Part;
  readonly postgres: PostgresStore;
  /** The Redis of the queues; undefined where they live in Postgres. */
  readonly redis: RedisStore | undefined;
  readonly service: FaultyService;
  /** For looking at the database; a crash of Postgres costs it queries only. */
  readonly database: Pool;
  /** The address that an event type is delivered to, at each `web`. */
  hooks(type: string): readonly string[];
  /** Where each `web` listens. */
  readonly addresses: readonly string[];
  /** Between the parts, where the shape asks for them: the first web and all workers are wired. */
  readonly wires: Wires | undefined;
  /** What its processes are told, for others beside them. */
  readonly environment: Readonly<Record<string, string>>;
  /** Words that stand in no log, by what they are. */
  readonly secrets: Readonly<Record<string, string>>;
}

const apiKey = 'sandbox-key';
/** Opens the links that the daemon's processes sealed. */
export const links = createSealer(apiKey);

export interface DeploymentShape {
  readonly backend: Backend;
  readonly webs?: number;
  readonly workers?: number;
  /** Puts a wire that can go wrong between any two parts. */
  readonly isWired?: boolean;
  /** Options of Node for the daemon's processes. */
  readonly nodeOptions?: string;
  /** Further variables of theirs. */
  readonly environment?: Readonly<Record<string, string>>;
}

const readyWords = { web: 'The receiver is listening', worker: 'The worker processes its queues' };

/** A receiver or a worker, of another release where its folder is named. */
export function createDaemon(
  role: 'web' | 'worker',
  { name = role, ...shape }: Pick<PartShape, 'env' | 'release'> & { readonly name?: string },
  onOpen: OnOpen,
): Part {
  return createPart({ name, args: [role], readyWords: readyWords[role], ...shape }, onOpen);
}

/** Starts everything, and resolves when the webhooks are registered. */
export async function deploy(shape: DeploymentShape, onOpen: OnOpen): Promise<Deployment> {
  const folder = await temporaryFolder(onOpen);
  const secrets = {
    'webhook secret': randomBytes(18).toString('hex'),
    'admin token': randomBytes(18).toString('hex'),
    'API key': apiKey,
  };
  const [postgres, redis, service] = await Promise.all([
    openPostgres(folder, onOpen),
    shape.backend === 'redis' ? openRedis(folder, onOpen) : undefined,
    openSandbox(onOpen),
  ]);
  await migrateAll(postgres.url, createLog('silent'));
  const database = new Pool({ connectionString: postgres.url, max: 2, connectionTimeoutMillis: 5_000 });
  database.on('error', () => undefined);
  onOpen(() => database.end());

  const ports = await Promise.all(Array.from({ length: shape.webs ?? 1 }, freePort));
  const addresses = ports.map((port) => `http://127.0.0.1:${port}`);
  const wires = shape.isWired
    ? await openWires(
        { webPort: ports[0] as number, postgresUrl: postgres.url, redisUrl: redis?.url, serviceUrl: service.url },
        onOpen,
      )
    : undefined;
  if (wires) addresses[0] = `http://127.0.0.1:${wires.toWeb.port}`;
  const env = {
    DATA_DIR: join(folder, 'data'),
    ...shape.environment,
    DATABASE_URL: postgres.url,
    API_BASE_URL: service.url,
    API_KEY: secrets['API key'],
    ...(redis && { REDIS_URL: redis.url }),
    ...(shape.nodeOptions !== undefined && { NODE_OPTIONS: shape.nodeOptions }),
  };
  const environmentOf = (victim: 'web' | 'worker', at: number) =>
    wires && (victim === 'worker' || at === 0) ? rewired(env, wires, victim) : env;
  const publicUrl = { PUBLIC_URL: addresses[0] as string, WEBHOOK_SECRET: secrets['webhook secret'] };
  const webs = ports.map((port, at) => {
    const own = { PORT: String(port), ...publicUrl, ADMIN_TOKEN: secrets['admin token'] };
    return createDaemon('web', { name: `web ${at + 1}`, env: { ...environmentOf('web', at), ...own } }, onOpen);
  });
  const workers = Array.from({ length: shape.workers ?? 1 }, (_, at) =>
    createDaemon('worker', { name: `worker ${at + 1}`, env: environmentOf('worker', at) }, onOpen),
  );
  await Promise.all([...webs, ...workers].map((part) => part.start()));
  await vi.waitUntil(async () => (await ourSubscriptions(service, addresses)).length >= wantedTypes.length, {
    timeout: conditionTimeoutMs,
    interval: 50,
  });
  return {
    webs,
    workers,
    web: webs[0] as Part,
    worker: workers[0] as Part,
    postgres,
    redis,
    service,
    database,
    hooks: (type) => addresses.map((address) => `${address}/hooks/${secrets['webhook secret']}/${type}`),
    addresses,
    wires,
    environment: { ...env, ...publicUrl },
    secrets: { ...secrets, 'database password': new URL(postgres.url).password },
  };
}

/** What a process is told when it reaches the others by wires. */
function rewired(env: Readonly<Record<string, string>>, wires: Wires, victim: 'web' | 'worker') {
  const through = { DATABASE_URL: 'Postgres', API_BASE_URL: 'Service', REDIS_URL: 'Queue' } as const;
  const entries = Object.entries(through).flatMap(([name, end]) => {
    const address = env[name];
    return address === undefined ? [] : [[name, wires[`${victim}To${end}`].through(address)] as const];
  });
  return { ...env, ...Object.fromEntries(entries) };
}

/** The webhook subscriptions that point at these addresses. */
export async function ourSubscriptions(service: FaultyService, addresses: readonly string[]): Promise<Resource[]> {
  const listed = await service.read('/webhooks');
  return listed.filter(({ url }) => addresses.some((address) => String(url).startsWith(address)));
}
