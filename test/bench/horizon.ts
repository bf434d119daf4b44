import { Client } from 'pg';
import { createDatabase, type Database, inTransaction, query, type Transaction } from '../../src/db/database.ts';
import { claimingDue, claimingTargets } from '../../src/inbox/claims.ts';
import { createDueFloor, type DueFloor } from '../../src/inbox/due-floor.ts';
import { defaultReadPauses, markDirty, type Target } from '../../src/inbox/targets.ts';
import { createLog } from '../../src/shared/log.ts';
import { callsOf, oneRound, perSecond, textsOf } from './lag.ts';
import { atMost, type Finding, quantity } from './report.ts';
import { startSandbox } from './rig/daemon.ts';
import { type Mirror, startMirrors, untilQuiet } from './rig/mirror.ts';
import type { Rig } from './rig/rig.ts';
import { controlService } from './rig/service.ts';
import { quantile, spreadOf } from './spread.ts';

const claimed = 32;
/** Only the end of a phase is compared, where the snapshot is oldest. */
const comparedSeconds = 60;

/** What one phase came to. */
interface Phase {
  readonly p50: number;
  readonly p99: number;
  /** Pages of Postgres that a claim of 32 targets touches: of what is due, and of the targets of jobs. */
  readonly due: number;
  readonly named: number;
  /** The same for the queue's next job, when none waits. */
  readonly job: number;
  readonly dead: string;
}

/**
 * Ten minutes of deliveries, texts and ended calls in turns, while one connection holds a snapshot, so that Postgres can remove no
 * dead row; against as long without. Queues in Postgres, where each job leaves dead rows too.
 */
export async function horizon(rig: Rig): Promise<Finding[]> {
  const seconds = rig.seconds ?? 600;
  await using stack = new AsyncDisposableStack();
  const sandbox = stack.use(await startSandbox());
  const service = stack.use(controlService(sandbox.ready));
  const [mirror] = await startMirrors(rig, 'horizon', sandbox.ready, stack, ['postgres']);
  if (!mirror) throw new Error('There is no mirror.');
  const lines = await service.lines();
  const kinds = [textsOf(service, lines), callsOf(service)];
  const { db } = stack.use(
    createDatabase({ url: mirror.databaseUrl, log: createLog('warn'), maxConnections: 2, name: 'bench' }),
  );
  const floor = createDueFloor(db);

  async function phase(): Promise<Phase> {
    const rounds = kinds.map((kind) => oneRound(service, mirror as Mirror, kind, seconds, perSecond / kinds.length));
    const lags = (await Promise.all(rounds)).flatMap((round) =>
      round.lags.slice(-Math.min(comparedSeconds, Math.ceil(seconds / 2)) * (perSecond / kinds.length)),
    );
    const [due, named] = await pagesOfClaims(db, floor);
    const job = await inTransaction(db, (tx) => pagesOf(tx, nextJob, ['conversations']));
    return { p50: quantile(lags, 0.5), p99: quantile(lags, 0.99), due, named, job, dead: await deadRows(db) };
  }

  await Promise.all(kinds.map((kind) => oneRound(service, mirror, kind, 5, perSecond / kinds.length)));
  rig.progress(`${seconds} s without a snapshot`);
  const free = await phase();
  await untilQuiet(mirror);
  const holder = stack.adopt(new Client({ connectionString: mirror.databaseUrl }), (client) => client.end());
  await holder.connect();
  await holder.query('begin isolation level repeatable read');
  await holder.query('select count(*) from pg_class');
  rig.progress(`${seconds} s with a snapshot held`);
  const held = await phase();
  await holder.query('rollback');

  const row = (what: string, unit: string, of: (phase: Phase) => number, limits: string, hasGoal = true): Finding => {
    const ratio = spreadOf([of(held) / of(free)]);
    return {
      bench: 'horizon',
      what,
      baseline: quantity('free', unit, spreadOf([of(free)])),
      subject: quantity(`held ${seconds} s`, unit, spreadOf([of(held)])),
      ratio,
      limits,
      ...(hasGoal && { goal: atMost(ratio, 2) }),
    };
  };
  return [
    row('sent to visible, p50', 'ms', ({ p50 }) => p50, `free: ${free.dead}`, false),
    row('sent to visible, p99', 'ms', ({ p99 }) => p99, `held: ${held.dead}`),
    row(`claim of ${claimed} threads that are due`, 'pages', ({ due }) => due, 'begins at the oldest pending target'),
    row(`claim of ${claimed} threads by key`, 'pages', ({ named }) => named, 'visits all versions of each'),
    row(
      'next job of a queue',
      'pages',
      ({ job }) => job,
      'statement of the queue library: visits all former jobs',
      false,
    ),
  ];
}

/** As the queue library takes a job. */
const nextJob = `select id from bullmq.job where queue = $1 and state = 'waiting' order by priority, seq for update skip locked limit 1`;

class RolledBack extends Error {}

/** Makes some threads due, counts the pages that claiming them touches, and takes it all back. */
async function pagesOfClaims(db: Database, floor: DueFloor): Promise<[due: number, named: number]> {
  const found: [number, number][] = [];
  for (let tries = 0; tries < 5; tries += 1) {
    await floor.raise();
    const targets = await query<Target>(
      db,
      `select kind, key from ops.sync_targets where kind = 'thread' and dirty_version = clean_version
         and read_at < now() - interval '1 second' order by random() limit ${claimed}`,
      [],
    );
    const counted = await Promise.all(
      [claimingDue(['thread'], claimed, floor), claimingTargets(targets)].map(async (statement) => {
        let pages = 0;
        const { sql, parameters } = statement.compile(db);
        await inTransaction(db, async (tx) => {
          await markDirty(tx, targets, defaultReadPauses);
          pages = await pagesOf(tx, sql, parameters);
          throw new RolledBack();
        }).catch((error: unknown) => {
          if (!(error instanceof RolledBack)) throw error;
        });
        return pages;
      }),
    );
    found.push([counted[0] ?? 0, counted[1] ?? 0]);
  }
  return [
    quantile(
      found.map(([due]) => due),
      0.5,
    ),
    quantile(
      found.map(([, named]) => named),
      0.5,
    ),
  ];
}

interface Plan {
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
}

async function pagesOf(tx: Transaction, text: string, parameters: readonly unknown[]): Promise<number> {
  const [row] = await query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    tx,
    `explain (analyze, buffers, format json) ${text}`,
    parameters,
  );
  const plan = row?.['QUERY PLAN'][0].Plan;
  return (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0);
}

async function deadRows(db: Database): Promise<string> {
  const rows = await query<{ name: string; dead: string }>(
    db,
    `select relid::regclass::text as name, n_dead_tup as dead from pg_stat_user_tables
     where relid in ('ops.sync_targets'::regclass, 'bullmq.job'::regclass) order by 1`,
    [],
  );
  return `dead rows ${rows.map(({ name, dead }) => `${name} ${dead}`).join(', ')}`;
}
