import { afterAll, afterEach, expect, test } from 'vitest';
import { findings } from '../../src/checks/checks.ts';
import { query as ask } from '../../src/db/database.ts';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { drainRollups } from '../../src/reporting/rollups.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { openReceiver, settingsFor } from '../server/receiver.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';

const url = await databaseForTest(migrated);
const facts = await factsDatabase(url);
const world = await openReceiver(settingsFor(url));
const { context } = world;
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await facts[Symbol.asyncDispose]();
});
const { query, value, call } = facts;
const { db } = context.database;

/** What the health checks and the page of reports say of the reports. */
async function told() {
  const page = await (await world.get('/reports/opted-out')).text();
  return {
    checks: (await findings(context)).filter(({ check }) => check.startsWith('reports_')),
    shown: [...page.matchAll(/data-check="(\w+)"/g)].map(([, check]) => check),
  };
}
let calls = 0;
const addCall = (at = '2026-03-02T10:00:00Z') => call({ call_id: `1700000${++calls}.1`, started_at: at });
const drains = async () => {
  await facts.mark();
  return Promise.allSettled([drainRollups(db), drainOutcomes(db)]);
};

afterEach(async () => {
  await drains();
  expect(await told()).toMatchObject({ checks: [], shown: [] });
});

test('reports that are up to date are no concern, nor is a change that the next drain takes', async () => {
  await addCall();
  expect((await told()).checks).toEqual([]);
});

test.each([
  [
    'ops.rollup_markers',
    `insert into ops.rollup_markers (kind, bucket_at, marked_at) values ('calls', '2026-03-02T10:00:00Z', $1)`,
  ],
  ['ops.send_markers', `insert into ops.send_markers (planned_at, marked_at) values ('2026-03-02T10:00:00Z', $1)`],
  [
    'ops.rule_tallies',
    `insert into ops.rule_tallies (happened_at, version, counts, marked_at) values (now(), 'v', '[]', $1)`,
  ],
])('changes in %s that nobody takes are told by their age', async (_, insert) => {
  await query(insert, new Date(Date.now() - 600_000));
  const late = await told();
  expect(late.checks).toMatchObject([{ check: 'reports_behind', level: 'warning' }]);
  expect(late.checks[0]?.sentence).toBe('The reports are 10 min behind.');
  expect(late.shown).toEqual(['reports_behind']);
});

/** What breaks a drain, how it is mended, and what has to be told. */
const faults = [
  {
    what: 'a right that was revoked',
    breaks: 'revoke insert on rollups.call_rollup from current_user',
    mends: 'grant insert on rollups.call_rollup to current_user',
    sentence:
      /^The reports of calls and texts stand still: .* for \d+ s\. The error was: permission denied for table call_rollup/,
  },
  {
    what: 'totals of rules that cannot be written',
    breaks: 'revoke insert on rollups.rule_outcome_rollup from current_user',
    mends: 'grant insert on rollups.rule_outcome_rollup to current_user',
    sentence:
      /^The reports of rules and their texts stand still: .* The error was: permission denied for table rule_outcome_rollup/,
  },
];

test.each(faults)('$what is told at once with its error', async ({ breaks, mends, sentence }) => {
  await addCall();
  await query(
    `insert into ops.rule_tallies (happened_at, version, counts)
     values (now(), 'v', '[{"rule": "r", "mode": "live", "word": "matched", "count": 1}]')`,
  );
  await query(breaks);
  expect((await drains()).some(({ status }) => status === 'rejected')).toBe(true);
  const first = await told();
  expect(first.checks).toMatchObject([{ check: 'reports_behind', level: 'warning' }]);
  expect(`${first.checks[0]?.sentence} ${first.checks[0]?.detail}`).toMatch(sentence);
  expect(first.shown).toEqual(['reports_behind']);
  const since = (await value(
    'select coalesce((select failing_since_at from ops.rollup_state), (select failing_since_at from ops.outcome_state))',
  )) as Date;
  await drains();
  expect(
    await value(
      'select coalesce((select failing_since_at from ops.rollup_state), (select failing_since_at from ops.outcome_state))',
    ),
  ).toEqual(since);
  await query(mends);
});

test('a lock that somebody holds ends the wait, and is told', async () => {
  await addCall();
  await facts.mark();
  await using holder = await factsDatabase(url);
  await query(`alter database ${new URL(url).pathname.slice(1)} set lock_timeout = '200ms'`);
  await using drainer = await factsDatabase(url);
  await holder.db.transaction().execute(async (tx) => {
    await ask(tx, 'lock table rollups.call_rollup in exclusive mode', []);
    await expect(drainRollups(drainer.db)).rejects.toMatchObject({ code: '55P03' });
    const { checks } = await told();
    expect(checks).toMatchObject([{ check: 'reports_behind', level: 'warning' }]);
    expect(checks[0]?.detail).toContain('lock timeout');
  });
});
