import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { createDatabase } from '../../src/db/database.ts';
import { claimTargets, finishTargets } from '../../src/inbox/claims.ts';
import type { Target } from '../../src/inbox/targets.ts';
import { createQueues } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { atLeast, atMost, type Finding, quantity } from './report.ts';
import { hookOf, startWeb } from './rig/daemon.ts';
import { type Load, startGenerator } from './rig/load.ts';
import { type Running, startNode, urlIn } from './rig/processes.ts';
import type { Rig } from './rig/rig.ts';
import { type Backend, backends } from './rig/stores.ts';
import { costShown, type Usage, watching } from './rig/usage.ts';
import { ratiosOf, type Spread, spreadOf } from './spread.ts';

const connections = 64;
const settleMs = 1_000;

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
 * Accept, commit delivery and target, enqueue: against bare Fastify. Nothing consumes
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

  const findings: Finding[] = [];
  for (const [deliveries, goal] of [
    ['texts', 0.4],
    ['calls', 0.3],
  ] as const) {
    rig.progress(`${deliveries}, against bare Fastify`);
    const bare = stack.use(await openBare(deliveries));
    const webs: Contender[] = [];
    for (const backend of backends) webs.push(stack.use(await openWeb(rig, backend, deliveries)));
    await play([bare, ...webs]);
    findings.push(...webs.flatMap((web, at) => againstBare(backends[at] ?? '', web, bare, goal)));
  }
  return findings;
}

function againstBare(backend: string, subject: Contender, bare: Contender, goal: number): Finding[] {
  const rate = (each: Contender) => each.loads.map((load) => load.perSecond);
  const p99 = (each: Contender) => spreadOf(each.loads.map((load) => load.p99));
  const resident = (each: Contender) => spreadOf(each.usages.map(({ residentMb }) => residentMb.web ?? 0));
  const ratio = ratiosOf(rate(subject), rate(bare));
  const line = (what: string, unit: string, of: (each: Contender) => Spread) => ({
    ...{ bench: 'ingest', what: `${subject.deliveries} ${what}, queue in ${backend}` },
    ...{ baseline: quantity('bare Fastify', unit, of(bare)), subject: quantity('web', unit, of(subject)) },
  });
  return [
    {
      ...line('accepted', '/s', (each) => spreadOf(rate(each))),
      ...{ ratio, goal: atLeast(ratio, goal) },
      limits: `${costShown(subject.usages, rate(subject))}. Bare Fastify: ${costShown(bare.usages, rate(bare))}`,
    },
    {
      ...line('p99', 'ms', p99),
      goal: atMost(p99(subject), 15, ' ms'),
      limits: `${Math.round(spreadOf(subject.jobs).median)} jobs a second`,
    },
    {
      ...line('memory at full load', 'MB', resident),
      goal: { text: '≤ 300 MB', holds: resident(subject).highest <= 300 },
    },
  ];
}

function contender(
  { pid, [Symbol.asyncDispose]: dispose }: Running<string>,
  url: string,
  parts: Pick<Contender, 'besides' | 'rest' | 'stored'>,
  deliveries: Deliveries,
): Contender {
  return { url, deliveries, pid, loads: [], usages: [], jobs: [], ...parts, [Symbol.asyncDispose]: dispose };
}

const typeOf = { texts: 'AccountSMS', calls: 'AccountEndedCalls' } as const;

async function openBare(deliveries: Deliveries): Promise<Contender> {
  const process = await startNode(['test/bench/rig/bare.ts'], {}, urlIn);
  const nothing = { besides: async () => 0, rest: async () => undefined };
  return contender(process, hookOf(process.ready, typeOf[deliveries]), nothing, deliveries);
}

async function openWeb(rig: Rig, backend: Backend, deliveries: Deliveries): Promise<Contender> {
  const databaseUrl = await rig.stores.database(`ingest_${backend}_${deliveries}`);
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
        await client.query('truncate ops.deliveries');
        await client.query('checkpoint');
      },
      async stored() {
        const { rows } = await client.query(
          'select count(*)::integer as count from ops.deliveries where is_recognized',
        );
        return rows[0].count;
      },
    },
    deliveries,
  );
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      await queues.close();
      await database[Symbol.asyncDispose]();
      await client.end();
    },
  };
}
