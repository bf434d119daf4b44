import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { grantBiRole } from '../../src/reporting/bi-role.ts';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { type Facts, factsDatabase } from '../reporting/facts.ts';
import { dropRole } from '../stores/databases.ts';

/** A warehouse with something of everything of the last days, and a connection of the BI role to it. */
export interface SeededWarehouse extends AsyncDisposable {
  readonly facts: Facts;
  readonly reader: Client;
}

const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

/** Call at the top level of a test file. */
export async function seededWarehouse(): Promise<SeededWarehouse> {
  const facts = await factsDatabase();
  await seed(facts);
  await facts.drain();
  await drainOutcomes(facts.db);
  const role = `reader_${process.pid}_${process.env.VITEST_POOL_ID ?? 0}`;
  await grantBiRole(facts.db, role);
  await facts.query(`alter role ${role} password 'reader'`);
  const url = Object.assign(new URL(facts.url), { username: role, password: 'reader' });
  const reader = new Client({ connectionString: url.href });
  await reader.connect();
  return {
    facts,
    reader,
    async [Symbol.asyncDispose]() {
      await reader.end();
      await dropRole(facts.url, role);
      await facts[Symbol.asyncDispose]();
    },
  };
}

async function seed(facts: Facts): Promise<void> {
  const { call, insert, user, thread, query } = facts;
  await facts.params({ is_text_shown: true });
  await user(1, ['201']);
  await user(2, ['202']);
  // Answered by 201 out of a queue, passed on to 202, analysed, and to be acted on.
  const answered = '1700000001.1';
  const queue = { called_type: 'queue', called_number: '6001' };
  const passed = { call_id: answered, started_at: ago(30), transferred_count: 1, external_number: '15550000001' };
  await call({ ...queue, ...passed }, ['queue:6001 0 0 0', 'queue>user:201 0 9 60', 'user:201>user:202 69 0 60']);
  // Overflowed from one queue into another, and was given up there.
  const gaveUp = { status: 'missed', is_abandoned: true, talk_seconds: 0 };
  const overflowed = { call_id: '1700000040.1', started_at: ago(50), external_number: '15550000005' };
  await call({ ...queue, ...gaveUp, ...overflowed }, ['queue:6001 0 36 0', 'queue:6002 36 36 0']);
  await insert('warehouse.transcripts', {
    ...{ transcript_id: 1, call_id: answered, leg_unique_id: '#2', leg_pairing: 'exact', call_purpose: 'Complaint' },
    ...{ call_sentiment: 'negative', csat_score: 2, agent_performance_score: 7, is_action_required: true },
    ...{ is_urgent_action_required: true, urgent_action_required_note: 'Call back', short_summary: 'Late again' },
    agent_name: 'User 1',
  });
  const placed = { direction: 'outbound', caller_type: 'user', caller_number: '201', called_type: 'external' };
  await call({ ...placed, call_id: '1700000002.1', started_at: ago(20), external_number: '15550000009' });
  const missed = { ...gaveUp, duration_seconds: 40 };
  for (const [at, hours] of [26, 25, 24].entries()) {
    await call({ ...missed, call_id: `170000001${at}.1`, started_at: ago(hours), external_number: '15550000002' });
  }
  await call({ call_id: '1700000020.1', started_at: ago(28), status: 'voicemail', external_number: '15550000003' });
  // Longer ago than a repeated call counts.
  await call({ call_id: '1700000025.1', started_at: ago(240), external_number: '15550000006' });
  // Called back within the hour.
  await call({ ...missed, call_id: '1700000030.1', started_at: ago(22), external_number: '15550000004' });
  await call({ call_id: '1700000031.1', started_at: ago(21.5), direction: 'outbound', external_number: '15550000004' });
  await thread(1, [
    [ago(10), 'in', { body: 'Is it ready?' }],
    [ago(9.9), 'out', { body: 'Yes', sent_by: 1, delivery_status: 'delivered' }],
    [ago(9.8), 'out', { body: 'We close at 5', delivery_status: 'undelivered', delivery_error: '30003' }],
    [ago(3), 'in', { body: 'And tomorrow?' }],
  ]);
  await thread(2, [
    [ago(6), 'in', { body: 'STOP' }],
    [ago(5), 'out', { sent_by: 1 }],
  ]);
  // Texts after missed calls: by an integration that nobody knows, and by a rule.
  await thread(3, [[ago(23.9), 'out']], { number: '15550000002' });
  await thread(4, [[ago(27.9), 'out', { send_id: randomUUID() }]], { number: '15550000003' });
  // Longer than a weekend, so that there are business hours in between whenever this runs.
  await thread(5, [
    [ago(100), 'in'],
    [ago(20), 'out', { sent_by: 1 }],
  ]);
  await query(
    `insert into ops.coverage (stream, from_at, to_at, state, reported_count, held_count, is_watched, due_at)
     select 'calls', date_trunc('hour', now()) - interval '2 hours', date_trunc('hour', now()) - interval '1 hour', 'proven', 5, 5, true, 'infinity'`,
  );
  await rules(facts);
}

/** A rule that is live and sent two texts, one of them without a price, and one in dry-run. */
async function rules({ insert }: Facts): Promise<void> {
  const at = ago(9.95);
  const run = { version: 'v1', trigger_kind: 'message_received', trigger_at: at, evaluated_at: at, reason: 'matched' };
  await insert(
    'ops.rule_runs',
    { ...run, rule: 'night', trigger_key: '1/1', mode: 'live', is_matched: true },
    { ...run, rule: 'thanks', trigger_key: '1/1', mode: 'dry-run', is_matched: true },
  );
  const counts = [
    { rule: 'night', mode: 'live', word: 'matched', count: 1 },
    { rule: 'night', mode: 'live', word: 'condition_false', count: 1 },
    { rule: 'thanks', mode: 'dry-run', word: 'matched', count: 1 },
  ];
  await insert('ops.rule_tallies', { happened_at: at, version: 'v1', counts: JSON.stringify(counts) });
  const text = { rule_version: 'v1', line: '15559990000', trigger_kind: 'message', trigger_at: at, body: 'text' };
  const sent = { ...text, rule: 'night', mode: 'live', state: 'SENT', message_type: 'sms', units: 1 };
  const when = { expires_at: at, planned_at: at, reserved_at: at, dispatched_at: at, settled_at: at };
  await insert(
    'ops.sends',
    { ...sent, ...when, number: '15551000001', trigger_id: '1', settled_micros: 7_900 },
    { ...sent, ...when, number: '15551000002', trigger_id: '2', reserved_micros: 50_000, is_reconciled: true },
    {
      ...{ ...text, rule: 'thanks', mode: 'dry-run', state: 'DENIED', reason: 'gate:human_wrote' },
      ...{ number: '15551000001', trigger_id: '3', expires_at: at, planned_at: at },
    },
  );
}
