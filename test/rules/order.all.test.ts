import { expect, test } from 'vitest';
import { locksHere } from '../world/database.ts';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

/* Of two texts in a row the newer one is answered, by workers that hang too: see also test/story/rules.test.ts. */

const rules = `
rules:
  - name: greeting
    on: message_received
    if: message.plain.startsWith("hello")
    do: [{ reply: 'Hello, {{ message.text }}' }]
    limits: { per_thread: 1 per 12h, quiet_hours: none }
`;

const world = await createRulesWorld(rules, 'live', 'postgres');
const { sandbox, query, value, context } = world;
const line = '16465550100';

const chargesOf = (number: string) => sandbox.sends().filter(({ charge }) => charge?.to.includes(number)).length;
const textsOf = (number: string) =>
  query<{ body: string }>(`select body from ops.sends where number = $1 and state = 'SENT'`, number).then((rows) =>
    rows.map(({ body }) => body),
  );
const runsOf = (number: string) =>
  query<{ reason: string }>(
    `select reason from ops.rule_runs where number = $1 and rule = 'greeting' order by run_id`,
    number,
  ).then((rows) => rows.map(({ reason }) => reason));
test.each([
  { step: 'reserves it', state: 'RESERVED', number: '12125550407', other: '12125550408', fault: [] },
  {
    step: 'writes down that it was not sent',
    state: 'NOT_SENT',
    number: '12125550409',
    other: '12125550410',
    fault: [{ kind: 'answer' as const, status: 500, operation: 'sendMessage' as const, times: 1 }],
  },
])('the newer text is answered where a worker stands still while it $step, and nobody else waits', async (given) => {
  const { state, number, other, fault } = given;
  sandbox.faults(...fault);
  // The worker's transaction hangs until the lock is free.
  await query(`create or replace function ops.hang() returns trigger language plpgsql as $$ begin
    if new.number = '${number}' and new.state = '${state}' then perform pg_advisory_xact_lock(4071); end if; return new; end $$`);
  await query('create trigger hang before update on ops.sends for each row execute function ops.hang()');
  const holder = await context.database.pool.connect();
  try {
    await holder.query('select pg_advisory_lock(4071)');
    await sandbox.emit.sms({ line, number, text: 'hello' });
    await until(
      async () =>
        Number(
          await value(`select count(*) from ${locksHere} where locktype = 'advisory' and objid = 4071 and not granted`),
        ) > 0,
    );
    await sandbox.emit.sms({ line, number, text: 'hello again' });
    const mirrored = 'select count(*) from warehouse.sms_messages where number = $1';
    await until(async () => Number(await value(mirrored, number)) === 2);
    await sandbox.emit.sms({ line, number: other, text: 'hello' });
    await until(async () => (await runsOf(other)).length === 1);
    expect(await runsOf(number)).toEqual(['matched']);
  } finally {
    await holder.query('select pg_advisory_unlock(4071)');
    holder.release();
    await query('drop trigger hang on ops.sends');
    sandbox.faults();
  }
  await world.rulesSettled();
  expect(await runsOf(number)).toEqual(['matched', 'matched']);
  expect(await textsOf(number)).toEqual(['Hello, hello again']);
  expect(chargesOf(number)).toBe(1);
});
