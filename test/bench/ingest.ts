import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { createDatabase } from '../../src/db/database.ts';
import { claimTargets, finishTargets } from '../../src/inbox/claims.ts';
import { defaultReadPauses, type Target } from '../../src/inbox/targets.ts';
import { createQueues } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { atLeast, atMost, type Finding, quantity } from './report.ts';
import { hookOf, startWeb } from './rig/daemon.ts';
import { type Load, startGenerator } from './rig/load.ts';
import { type Running, startNode } from './rig/processes.ts';
import type { Rig } from './rig/rig.ts';
import { type Backend, backends } from './rig/stores.ts';
import { costShown, type Usage, watching } from './rig/usage.ts';
import { ratiosOf, spreadOf } from './spread.ts';

const connections = 64;
const settleMs = 1_000;

/** A leader of a group commit waits so long before it flushes, holding the lock that all others wait for. */
const slowDisk = { commit_delay: '2000', commit_siblings: '0' };

type Deliveries = 'texts' | 'calls';

/** Something that answers deliveries, and what it was seen to do in each round. */
interface Contender extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** Texts of a thousand threads, or calls, each of them new. */
  readonly deliveries: Deliveries;
  readonly loads: Load[];
  readonly usages: Usage[];
  /** Jobs enqueued per second. */
  readonly jobs: number[];
  /** Runs beside the load; returns the jobs it counted. */
  besides(signal: AbortSignal): Promise<number>;
  /** Between rounds: back to where the first round began. */
  rest(): Promise<void>;
  /** Deliveries that its database holds of this round; undefined where it keeps none. */
  stored?(): Promise<number>;
}

/**
 * Accept, commit delivery and target, enqueue: against bare Fastify, and against one INSERT per request. Nothing consumes
 * the jobs; instead, all targets turn clean and the queue is emptied each second, so that every thread is enqueued each second.
 * Once with texts of a thousand threads, once with calls, of which each delivery makes a new target and a new job.
 */
export async function ingest(rig: Rig): Promise<Finding[]> {
  const rounds = rig.rounds ?? 5;
  const seconds = rig.seconds ?? 5;
  await using stack = new AsyncDisposableStack();
  const generator = stack.use(await startGenerator());

  let nextCall = 0;
  async function play(contenders: readonly Contender[]): Promise<void> {
    for (let round = 0; round <= rounds; round += 1) {
      for (const each of contenders) {
        const { load, usage, jobs } = await oneRound(each, round === 0 ? 2 : seconds);
        if (load.failed > 0) throw new Error(`${load.failed} requests to ${each.url} failed`);
        // The first round warms up.
        if (round === 0) continue;
        each.loads.push(load);
        each.usages.push(usage);
        each.jobs.push(jobs / seconds);
      }
      if (round > 0) rig.progress(`round ${round} of ${rounds}`);
    }
  }

  async function oneRound(each: Contender, length: number) {
    const ending = new AbortController();
    const beside = each.besides(ending.signal);
    const { stores } = rig;
    const pids = { generator: generator.pid, web: each.pid, Postgres: stores.postgresPid, Redis: stores.redisPid };
    const { result: load, usage } = await watching(pids, () =>
      generator.run({
        url: each.url,
        seconds: length,
        connections,
        firstCall: each.deliveries === 'calls' ? nextCall : undefined,
      }),
    );
    nextCall += Math.round(load.perSecond * load.seconds) + connections;
    ending.abort();
    const jobs = await beside;
    const stored = await each.stored?.();
    const accepted = Math.round(load.perSecond * load.seconds);
    if (stored !== undefined && stored < accepted)
      throw new Error(`${accepted} were accepted and ${stored} are stored`);
    await each.rest();
    return { load, usage, jobs };
  }

  const bare = stack.use(await openBare());
  const insert = stack.use(await openInsert(await rig.stores.database('ingest_insert')));
  const subjects = new Map<Backend, Contender>();
  const calls = new Map<Backend, Contender>();
  const slow = new Map<Backend, Contender>();
  for (const backend of backends) {
    subjects.set(backend, stack.use(await openWeb(rig, backend, await rig.stores.database(`ingest_${backend}`))));
  }
  rig.progress('against bare Fastify and one INSERT per request');
  await play([bare, ...subjects.values(), insert]);

  const bareCalls = stack.use(await openBare('calls'));
  for (const backend of backends) {
    const url = await rig.stores.database(`ingest_${backend}_calls`);
    calls.set(backend, stack.use(await openWeb(rig, backend, url, 'calls')));
  }
  rig.progress('with a new call in each delivery');
  await play([bareCalls, ...calls.values()]);

  const slowInsert = stack.use(await openInsert(await rig.stores.database('ingest_insert_slow', slowDisk)));
  for (const backend of backends) {
    const url = await rig.stores.database(`ingest_${backend}_slow`, slowDisk);
    slow.set(backend, stack.use(await openWeb(rig, backend, url)));
  }
  rig.progress('with a disk that takes 2 ms longer');
  await play([slowInsert, ...slow.values()]);

  return [
    ...backends.flatMap((backend) => againstBare(backend, subjects.get(backend) ?? bare, bare, 0.4)),
    ...backends.flatMap((backend) => againstBare(backend, calls.get(backend) ?? bare, bareCalls, 0.3)),
    line('one INSERT per request', 'one INSERT', insert, 'bare Fastify', bare),
    ...backends.map((backend) => {
      const subject = slow.get(backend) ?? slowInsert;
      const finding = line(`2 ms fsync, queue in ${backend}`, 'web', subject, 'one INSERT', slowInsert);
      return finding.ratio ? { ...finding, goal: atLeast(finding.ratio, 3) } : finding;
    }),
  ];
}

