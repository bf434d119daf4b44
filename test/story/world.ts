import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach } from 'vitest';
import { readSettings } from '../../config/settings.ts';
import { createContext } from '../../src/context.ts';
import { applyRules } from '../../src/rules/versions.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import type { SmsEvent } from '../../src/sandbox/traffic/events.ts';
import { registerPages } from '../../src/server/pages.ts';
import { createReceiver } from '../../src/server/receiver.ts';
import { useBeat } from '../../src/shared/beat.ts';
import { ensureSubscriptions } from '../../src/sync/subscriptions/ensure.ts';
import { directoryKinds } from '../../src/warehouse/directory.ts';
import { startWorkers } from '../../workers/workers.ts';
import { runInProcess } from '../cli/in-process.ts';
import { databaseForTest } from '../stores/databases.ts';
import { asking } from '../world/database.ts';
import { captureLog } from '../world/log.ts';
import { StepBeat } from './beat.ts';
import { leaveClock, migratedByClock, moveClock, useClock } from './clock.ts';
import { memoryQueues } from './queues.ts';
import { keepRows } from './reset.ts';

const secret = 'a-secret-of-the-world';
export const line = '16465550100';
const units = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const firstTuesday = Date.parse('2030-02-05T15:00:00Z');

/** The loops of rules, reads and sends. */
export const ofRules = /due|rules|idle threads|rule outcomes/;
/**
 * It is quiet when nothing is due within this time: `quiet` moves the clock on to the retry of a failed request, say. A send is
 * tried again after 4 s at the earliest, so never in `quiet`.
 */
const quietMs = 3_000;
/** How often loops look for what nothing told them of: for the outcome of a reply, say. */
const sweepMs = 30_000;
const waitingReply = `state = 'waiting' and kind = 'reply'`;

function msOf(duration: string): number {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  const ms = Number(count) * units[unit as keyof typeof units];
  if (Number.isNaN(ms)) throw new Error(`${duration} is no duration`);
  return ms;
}

const dues = `
  select due_at from ops.sync_targets t where dirty_version > clean_version
    and (due_at <= now() or kind <> all('{${directoryKinds.join(',')}}'))
    and not exists (select from ops.parked_kinds s where s.kind = t.kind and s.parked_until > now())
  union all select due_at from ops.rule_events
  union all select due_at from ops.rule_actions a join ops.rule_runs r using (run_id) where state = 'waiting' and kind <> 'reply' and not exists (
    select from ops.rule_actions b join ops.rule_runs s using (run_id)
    where b.state = 'waiting' and s.number = r.number and s.line = r.line and (b.run_id, b.ordinal) < (a.run_id, a.ordinal))
  union all select due_at from ops.sends where state in ('PLANNED', 'HELD', 'AWAITING_APPROVAL', 'RESERVED', 'DISPATCHED', 'UNKNOWN')
    and not (select is_paused from ops.send_control)
  union all select due_at from ops.alerts where due_at is not null`;

/** The processes were not away during a time that passes at once. */
const running = `
  with watched as (update ops.subscription_watch set in_place_at = now() where state = 'in_place')
  update ops.processes set seen_at = now() where role is not null`;

export interface StoryOptions {
  readonly mode?: 'off' | 'dry-run' | 'live';
  readonly environment?: Readonly<Record<string, string>>;
  /** The loops that have rounds. Default: those of rules. */
  readonly loops?: RegExp;
}

/**
 * A whole system in one process, in steps: nothing runs except in `quiet`, in `pass` and in what ends with one of them. Call at the
 * top level of a test file, which gets one world: the clock is the whole process'. After each test, the world is as at the
 * start, on a later Tuesday at 15:00 UTC, when it is 10:00 in New York, in summer 11:00.
 */
