import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { vi } from 'vitest';
import { createSealer } from '../../../src/credentials/sealer.ts';
import { migrateAll } from '../../../src/migrations.ts';
import { createLog } from '../../../src/shared/log.ts';
import { wantedTypes } from '../../../src/sync/subscriptions/ensure.ts';
import type { Backend } from '../../stores/backends.ts';
import { conditionTimeoutMs } from '../../timeouts.ts';
import type { OnOpen } from '../nemesis/proxy.ts';
import { openWires, type Wires } from '../nemesis/wires.ts';
import { createPart, type Part } from './part.ts';
import { freePort } from './ports.ts';
import { openSandbox } from './sandbox.ts';
import type { FaultyService, Resource } from './service.ts';
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
  /** Another Postgres than the embedded one. */
  readonly openPostgres?: typeof openPostgres;
}

/** Starts everything, and resolves when the webhooks are registered. */
export async function deploy(shape: DeploymentShape, onOpen: OnOpen): Promise<Deployment> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-faults-'));
  onOpen(() => rm(folder, { recursive: true, force: true }));
  const secrets = {
    'webhook secret': randomBytes(18).toString('hex'),
    'admin token': randomBytes(18).toString('hex'),
    'API key': apiKey,
  };
  const [postgres, redis, service] = await Promise.all([
    (shape.openPostgres ?? openPostgres)(folder, onOpen),
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
  const webs = ports.map((port, at) =>
    createPart(
      {
        name: `web ${at + 1}`,
        args: ['web'],
        env: {
          ...environmentOf('web', at),
          PORT: String(port),
          PUBLIC_URL: addresses[0] as string,
          WEBHOOK_SECRET: secrets['webhook secret'],
          ADMIN_TOKEN: secrets['admin token'],
        },
        readyWords: 'The receiver is listening',
      },
      onOpen,
    ),
  );
  const workers = Array.from({ length: shape.workers ?? 1 }, (_, at) =>
    createPart(
      {
        name: `worker ${at + 1}`,
        args: ['worker'],
        env: environmentOf('worker', at),
        readyWords: 'The worker processes its queues',
      },
      onOpen,
    ),
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
    environment: { ...env, PUBLIC_URL: addresses[0] as string, WEBHOOK_SECRET: secrets['webhook secret'] },
    secrets: { ...secrets, 'database password': new URL(postgres.url).password },
  };
}

/** What a process is told when it reaches the others by wires. */
function rewired<E extends { DATABASE_URL: string; API_BASE_URL: string; REDIS_URL?: string }>(
  env: E,
  wires: Wires,
  victim: 'web' | 'worker',
): E {
  return {
    ...env,
    DATABASE_URL: wires[`${victim}ToPostgres`].through(env.DATABASE_URL),
    API_BASE_URL: wires[`${victim}ToService`].through(env.API_BASE_URL),
    ...(env.REDIS_URL !== undefined && { REDIS_URL: wires[`${victim}ToQueue`].through(env.REDIS_URL) }),
  };
}

/** The webhook subscriptions that point at these addresses. */
export async function ourSubscriptions(service: FaultyService, addresses: readonly string[]): Promise<Resource[]> {
  const listed = await service.read('/webhooks');
  return listed.filter(({ url }) => addresses.some((address) => String(url).startsWith(address)));
}