function againstBare(backend: Backend, subject: Contender, bare: Contender, goal: number): Finding[] {
  const { deliveries } = subject;
  const finding = line(`${deliveries} accepted, queue in ${backend}`, 'web', subject, 'bare Fastify', bare);
  const p99 = spreadOf(subject.loads.map((load) => load.p99));
  const resident = spreadOf(subject.usages.map(({ residentMb }) => residentMb.web ?? 0));
  const jobs = spreadOf(subject.jobs);
  return [
    finding.ratio ? { ...finding, goal: atLeast(finding.ratio, goal) } : finding,
    {
      bench: 'ingest',
      what: `${deliveries}, p99, queue in ${backend}`,
      baseline: quantity('bare Fastify', 'ms', spreadOf(bare.loads.map((load) => load.p99))),
      subject: quantity('web', 'ms', p99),
      goal: atMost(p99, 15, ' ms'),
      limits: `${Math.round(jobs.median)} jobs a second`,
    },
    {
      bench: 'ingest',
      what: `${deliveries}, memory at full load, queue in ${backend}`,
      baseline: quantity('bare Fastify', 'MB', spreadOf(bare.usages.map(({ residentMb }) => residentMb.web ?? 0))),
      subject: quantity('web', 'MB', resident),
      goal: { text: '≤ 300 MB', holds: resident.highest <= 300 },
    },
  ];
}

function line(what: string, name: string, subject: Contender, baselineName: string, baseline: Contender): Finding {
  const rate = (each: Contender) => each.loads.map((load) => load.perSecond);
  return {
    bench: 'ingest',
    what,
    baseline: quantity(baselineName, '/s', spreadOf(rate(baseline))),
    subject: quantity(name, '/s', spreadOf(rate(subject))),
    ratio: ratiosOf(rate(subject), rate(baseline)),
    limits: `${costShown(subject.usages, rate(subject))}${baselineName === 'bare Fastify' ? bareCost(baseline) : ''}`,
  };
}

function bareCost({ usages, loads }: Contender): string {
  const costs = usages.map(({ cores }, round) => (cores.web ?? 0) / (loads[round]?.perSecond ?? 1));
  return `. Bare Fastify: ${Math.round(1e6 * spreadOf(costs).median)} µs`;
}

