import { afterAll, describe, expect, test } from 'vitest';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { type Account, createAccount } from './oracle/account.ts';
import { agentReports } from './oracle/agents.ts';
import { callerReports } from './oracle/callers.ts';
import { callReports } from './oracle/calls.ts';
import { callTarget, changeAccount, erasePerson, redefine, threadTarget } from './oracle/changes.ts';
import { dateAt, hour, second } from './oracle/clock.ts';
import { completenessReport } from './oracle/completeness.ts';
import { concurrencyReport } from './oracle/concurrency.ts';
import { openMirror } from './oracle/mirror.ts';
import { queueReports } from './oracle/queues.ts';
import { returnReports } from './oracle/returns.ts';
import { differences, type Report } from './oracle/rows.ts';
import { textReports } from './oracle/texts.ts';
import { transcriptReports } from './oracle/transcripts.ts';

/*
 * Every figure of the reports is computed a second time, in plain code, from the account that the sandbox shows. What the words
 * mean is taken from the comments of the views; no code and no SQL of the reports is used.
 *
 * `ORACLE_SEEDS=7,8 npm test -- test/reporting/oracle.test.ts` tries other accounts.
 */
const seeds = (process.env.ORACLE_SEEDS ?? '1').split(',').map(Number);

function reportsOf(account: Account, now: number): Report[] {
  return [
    ...callReports(account),
    ...queueReports(account),
    ...agentReports(account),
    ...returnReports(account, now),
    ...callerReports(account, now),
    concurrencyReport(account),
    ...textReports(account, now),
    ...transcriptReports(account),
    completenessReport(account),
  ];
}

describe.each(seeds)('the account of seed %i', async (seed) => {
  const mirror = await openMirror();
  afterAll(() => mirror.close());
  const account = createAccount(seed, Date.now());

  async function expectReports(): Promise<void> {
    const found = await mirror.look(async (now, rows) => {
      const all: string[] = [];
      for (const report of reportsOf(account, now)) {
        all.push(...differences(report, await rows(report.from ?? report.view, report.where)));
      }
      return all;
    });
    if (found.length === 0) return;
    const repeat = `ORACLE_SEEDS=${seed} npm test -- test/reporting/oracle.test.ts`;
    expect.fail(`${found.length} values differ; repeat with ${repeat}\n${found.slice(0, 40).join('\n')}`);
  }

  /** The calls of each day in `call_daily` are as many as the service lists, internal ones included. */
  async function expectDays(): Promise<void> {
    const days = await mirror.query<{ day: string; begin: Date; end: Date; calls: number }>(
      `select local_date::text as day, reporting.day_start(local_date) as begin, reporting.day_start(local_date + 1) as end,
         sum(call_count + internal_count)::integer as calls
       from reporting.call_daily group by local_date order by 1`,
    );
    const listed = await Promise.all(days.map(({ begin, end }) => mirror.countCalls(begin, end)));
    expect(days.map(({ day, calls }) => [day, calls])).toEqual(days.map(({ day }, at) => [day, listed[at]]));
  }

  /** The rollups follow; what a view says of today is read on the day on which they followed. */
  async function follow(): Promise<void> {
    const today = async () => dateAt(await mirror.look(async (now) => now), account.definitions.timeZone);
    for (let before = ''; before !== (await today()); ) {
      before = await today();
      await mirror.drain();
    }
  }

  // Each goes on where the one before it ended.
  test.each([
    ['as first mirrored', mirrorAll],
    ['after late changes, deletions and an erasure', changeAll],
    ['after a rebuild', rebuild],
    [
      'after a rebuild by other definitions',
      async () => {
        redefine(account);
        await mirror.define(account.definitions);
        await rebuild();
      },
    ],
    ['after more changes', changeAll],
    [
      'after the retention of their content',
      async () => {
        expect(await mirror.removeContent({ texts: 1, transcripts: 1, recordings: 1 })).toMatchObject({
          'warehouse.sms_messages': expect.any(Number),
          'warehouse.transcripts': expect.any(Number),
        });
      },
    ],
    ['after a rebuild without content', rebuild],
  ])('every figure is what the account says %s', async (_, change) => {
    await change();
    await expectReports();
    await expectDays();
  });

  async function rebuild(): Promise<void> {
    await rebuildRollups(mirror.db);
  }

  async function mirrorAll(): Promise<void> {
    const { calls, texts } = account;
    await mirror.define(account.definitions);
    mirror.publish(account);
    await mirror.sendByRule([...texts.values()].filter(({ isOfRule }) => isOfRule));
    await mirror.read([
      { kind: 'users', key: 'all' },
      { kind: 'lines', key: 'all' },
      ...[...calls.values()].filter(({ isWhole }) => isWhole).map(({ call }) => callTarget(call.id)),
      ...[...texts.values()].map(threadTarget),
    ]);
    await compare();
    await follow();
  }

  async function changeAll(): Promise<void> {
    const before = new Set(account.texts.keys());
    // The mirror is asked to erase before it is told of the changes.
    const number = erasePerson(account);
    const targets = changeAccount(account);
    mirror.publish(account);
    await mirror.sendByRule(
      [...account.texts.values()].filter(({ message, isOfRule }) => isOfRule && !before.has(message.id)),
    );
    await mirror.erase(number);
    await mirror.read(targets);
    await follow();
  }

  /** Compares the hours of calls that nobody announced, one whole day, and a part of another. */
  async function compare(): Promise<void> {
    const { calls, comparedHours, scenes } = account;
    const hourOf = (at: number) => Math.floor(at / hour) * hour;
    const [first = 0, second_ = 0] = scenes;
    const begins = new Set([
      ...[...calls.values()].filter(({ isWhole }) => !isWhole).map(({ call }) => hourOf(call.start * second)),
      ...Array.from({ length: 24 }, (_, at) => Math.floor(first / (24 * hour)) * 24 * hour + at * hour),
      ...[0, 1, 2].map((at) => hourOf(second_ + at * hour)),
    ]);
    await mirror.compareHours([...begins]);
    for (const begin of begins) {
      const held = [...calls.values()].filter(({ call }) => hourOf(call.start * second) === begin).length;
      comparedHours.set(begin, { reported: held, held });
    }
  }
});
