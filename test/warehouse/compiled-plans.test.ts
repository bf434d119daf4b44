import { Client, escapeIdentifier, type Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createQueues } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { seededWarehouse } from '../config/warehouse.ts';
import { superuserUrlOf } from '../stores/databases.ts';

/*
 * Whoever changes mirrored rows runs our triggers, also with psql or by a restore, where nothing switches jit off. A plan
 * that costs more than jit_above_cost is compiled at every execution, which takes 0.5 to 3 s for one row.
 */

const warehouse = await seededWarehouse();
const session = new Client({ connectionString: superuserUrlOf(warehouse.facts.url) });
beforeAll(() => session.connect());
afterAll(async () => {
  await session.end();
  await warehouse[Symbol.asyncDispose]();
});

/** What auto_explain tells of the statements of one command, those inside functions included. */
async function plansOf(command: string): Promise<string[]> {
  const plans: string[] = [];
  const listen = ({ message = '' }) => message.includes('plan:') && plans.push(message);
  session.on('notice', listen);
  await session.query(`load 'auto_explain';
    set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on; set client_min_messages = log`);
  await session.query(command);
  await session.query('reset client_min_messages');
  session.off('notice', listen);
  return plans;
}

const tables = await warehouse.facts.query<{ name: string; columns: string[]; settable: string; is_mirrored: boolean }>(
  `select c.oid::regclass::text as name,
     array_agg(a.attname::text) filter (where a.attgenerated = '') as columns,
     min(a.attname) filter (where a.attgenerated = '' and a.attidentity = '') as settable,
     bool_or(a.attname = 'content_hash') and bool_or(a.attname = 'deleted_at') as is_mirrored
   from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where exists (select from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal) group by c.oid order by 1`,
);

test('the tables with triggers are found', () => {
  expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['warehouse.calls', 'warehouse.sms_messages']));
});

test.each(tables)('a change of $name compiles nothing', async ({ name, columns, settable, is_mirrored }) => {
  const all = columns.map(escapeIdentifier).join(', ');
  const change = is_mirrored ? `content_hash = 'changed', deleted_at = now()` : `${settable} = ${settable}`;
  await session.query(`set jit = on; begin; create temporary table kept on commit drop as select * from ${name}`);
  try {
    const plans = [
      ...(await plansOf(`update ${name} set ${change}`)),
      ...(await plansOf(`delete from ${name}`)),
      ...(await plansOf(`insert into ${name} (${all}) overriding system value select ${all} from kept`)),
    ];
    expect(plans.length).toBeGreaterThan(3);
    expect(plans.filter((plan) => plan.includes('JIT:'))).toEqual([]);
  } finally {
    await session.query('rollback');
  }
});

test('a search compiles nothing', async () => {
  await session.query('set jit = on');
  const plans = await plansOf(`select * from reporting.search('text')`);
  expect(plans.length).toBeGreaterThan(1);
  expect(plans.filter((plan) => plan.includes('JIT:'))).toEqual([]);
});

test('the BI role and our own connections have jit off', async () => {
  expect(await warehouse.facts.value('show jit')).toBe('off');
  expect((await warehouse.reader.query('show jit')).rows).toEqual([{ jit: 'off' }]);
  const log = createLog('silent');
  const queues = await createQueues({ redisUrl: undefined, databaseUrl: warehouse.facts.url, log });
  const producers = queues.bull[0]?.opts.connection as unknown as Pool;
  expect((await producers.query('show jit')).rows).toEqual([{ jit: 'off' }]);
  await queues.close();
});
