import type { PoolClient } from 'pg';
import { expect, test } from 'vitest';
import { createStoryWorld } from './world.ts';

const world = await createStoryWorld({ mode: 'dry-run' });

/** Tables that stay small, and those of waiting rows, which are asked for the first ones or whether there is any. */
const small = new Set([
  'rule_events',
  'rule_tallies',
  'rollup_markers',
  'rollup_troubles',
  'send_markers',
  'rollup_state',
  'outcome_state',
  'params',
  'rule_versions',
  'parked_kinds',
  'locks',
  'account',
  'send_control',
  'subscription_watch',
  'processes',
  'last_report',
  'erasures',
  'erasures_state',
  'erasure_salt',
  'sms_lines',
  'user_endpoints',
  'users',
]);

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Plan[];
}

/** The scans of a plan that grow with their table. */
function growingScans(plan: Plan, partial: ReadonlySet<string>): string[] {
  const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index = '', 'Index Cond': condition } = plan;
  const isScan = type === 'Seq Scan' || (/^Index(?: Only)? Scan$/.test(type) && condition === undefined);
  const grows = isScan && !small.has(table) && !partial.has(index);
  return [
    ...(grows ? [`${type} on ${table}`] : []),
    ...(plan.Plans ?? []).flatMap((each) => growingScans(each, partial)),
  ];
}

/** Asks about each prepared statement of each connection, with the words that run it. The connections end with that. */
async function eachPrepared(ask: (client: PoolClient, execute: string, statement: string) => Promise<void>) {
  const { pool } = world.context.database;
  const clients = await Promise.all(Array.from({ length: pool.idleCount }, () => pool.connect()));
  for (const client of clients) {
    const { rows } = await client.query<{ name: string; statement: string; count: number }>(
      'select name, statement, cardinality(parameter_types) as count from pg_prepared_statements',
    );
    for (const { name, statement, count } of rows) {
      const given = Array.from({ length: count }, () => 'null').join();
      await ask(client, `execute "${name}"${count > 0 ? `(${given})` : ''}`, statement);
    }
    client.release(true);
  }
}

test('no prepared statement keeps a plan that scans a table, though the tables were empty', async () => {
  // On a busy machine, autovacuum would find the few rows that the tables hold then.
  await world.query(`do $$ declare each regclass; begin
    for each in select oid from pg_class where relkind = 'r' and relnamespace::regnamespace::text in ('ops', 'warehouse', 'rollups')
    loop execute format('alter table %s set (autovacuum_enabled = false)', each); end loop; end $$`);
  await world.rules(`
rules:
  - name: answer
    on: message_received
    do: [{ reply: 'We call back' }]
  - name: missed
    on: call_missed
    do: [{ reply: 'Sorry' }]`);
  for (let at = 0; at < 7; at += 1) {
    await world.text(`1718555010${at}`, 'Hello');
    await world.sandbox.emit.call({ status: 'missed' });
    await world.sandbox.emit.call({ status: 'answered', recorded: true, recordingAfterMs: 0 });
    await world.quiet();
  }
  await world.pass('2m');
  const partial = await world.query<{ name: string }>(
    'select indexrelid::regclass::text as name from pg_index where indpred is not null',
  );
  const few = new Set(partial.map(({ name }) => name.split('.').at(-1) ?? name));
  const found = new Map<string, string[]>();
  await eachPrepared(async (client, execute, statement) => {
    await client.query('set plan_cache_mode = force_generic_plan');
    const { rows } = await client.query<{ 'QUERY PLAN': readonly { Plan: Plan }[] }>(
      `explain (format json) ${execute}`,
    );
    found.set(statement, growingScans(rows[0]?.['QUERY PLAN'][0]?.Plan as Plan, few));
  });
  expect(found.size).toBeGreaterThan(20);
  expect([...found].filter(([, scans]) => scans.length > 0)).toEqual([]);
});

test('a column that a later release adds while this one runs ends no prepared statement', async () => {
  await world.text('17185550107', 'Hello');
  await world.sandbox.emit.call({ status: 'answered', recorded: true, recordingAfterMs: 0 });
  await world.quiet();
  const tables = await world.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where relkind = 'r' and relnamespace in ('ops'::regnamespace, 'warehouse'::regnamespace, 'rollups'::regnamespace)`,
  );
  for (const { name } of tables) await world.query(`alter table ${name} add column of_a_later_release integer`);
  const ended: string[] = [];
  let asked = 0;
  await eachPrepared(async (client, execute, statement) => {
    asked += 1;
    await client.query(`explain ${execute}`).catch((error: Error) => ended.push(`${error.message}: ${statement}`));
  });
  expect(asked).toBeGreaterThan(20);
  expect(ended).toEqual([]);
});
