import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { createQueues } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { atLeast, type Finding, quantity } from './report.ts';
import { type DaemonStores, startWorker } from './rig/daemon.ts';
import type { Rig } from './rig/rig.ts';
import { type Backend, backends } from './rig/stores.ts';
import { ratiosOf, spreadOf } from './spread.ts';
import { callId } from './stand-in/calls.ts';
import { measureIn, startStandIn } from './stand-in/processes.ts';

const calls = 20_000;
/** Calls that become pending all at once after the backlog is drained, and how long after. */
const laterCalls = 5_000;
const laterAfterMs = 2_000;
const longestMs = 300_000;

/** Calls per second, round by round. */
interface Rates {
  readonly drained: number[];
  readonly later: number[];
  readonly baseline: number[];
}

/**
 * A backlog of distinct calls, each enqueued and to be read once, with an API that answers at once. On Redis, against the same
 * reads by the same client without queue or writes; on PostgreSQL, against the same jobs taken without doing anything. Then a
 * burst that the same worker gets when it has just become idle, against the rate at which it drained the backlog.
 */
export async function drain(rig: Rig): Promise<Finding[]> {
  const rounds = rig.rounds ?? 2;
  await using service = await startStandIn(calls + laterCalls);
  const findings: Finding[] = [];
  for (const backend of backends) {
    const rates: Rates = { drained: [], later: [], baseline: [] };
    for (let round = 1; round <= rounds; round += 1) {
      const databaseUrl = await rig.stores.database(`drain_${backend}_${round}`);
      const stores = { databaseUrl, redisUrl: rig.stores.redisUrl(backend) };
      rates.baseline.push(calls / (await baseline(backend, stores, service.ready)));
      const { drained, later } = await drainedRates(stores, service.ready, rig.profileFolder);
      rates.drained.push(drained);
      rates.later.push(later);
      rig.progress(`${backend}, round ${round} of ${rounds}`);
    }
    findings.push(findingOf(backend, rates), laterFindingOf(backend, rates));
  }
  return findings;
}

function findingOf(backend: Backend, { drained, baseline }: Rates): Finding {
  const ratio = ratiosOf(drained, baseline);
  return {
    bench: 'drain',
    what: `a backlog of ${calls} calls, queue in ${backend}`,
    baseline: quantity(backend === 'redis' ? 'reads alone' : 'jobs alone', 'calls/s', spreadOf(baseline)),
    subject: quantity('mirrored', 'calls/s', spreadOf(drained)),
    ratio,
    goal: atLeast(ratio, backend === 'redis' ? 0.5 : 0.7),
    limits: 'one worker process; API answers in 0 ms',
  };
}

async function baseline(backend: Backend, stores: DaemonStores, serviceUrl: string): Promise<number> {
  if (backend === 'postgres') await enqueueAll(stores, callIds(0, calls));
  const { seconds } = await measureIn<{ seconds: number }>(
    'reader',
    [backend === 'redis' ? 'reads' : 'jobs', String(calls)],
    { API_BASE_URL: serviceUrl, DATABASE_URL: stores.databaseUrl, REDIS_URL: stores.redisUrl },
  );
  return seconds;
}

function laterFindingOf(backend: Backend, { drained, later }: Rates): Finding {
  return {
    bench: 'drain',
    what: `${laterCalls} calls at once, ${laterAfterMs / 1_000} s after the backlog, queue in ${backend}`,
    baseline: quantity('backlog', 'calls/s', spreadOf(drained)),
    subject: quantity('mirrored', 'calls/s', spreadOf(later)),
    ratio: ratiosOf(later, drained),
    limits: 'the same worker process',
  };
}

/** Calls per second, of the backlog and of the burst after it. */
async function drainedRates(
  stores: DaemonStores,
  url: string,
  profileFolder: string | undefined,
): Promise<{ drained: number; later: number }> {
  const client = new Client({ connectionString: stores.databaseUrl });
  await client.connect();
  try {
    const backlog = await makePending(client, stores, 0, calls);
    await using _worker = await startWorker(stores, { url, apiKey: 'bench-key' }, profileFolder);
    const drained = await rateOf(client, backlog);
    await sleep(laterAfterMs);
    return { drained, later: await rateOf(client, await makePending(client, stores, calls, laterCalls)) };
  } finally {
    await client.end();
  }
}

function callIds(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => callId(first + at));
}

/** Makes calls pending and enqueues them, as web does. */
async function makePending(client: Client, stores: DaemonStores, first: number, count: number): Promise<string[]> {
  const keys = callIds(first, count);
  // The sweep takes none of them for lost.
  await client.query(
    `insert into ops.sync_targets (kind, key, due_at, enqueued_at) select 'call', key, now(), now() + interval '1 hour' from unnest($1::text[]) key`,
    [keys],
  );
  await client.query('analyze ops.sync_targets');
  await enqueueAll(stores, keys);
  return keys;
}

/** Waits until none of the calls is pending. Calls per second since the first of their reads began. */
async function rateOf(client: Client, keys: readonly string[]): Promise<number> {
  const began = performance.now();
  for (;;) {
    const pending = await client.query(
      `select from ops.sync_targets where kind = 'call' and dirty_version > clean_version limit 1`,
    );
    if (pending.rowCount === 0) break;
    if (performance.now() - began > longestMs) throw new Error('The calls were not mirrored in five minutes.');
    await sleep(50);
  }
  const { rows } = await client.query<{ seconds: number }>(
    `select extract(epoch from clock_timestamp() - min(read_at))::float8 as seconds from ops.sync_targets where kind = 'call' and key = any($1)`,
    [keys],
  );
  return keys.length / (rows[0]?.seconds ?? Number.NaN);
}

async function enqueueAll({ databaseUrl, redisUrl }: DaemonStores, keys: readonly string[]): Promise<void> {
  const queues = await createQueues({ databaseUrl, redisUrl, log: createLog('warn') });
  await queues.enqueue(
    'calls',
    keys.map((key) => ({ kind: 'call', key })),
  );
  await queues.close();
}
