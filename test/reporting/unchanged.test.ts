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

test('an import of what changed since the last one gets each row that differs, and no other', async () => {
  const since = async (moment: unknown) =>
    facts.lines(
      `select 'visit ' || queue_key || ' ' || outcome from reporting.fct_queue_visit where changed_at > $1
       union all select 'missed ' || call_id || ' ' || coalesce(returned_by, '-') from reporting.missed_calls where changed_at > $1
       union all select 'turn ' || turn_number || ' ' || (reply_seconds is not null) from reporting.fct_sms_turn where changed_at > $1
       order by 1`,
      moment,
    );
  const now = () => facts.value('select now()');
  const begun = await now();
  const missed = { status: 'missed', talk_seconds: 0, duration_seconds: 30, called_type: 'queue', called_name: 'Help' };
  for (const who of [21, 22]) {
    const own = { external_number: `155500000${who}`, called_number: `7${who}` };
    await call({ call_id: `2.${who}`, started_at: '03-05T10:00', ...missed, ...own });
  }
  await facts.thread(2, [
    ['03-05T12:00', 'in'],
    ['03-05T12:05', 'out', { sent_by: 1 }],
    ['03-05T13:00', 'in'],
  ]);
  await facts.drain();
  const all = ['missed 2.21 -', 'missed 2.22 -', 'turn 1 true', 'turn 2 false', 'visit queue:721 missed'];
  expect(await since(begun)).toEqual([...all, 'visit queue:722 missed']);
  const imported = await now();
  await call({ call_id: '2.23', started_at: '03-05T11:00', external_number: '15550000021', direction: 'outbound' });
  await query(`update warehouse.calls set status = 'voicemail' where call_id = '2.22'`);
  await facts.insert('warehouse.sms_messages', {
    ...{ conversation_id: 2, message_id: 2099, line: '15559990000', number: '15551000002' },
    ...{ direction: 'out', sent_at: '03-05T13:05', body: 'text', sent_by: 1 },
  });
  await facts.drain();
  expect(await since(imported)).toEqual([
    'missed 2.21 outbound_call',
    'missed 2.22 -',
    'turn 2 true',
    'visit queue:722 voicemail',
  ]);
});
