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
const longestMs = 300_000;

/** Calls per second, round by round. */
interface Rates {
  readonly drained: number[];
  readonly baseline: number[];
}

/**
 * A backlog of distinct calls, each enqueued and to be read once, with an API that answers at once. On Redis, against the same
 * reads by the same client without queue or writes; on PostgreSQL, against the same jobs taken without doing anything.
 */
export async function drain(rig: Rig): Promise<Finding[]> {
  const rounds = rig.rounds ?? 2;
  await using service = await startStandIn(calls);
  const findings: Finding[] = [];
  for (const backend of backends) {
    const rates: Rates = { drained: [], baseline: [] };
    for (let round = 1; round <= rounds; round += 1) {
      const databaseUrl = await rig.stores.database(`drain_${backend}_${round}`);
      const stores = { databaseUrl, redisUrl: rig.stores.redisUrl(backend) };
      rates.baseline.push(calls / (await baseline(backend, stores, service.ready)));
      rates.drained.push(calls / (await drained(stores, service.ready, rig.profileFolder)));
      rig.progress(`${backend}, round ${round} of ${rounds}`);
    }
    findings.push(findingOf(backend, rates));
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
  if (backend === 'postgres') await enqueueAll(stores);
  const { seconds } = await measureIn<{ seconds: number }>(
    'reader',
    [backend === 'redis' ? 'reads' : 'jobs', String(calls)],
    { API_BASE_URL: serviceUrl, DATABASE_URL: stores.databaseUrl, REDIS_URL: stores.redisUrl },
  );
  return seconds;
}

/** Seconds from the start of the first read until nothing is pending. */
async function drained(stores: DaemonStores, url: string, profileFolder: string | undefined): Promise<number> {
  const client = new Client({ connectionString: stores.databaseUrl });
  await client.connect();
  try {
    // As web leaves them once they are enqueued: the sweep takes none of them for lost.
    await client.query(
      `insert into ops.sync_targets (kind, key, due_at, enqueued_at) select 'call', key, now(), now() + interval '1 hour' from unnest($1::text[]) key`,
      [Array.from({ length: calls }, (_, at) => callId(at))],
    );
    await client.query('analyze ops.sync_targets');
    await enqueueAll(stores);
    await using _worker = await startWorker(stores, { url, apiKey: 'bench-key' }, profileFolder);
    const began = performance.now();
    for (;;) {
      const pending = await client.query(
        `select from ops.sync_targets where kind = 'call' and dirty_version > clean_version limit 1`,
      );
      if (pending.rowCount === 0) break;
      if (performance.now() - began > longestMs) throw new Error('The backlog was not drained in five minutes.');
      await sleep(200);
    }
    const { rows } = await client.query<{ seconds: number }>(
      `select extract(epoch from clock_timestamp() - min(read_at))::float8 as seconds from ops.sync_targets where kind = 'call'`,
    );
    return rows[0]?.seconds ?? Number.NaN;
  } finally {
    await client.end();
  }
}

async function enqueueAll({ databaseUrl, redisUrl }: DaemonStores): Promise<void> {
  const queues = await createQueues({ databaseUrl, redisUrl, log: createLog('warn') });
  const jobs = Array.from({ length: calls }, (_, at) => ({ kind: 'call', key: callId(at) }));
  await queues.enqueue('calls', jobs);
  await queues.close();
}
