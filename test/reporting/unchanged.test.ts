import { afterAll, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, query } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

/** Which transaction wrote each row of the rollups, and which has locked it since: a lock writes to the row too. */
async function written(): Promise<Record<string, unknown>> {
  const tables = await query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'rollups' and c.relkind = 'r' order by 1`,
  );
  const held: Record<string, unknown> = {};
  for (const { name } of tables) {
    const rows = await query(
      `select xmin::text, xmax::text, ctid::text, to_jsonb(t)::text as row from ${name} t order by row`,
    );
    if (rows.length > 0) held[name] = rows;
  }
  return held;
}

test('a drain that finds the same figures writes to no row of the reports', async () => {
  await facts.user(1, ['201']);
  const number = { external_number: '15550000009' };
  const missed = { status: 'missed', talk_seconds: 0, duration_seconds: 30 };
  const queue = { called_type: 'queue', called_name: 'Sales', called_number: '700' };
  await call({ call_id: '1.1', started_at: '10:00', ...number, ...missed, ...queue }, ['user:201 20 - -']);
  await call({ call_id: '1.2', started_at: '11:00', ...number, direction: 'outbound' });
  await facts.thread(1, [
    ['12:00', 'in'],
    ['12:05', 'out', { delivery_status: 'undelivered', sent_by: 1 }],
    ['12:06', 'out', { delivery_status: 'delivered', sent_by: 1 }],
  ]);
  await facts.insert('warehouse.transcripts', { transcript_id: 1, call_id: '1.1', is_action_required: true });
  await facts.drain();
  const before = await written();
  const filled = ['action_items', 'call_rollup', 'contacts', 'endpoints', 'missed_call_returns', 'sms_turns'];
  expect(Object.keys(before)).toEqual(
    expect.arrayContaining([...filled, 'sms_day_rollup'].map((name) => `rollups.${name}`)),
  );
  await facts.drain();
  expect(await written()).toEqual(before);
});
