import { afterAll, afterEach, expect, test } from 'vitest';
import { createContext } from '../../src/context.ts';
import { query as ask } from '../../src/db/database.ts';
import { healthChecks } from '../../src/ops/health-checks.ts';
import { takeSnapshot } from '../../src/ops/snapshot.ts';
import { auditQuality } from '../../src/reporting/audits.ts';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { drainRollups } from '../../src/reporting/rollups.ts';
import { renderReport } from '../../src/server/reports/page.ts';
import { reading, readReport } from '../../src/server/reports/report.ts';
import { createLog } from '../../src/shared/log.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';
import { settingsFor } from './receiver.ts';

const url = await databaseForTest(migrated);
const facts = await factsDatabase(url);
const context = await createContext(settingsFor(url), { log: createLog('silent'), name: 'test', maxConnections: 3 });
afterAll(async () => {
  await context[Symbol.asyncDispose]();
  await facts[Symbol.asyncDispose]();
});
const { query, value, call } = facts;
const { db } = context.database;

/** What the health checks and the page of reports say of the reports, uncached. */
async function told() {
  const page = await renderReport(await reading(context.database.db, {}, readReport));
  return {
    checks: healthChecks(await takeSnapshot(context)).filter(({ check }) => check.startsWith('reports_')),
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
  expect(late.checks[0]?.sentence).toBe('The reports are 10 min behind: they lack what changed since then.');
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
    what: 'a column that is gone',
    breaks: 'alter table rollups.call_agent_rollup rename column rang_count to gone',
    mends: 'alter table rollups.call_agent_rollup rename column gone to rang_count',
    sentence: /^The reports of calls and texts stand still: .*rang_count/,
  },
  {
    what: 'a table that is gone',
    breaks: 'alter table rollups.contacts rename to gone',
    mends: 'alter table rollups.gone rename to contacts',
    sentence: /^The reports of calls and texts stand still: .*rollups\.contacts/,
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

test('a value that no total can hold is told with its quarter of an hour', async () => {
  const endless = { body: null, body_segment_count: 2_000_000_000, sent_by: 1 };
  await facts.thread(1, [
    ['2026-03-03T10:00:00Z', 'out', endless],
    ['2026-03-03T10:01:00Z', 'out', endless],
  ]);
  await drains();
  const found = await told();
  expect(found.checks).toMatchObject([{ check: 'reports_behind', level: 'warning' }]);
  expect(found.checks[0]?.sentence).toBe('The reports lack 1 change that could not be counted.');
  expect(found.checks[0]?.detail).toMatch(/^The first are texts from 2026-03-03 00:00 UTC \(.*out of range/);
  expect(found).toMatchObject({ shown: ['reports_behind'] });
  await query('update warehouse.sms_messages set body_segment_count = 1');
  await query('update ops.rollup_troubles set retry_at = now()');
});

test('calls whose start was not understood are told, once they were counted', async () => {
  await call({ call_id: 'undated', started_at: null });
  await auditQuality(db, 0);
  const { checks, shown } = await told();
  expect(checks).toMatchObject([{ check: 'reports_behind', level: 'warning' }]);
  expect(checks[0]?.sentence).toBe('Calls without a start that was understood, so that no report has them: 1.');
  expect(shown).toEqual(['reports_behind']);
  await query(`delete from warehouse.calls where call_id = 'undated'`);
  await auditQuality(db, 0);
});
