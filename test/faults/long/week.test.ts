import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { backends } from '../../stores/backends.ts';
import { type Deployment, deploy } from '../deployment/deployment.ts';
import { runCommand } from '../deployment/part.ts';
import { report, sized } from '../figures.ts';
import { createWeek, type Day, type Week } from '../load/week.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom } from '../random.ts';

const happeningsOfDay = sized(150);
const dropped = { kind: 'dropped', rate: 0.1 } as const;
const dayMs = 86_400_000;
/** A text that is missing in a known thread is missed by the unread count of its line, which is believed after a minute. */
const unreadPatience = 300_000;

/** What goes wrong on each day of the week, for some hours of it. */
const outages: Readonly<Record<number, (deployment: Deployment) => Outage>> = {
  1: ({ web }) => ({ begin: () => ended(web), end: () => web.start() }),
  2: ({ redis, worker }) =>
    redis
      ? { begin: () => redis.crash(), end: () => redis.start() }
      : { begin: () => ended(worker), end: () => worker.start() },
  3: ({ postgres }) => ({ begin: () => postgres.crash(), end: () => postgres.start() }),
  4: ({ service }) => ({
    begin: () => service.faults(dropped, { kind: 'html', status: 502 }),
    end: () => service.faults(dropped),
  }),
  5: ({ web, worker }) => ({
    begin: async () => void (await Promise.all([web.crash(), worker.crash()])),
    end: async () => void (await Promise.all([web.start(), worker.start()])),
  }),
};

interface Outage {
  begin(): Promise<void>;
  end(): Promise<void>;
}

describe.each(backends)('on %s', (backend) => {
  test('a week with lost webhooks and hours of downtime ends with proof of every call', async ({ onTestFinished }) => {
    const began = performance.now();
    const deployment = await deploy({ backend }, onTestFinished);
    const { service, environment, database } = deployment;
    await service.faults(dropped);
    const to = new Date(Math.floor(Date.now() / dayMs) * dayMs);
    const from = new Date(to.getTime() - 7 * dayMs);
    const week = await createWeek(deployment, createRandom(`week ${backend}`), from);
    for (let day = 0; day < 7; day += 1) await live(deployment, week, day as Day);
    await service.faults();

    const range = ['--from', from.toISOString(), '--to', to.toISOString()];
    await runCommand(['reconcile', ...range, '--json'], environment);
    await runCommand(['backfill', 'threads', ...range, '--most', '10000', '--json'], environment);
    await vi.waitUntil(async () => (await incompleteDays()).length === 0, { timeout: 60_000, interval: 1_000 });

    const callIds = await service.callsBetween(from, to);
    expect(new Set(callIds)).toEqual(new Set([...callIds, ...week.callIds]));
    const days = await coverage();
    expect(days.map(({ isComplete }) => isComplete)).toEqual(Array(7).fill(true));
    expect(days.reduce((sum, { reported = 0 }) => sum + reported, 0)).toBe(callIds.length);
    await expectNothingLost(deployment, { threads: week.threads, callIds, accepted: async () => [] }, unreadPatience);

    // Who never called and whose webhook was lost leaves one trace: a line that counts one more unread text.
    await week.strangerWrites();
    await vi.waitUntil(async () => (await possibleGaps()).includes(week.line), { timeout: 90_000, interval: 500 });
    const said = `${callIds.length} calls and ${week.threads.length} threads held and proven, ${await week.lost()} webhooks lost`;
    report('week', backend, said, began);

    async function coverage(): Promise<{ isComplete: boolean; reported?: number }[]> {
      return JSON.parse(await runCommand(['coverage', ...range, '--json'], environment));
    }
    async function incompleteDays() {
      return (await coverage()).filter(({ isComplete }) => !isComplete);
    }
    async function possibleGaps(): Promise<string[]> {
      const { rows } = await database.query<{ line: string }>(
        `select line from (select distinct on (line) line, state from warehouse.sms_unread_snapshots
           order by line, observed_at desc) newest where state in ('behind', 'unexplained')`,
      );
      return rows.map(({ line }) => line);
    }
  }, 1_200_000);
});

/** A day: its outage begins after a third of it, and is over before the last. */
async function live(deployment: Deployment, week: Week, day: Day): Promise<void> {
  const outage = outages[day]?.(deployment);
  for (let at = 0; at < happeningsOfDay; at += 1) {
    if (at === Math.floor(happeningsOfDay / 3)) await outage?.begin();
    if (at === Math.floor((happeningsOfDay * 2) / 3)) await outage?.end();
    await week.happen(day, at / happeningsOfDay);
    await sleep(5);
  }
}

async function ended(part: { signal(signal: NodeJS.Signals): void; ended(): Promise<unknown> }): Promise<void> {
  part.signal('SIGTERM');
  await part.ended();
}
