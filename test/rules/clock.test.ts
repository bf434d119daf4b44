import { afterAll, describe, expect, test } from 'vitest';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

/* Sends that were written while the clock of Postgres was two hours ahead, once it is right again. */

const rules = `
rules:
  - name: greeting
    on: message_received
    if: message.plain == "hello"
    do: [{ reply: Hello }]
    limits: { quiet_hours: none }
`;
const line = '16465550100';
const ahead = `+ interval '2 hours'`;

describe('after a time in which the clock was ahead', async () => {
  const world = await createRulesWorld(rules, 'live', 'postgres');
  const { sandbox, query, value } = world;
  afterAll(() => world.close());
  const stateOf = (number: string) => value('select state from ops.sends where number = $1', number);

  /** Runs a change of each new row of a table, as a clock that is ahead would. */
  async function whileAhead(table: string, sets: string, during: () => Promise<void>): Promise<void> {
    await query(`create function ops.ahead() returns trigger language plpgsql as $$ begin ${sets} return new; end $$`);
    await query(`create trigger ahead before insert on ${table} for each row execute function ops.ahead()`);
    await during();
    await query('drop function ops.ahead cascade');
  }

  test('a text that was planned then is sent now', async () => {
    const number = '12125554002';
    const sets = `new.planned_at = new.planned_at ${ahead}; new.due_at = new.due_at ${ahead};`;
    await whileAhead('ops.sends', sets, async () => {
      await sandbox.emit.sms({ line, number, text: 'hello' });
      await until(async () => (await stateOf(number)) !== undefined);
    });
    await until(async () => (await stateOf(number)) === 'SENT');
    expect(await value('select planned_at <= now() from ops.sends where number = $1', number)).toBe(true);
  });

  test.each([
    {
      what: 'a lease',
      number: '12125554003',
      sets: `state = 'RESERVED', reserved_at = now() ${ahead}, due_at = now() ${ahead} + interval '1 minute'`,
    },
    { what: 'a retry', number: '12125554004', sets: `due_at = now() ${ahead}` },
    {
      what: 'a wait',
      number: '12125554005',
      sets: `state = 'HELD', reason = 'gate:newer_inbound', due_at = now() ${ahead}`,
    },
    {
      what: 'quiet hours',
      number: '12125554006',
      sets: `state = 'HELD', reason = 'gate:quiet_hours', due_at = now() + interval '9 hours', enqueued_at = now() ${ahead}`,
    },
    { what: 'a job', number: '12125554007', sets: `enqueued_at = now() ${ahead}` },
  ])('$what of that time ends in time', async ({ number, sets }) => {
    await query(`update ops.send_control set is_paused = true, paused_by = 'operator'`);
    await sandbox.emit.sms({ line, number, text: 'hello' });
    await until(async () => (await stateOf(number)) === 'PLANNED');
    await query(`update ops.sends set ${sets} where number = $1`, number);
    await query(`update ops.send_control set is_paused = false, paused_by = null`);
    const ends = number.endsWith('3')
      ? async () =>
          (await value(`select due_at < now() + interval '61 seconds' from ops.sends where number = $1`, number)) ===
          true
      : async () => (await stateOf(number)) === 'SENT';
    await until(ends);
  });
});