export async function createStoryWorld(options: StoryOptions = {}) {
  const beat = new StepBeat(options.loops ?? ofRules);
  const databaseUrl = await databaseForTest(migratedByClock);
  useClock();
  useBeat(beat);
  const { log, text: logged } = captureLog();
  const sandbox = await createSandbox({ calls: 0, threads: 0, beat });
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-story-'));
  const rulesFile = join(folder, 'rules.yaml');
  await writeFile(rulesFile, 'rules: []\n');
  const environment = {
    DATA_DIR: folder,
    API_BASE_URL: sandbox.url,
    API_KEY: sandbox.apiKey,
    DATABASE_URL: databaseUrl,
    WEBHOOK_SECRET: secret,
    ADMIN_TOKEN: 'an-admin-token-of-the-world',
    PORT: '0',
    BACKFILL_DAYS: '0',
    RULES_MODE: options.mode ?? 'live',
    RULES_FILE: rulesFile,
    TIME_ZONE: 'UTC',
    ...options.environment,
  };
  const settings = { ...readSettings(environment), databaseUrl };
  const context = await createContext(settings, { log, name: 'story', maxConnections: 8, queues: memoryQueues() });
  const receiver = await createReceiver(context, (app) => registerPages(app, context));
  const asks = asking(context.database.db);
  await moveClock(asks, firstTuesday - Date.now());
  const workers = await startWorkers(context, { role: 'start' });
  const { service, database } = context;
  if (!service) throw new Error('A story has a service');
  await ensureSubscriptions({ service, db: database.db, log, publicUrl: receiver.url, secret });
  await quiet();
  const rows = await keepRows(asks);
  const subscriptions = [...sandbox.store.subscriptions.values()];
  let applied = 0;

  async function nextDue(): Promise<number> {
    const at = Number(await asks.value(`select extract(epoch from min(due_at)) * 1000 from (${dues}) d`)) || Infinity;
    return Math.min(at, beat.nextTimer());
  }

  async function moveTo(at: number): Promise<void> {
    const ms = Math.ceil(at - Date.now());
    if (ms <= 0) return;
    await moveClock(asks, ms);
    await asks.query(running);
  }

  async function quiet(): Promise<void> {
    let isSwept = false;
    for (let turn = 1; turn <= 100; turn += 1) {
      await beat.settle();
      if (await beat.run()) continue;
      const next = await nextDue();
      if (next > Date.now() + quietMs) {
        if (isSwept || !(await asks.value(`select exists (select from ops.rule_actions where ${waitingReply})`)))
          return;
        isSwept = true;
        await beat.run(sweepMs);
        continue;
      }
      if (next > Date.now()) await moveTo(next + 1);
      // What is due is begun by the loop that looks for it. A job that came too early is left to the sweep.
      else await beat.run(5_000);
      if (turn % 8 === 0 && next <= Date.now()) await moveTo(Date.now() + 6_000);
    }
    const due = await asks.query(`select * from (${dues}) d order by 1 limit 5`);
    throw new Error(`It is never quiet: ${JSON.stringify(due)}`);
  }

  /** Passes so long, with a stop wherever something is due. Loops that look every 15 s run up to six times in a few minutes. */
  async function pass(duration: string): Promise<void> {
    const ms = msOf(duration);
    await quiet();
    const end = Date.now() + ms;
    const stride = ms > 15 * units.m ? ms : Math.max(12_000, ms / 6);
    while (Date.now() < end) {
      await moveTo(Math.min(end, Date.now() + stride, await nextDue()) + 1);
      await quiet();
    }
  }

  async function reset(): Promise<void> {
    await beat.settle();
    await sandbox.reset();
    for (const each of subscriptions) sandbox.store.subscriptions.load(each);
    const weeks = Math.floor((Date.now() - firstTuesday) / (7 * units.d)) + 1;
    await moveTo(firstTuesday + weeks * 7 * units.d);
    await rows.restore();
    await quiet();
  }

  async function close(): Promise<void> {
    await workers.close(500);
    await receiver.close();
    await context[Symbol.asyncDispose]();
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
    useBeat();
    leaveClock();
  }
  afterEach(reset);
  afterAll(close);

  return {
    ...asks,
    ...{ context, sandbox, receiver, logged, quiet, pass, rulesFile },
    /** Passes so long without a stop, as if nothing had run meanwhile. */
    async away(duration: string): Promise<void> {
      await moveTo(Date.now() + msOf(duration));
      await quiet();
    },
    /** Puts rules in force, always as a new version. */
    async rules(text: string): Promise<void> {
      applied += 1;
      await applyRules(database.db, `${text}\n# ${applied}\n`, { file: 'rules.yaml', by: 'a test' });
      await quiet();
    },
    /** A text on our first line; quiet when it resolves. */
    async text(number: string, text: string, more: SmsEvent = {}): Promise<void> {
      await sandbox.emit.sms({ line, number, text, ...more });
      await quiet();
    },
    /** Sends one request to the hook of an event type. */
    async deliver(type: string, body: object): Promise<void> {
      const headers = { 'content-type': 'application/json' };
      await fetch(`${receiver.url}/hooks/${secret}/${type}`, { method: 'POST', body: JSON.stringify(body), headers });
      await quiet();
    },
    /** Runs a command in this process; quiet when it resolves. */
    async trunkline(...args: string[]) {
      const ran = await runInProcess(environment, ...args);
      await quiet();
      return ran;
    },
    /** What rules did, a line a step: rule, step, state, reason. */
    async effects(number?: string): Promise<string[]> {
      const steps = await asks.query<{ line: string }>(
        `select concat_ws(' ', r.rule, a.kind, a.state, a.reason) as line from ops.rule_actions a join ops.rule_runs r using (run_id)
         where $1::text is null or number = $1 order by a.run_id, a.ordinal`,
        number ?? null,
      );
      return steps.map(({ line }) => line);
    },
    /** How rules decided: rule and reason. A false condition leaves no row. */
    async decisions(number?: string): Promise<string[]> {
      const runs = await asks.query<{ line: string }>(
        `select concat_ws(' ', rule, reason) as line from ops.rule_runs where $1::text is null or number = $1 order by run_id`,
        number ?? null,
      );
      return runs.map(({ line }) => line);
    },
    /** The texts that left, in their order, as `number: words`; each was charged once. */
    async texts(): Promise<string[]> {
      const sent = await asks.query<{ number: string; body: string }>(
        `select number, body from ops.sends where state = 'SENT' order by dispatched_at`,
      );
      const charged = sandbox.sends(100_000).flatMap(({ charge }) => charge?.to ?? []);
      if (charged.join() !== sent.map(({ number }) => number).join()) throw new Error(`charged were ${charged}`);
      return sent.map(({ number, body }) => `${number}: ${body}`);
    },
    /** The notes of a thread at the service. */
    notes: (number: string) =>
      sandbox.store.conversations.get(`${line}/${number}`)?.notes.map(({ text }) => text) ?? [],
    /** What the service carried out about a number, in its order, and what `also` is part of: the ends of the paths. */
    changes: (number: string, also = `/${number}/`) =>
      sandbox
        .requests(100_000)
        .filter(({ method, status }) => method === 'POST' && status < 300)
        .filter(({ path }) => path.includes(`/${number}/`) || path.includes(also))
        .map(({ path }) => path.split('/').at(-1)),
  };
}