function contender(
  process: Running<string>,
  url: string,
  parts: Pick<Contender, 'besides' | 'rest' | 'stored'>,
  deliveries: Deliveries = 'texts',
): Contender {
  return {
    url,
    deliveries,
    pid: process.pid,
    loads: [],
    usages: [],
    jobs: [],
    ...parts,
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

const urlIn = (line: string): string | undefined => /"url":"([^"]+)"/.exec(line)?.[1];
const typeOf = { texts: 'AccountSMS', calls: 'AccountEndedCalls' } as const;
const nothing = { besides: async () => 0, rest: async () => undefined };

async function openBare(deliveries: Deliveries = 'texts'): Promise<Contender> {
  const process = await startNode(['test/bench/rig/bare.ts'], {}, urlIn);
  return contender(process, hookOf(process.ready, typeOf[deliveries]), nothing, deliveries);
}

async function openInsert(databaseUrl: string): Promise<Contender> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`create table plain_deliveries (
    delivery_id bigint generated always as identity primary key,
    received_at timestamptz not null default clock_timestamp(), event_type text, body text not null)`);
  const process = await startNode(['test/bench/rig/insert.ts'], { DATABASE_URL: databaseUrl }, urlIn);
  const opened = contender(process, hookOf(process.ready, 'AccountSMS'), {
    ...nothing,
    rest: () => emptied(client, 'plain_deliveries'),
    stored: () => countOf(client, 'plain_deliveries'),
  });
  return {
    ...opened,
    [Symbol.asyncDispose]: () =>
      closeAll(
        () => opened[Symbol.asyncDispose](),
        () => client.end(),
      ),
  };
}

async function openWeb(
  rig: Rig,
  backend: Backend,
  databaseUrl: string,
  deliveries: Deliveries = 'texts',
): Promise<Contender> {
  const redisUrl = rig.stores.redisUrl(backend);
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const log = createLog('warn');
  const queues = await createQueues({ databaseUrl, redisUrl, log });
  const database = createDatabase({ url: databaseUrl, log, maxConnections: 1, name: 'bench' });
  const process = await startWeb({ databaseUrl, redisUrl }, rig.profileFolder);
  const queue = deliveries === 'texts' ? 'conversations' : 'calls';
  const jobs = queues.bull.find(({ name }) => name === queue);

  async function settle(): Promise<number> {
    const { rows } = await client.query<Target>(
      'select kind, key from ops.sync_targets where dirty_version > clean_version',
    );
    const claims = await claimTargets(database.db, rows);
    await database.db.transaction().execute((tx) =>
      finishTargets(
        tx,
        claims.map((claim) => ({ ...claim, state: 'active' as const, error: undefined })),
        [],
        defaultReadPauses,
      ),
    );
    const enqueued = await queues.waiting(queue);
    await jobs?.drain();
    return enqueued;
  }

  const opened = contender(
    process,
    hookOf(process.ready, typeOf[deliveries]),
    {
      async besides(signal) {
        let enqueued = 0;
        while (!signal.aborted) {
          await sleep(settleMs, undefined, { signal }).catch(() => undefined);
          enqueued += await settle();
        }
        return enqueued;
      },
      async rest() {
        await settle();
        await emptied(client, 'ops.deliveries');
      },
      stored: () => countOf(client, 'ops.deliveries where is_recognized'),
    },
    deliveries,
  );
  return {
    ...opened,
    [Symbol.asyncDispose]: () =>
      closeAll(
        () => opened[Symbol.asyncDispose](),
        () => queues.close(),
        () => database[Symbol.asyncDispose](),
        () => client.end(),
      ),
  };
}

async function countOf(client: Client, table: string): Promise<number> {
  const { rows } = await client.query<{ count: string }>(`select count(*) from ${table}`);
  return Number(rows[0]?.count);
}

async function emptied(client: Client, table: string): Promise<void> {
  await client.query(`truncate ${table}`);
  await client.query('checkpoint');
}

async function closeAll(...closings: (() => PromiseLike<void>)[]): Promise<void> {
  for (const close of closings) await close();
}
