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
  const queue = { called_type: 'queue', called_name: 'Sales', called_number: '700' };
  const missed = { status: 'missed', talk_seconds: 0, duration_seconds: 30, external_number: '15550000009', ...queue };
  await call({
    call_id: '1.1',
    started_at: '2026-03-02T10:00:00Z',
    legs_fetched_at: '2026-03-02T10:01:00Z',
    ...missed,
  });
  const leg = { call_id: '1.1', leg_key: '#1', ordinal: 1, caller_type: 'external', called_type: 'user' };
  await facts.insert('warehouse.call_legs', { ...leg, called_number: '201', started_at: '2026-03-02T10:00:20Z' });
  await facts.measure('1.1');
  await call({
    call_id: '1.2',
    started_at: '2026-03-02T11:00:00Z',
    direction: 'outbound',
    external_number: '15550000009',
    account_number: '15559990000',
  });
  await facts.thread(1, [
    ['2026-03-02T12:00:00Z', 'in'],
    ['2026-03-02T12:05:00Z', 'out', { delivery_status: 'undelivered', sent_by: 1 }],
    ['2026-03-02T12:06:00Z', 'out', { delivery_status: 'delivered', sent_by: 1 }],
  ]);
  await query(
    `insert into warehouse.transcripts (transcript_id, call_id, is_action_required, content_hash, source, fetch_seq, fetched_at)
     values (1, '1.1', true, '', 'test', 1, now())`,
  );
  await facts.drain();
  const before = await written();
  expect(Object.keys(before)).toEqual(
    expect.arrayContaining(
      [
        'action_items',
        'call_rollup',
        'contacts',
        'endpoints',
        'missed_call_returns',
        'sms_day_rollup',
        'sms_turns',
      ].map((name) => `rollups.${name}`),
    ),
  );
  await facts.drain();
  expect(await written()).toEqual(before);
});
