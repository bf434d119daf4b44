import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { findings } from '../../src/checks/checks.ts';
import { query, sql } from '../../src/db/database.ts';
import { createAcceptedTargets } from '../../src/inbox/accepted-targets.ts';
import { resumeSends } from '../../src/ledger/control.ts';
import {
  compareReports,
  countingReport,
  type Report,
  reportColumns,
  watchForLostWrites,
} from '../../src/processes/lost-writes.ts';
import { trunkline } from '../credentials/commands.ts';
import { createRulesWorld } from '../rules/rules-world.ts';
import { snapshotOf } from '../stores/databases.ts';
import { createWorld, quick, until } from '../world.ts';

const rules = `
rules:
  - name: answer
    on: message_received
    if: message.plain == "question"
    do: [{ reply: An answer. }, { comment: Answered. }]
    limits: { quiet_hours: none }
`;

describe('a database that goes back in time', async () => {
  const world = await createRulesWorld(rules, 'live', 'postgres', quick);
  const { sandbox, query, value, context } = world;
  afterAll(() => world.close());

  const comments = () =>
    sandbox.requests().filter(({ method, path }) => method === 'POST' && path.endsWith('/comments')).length;
  const found = async () => (await findings(context)).filter(({ check }) => check === 'writes_lost');
  const sent = () => value(`select count(*)::int from ops.sends where state = 'SENT'`);
  const numbers = async () =>
    (await query<{ number: string }>('select number from warehouse.sms_conversations order by 1')).map(
      ({ number }) => number,
    );
  const control = () => query('select is_paused, paused_by from ops.send_control');

  test('is noticed; what was accepted is read again, and nothing is sent or noted twice', async () => {
    await sandbox.emit.sms({ number: '17185550301', text: 'Question' });
    await world.rulesSettled();
    await until(async () => (await sent()) === 1);
    const snapshot = await snapshotOf(context.settings.databaseUrl);
    await until(() =>
      query('select 1').then(
        () => true,
        () => false,
      ),
    );
    const count = async () => Number(await value('select report_count from ops.last_report'));
    const before = await count();
    await until(async () => (await count()) > before);
    expect(await found()).toEqual([]);
    await sandbox.emit.sms({ number: '17185550302', text: 'Question' });
    await sandbox.emit.sms({ number: '17185550303', text: 'Hello' });
    await world.rulesSettled();
    await until(async () => comments() === 2 && (await sent()) === 2);

    await snapshot.restore();
    await until(async () => (await found().catch(() => [])).length > 0);
    await until(async () => (await numbers()).length === 3);
    await world.rulesSettled();
    expect(await found()).toMatchObject([{ level: 'problem', remedy: expect.stringContaining('sends resume') }]);
    expect(await control()).toEqual([{ is_paused: true, paused_by: 'recovery' }]);
    await until(async () => {
      // Not in the minutes for which a search that the restore broke keeps its gap.
      await query('update ops.gaps set next_try_at = now() where filled_at is null');
      return (await value('select count(*)::int from ops.gaps where filled_at is null')) === 0;
    });

    await resumeSends(context.database.db);
    await sandbox.emit.sms({ number: '17185550304', text: 'Question' });
    await world.rulesSettled();
    await until(async () => (await sent()) === 2 && comments() === 3);
    expect(sandbox.sends()).toHaveLength(3);
    expect(await query(`select number, reason from ops.rule_runs order by 1`)).toEqual([
      { number: '17185550301', reason: 'matched' },
      // Evaluated in the seconds before the loss was noticed, it matches; its send is refused, as the counts above say.
      { number: '17185550302', reason: expect.stringMatching(/^(too_old|matched)$/) },
      { number: '17185550303', reason: 'too_old' },
      { number: '17185550304', reason: 'matched' },
    ]);
    expect(await found()).toMatchObject([{ level: 'warning' }]);
  });

  test('is told by an operator, where nothing ran that could notice it', async () => {
    const { databaseUrl, dataDir } = context.settings;
    const command = trunkline({ DATABASE_URL: databaseUrl, DATA_DIR: dataDir }, 'restored', '--json');
    expect(await command.ended).toBe(0);
    expect(JSON.parse(command.out())).toMatchObject({ isDone: true });
    expect(await control()).toEqual([{ is_paused: true, paused_by: 'recovery' }]);
    // The times of the service have no fractions: a text of the same second may be older.
    await sleep(1_100);
    await sandbox.emit.sms({ number: '17185550305', text: 'Question' });
    await until(async () => (await value(`select count(*)::int from ops.sends where number = '17185550305'`)) === 1);
    expect(sandbox.sends()).toHaveLength(3);
  });
});

test('every process reads again what it accepted, once, whoever noticed it, and again after another loss', async () => {
  const world = await createWorld({ backend: 'postgres', workers: null });
  const { context } = world;
  const { db } = context.database;
  const processes = [1, 2, 3].map((at) => {
    const accepted = createAcceptedTargets();
    accepted.add([{ kind: 'call', key: `1700000000.${at}` }]);
    return watchForLostWrites({ ...context, accepted });
  });
  const report = async () => {
    for (const { known, compare } of processes) {
      const [seen] = await query(db, sql<Report>`with ${countingReport(known())} select ${reportColumns} from before`);
      await compare(seen as Report);
    }
  };
  const marked = async () => {
    const rows = await world.query(`select key from ops.sync_targets where dirty_version > clean_version order by 1`);
    await world.query('delete from ops.sync_targets');
    return rows.map(({ key }) => key);
  };
  const all = [1, 2, 3].map((at) => `1700000000.${at}`);

  await report();
  await world.query('create table kept as select * from ops.last_report');
  await report();
  await report();
  expect(await marked()).toEqual([]);
  for (let losses = 0; losses < 2; losses += 1) {
    await world.query('delete from ops.last_report');
    await world.query('insert into ops.last_report select * from kept');
    await report();
    await report();
    expect(await marked()).toEqual(all);
    expect(await world.value(`select count(*)::int from ops.gaps where stream = 'texts'`)).toBe(losses + 1);
  }
  await world.close();
});

const before = { count: 10, reportedAt: new Date(), noticedAt: new Date(1), server: '1/5/00000001' };
test.each([
  ['nothing, as it was left', {}, undefined],
  ['a lower count', { count: 9 }, 'went_back'],
  ['another timeline', { server: '1/5/00000002' }, 'went_back'],
  ['nothing, where Postgres does not say which server it is', { server: null }, undefined],
  ['that another process noticed it', { count: 9, noticedAt: new Date(2) }, 'noticed'],
  ['that this was lost too', { noticedAt: null }, 'went_back'],
] as const)('a report tells %s', (_, changes, expected) =>
  expect(compareReports(before, { ...before, ...changes })).toBe(expected),
);
