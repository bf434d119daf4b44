import { afterAll, beforeAll, expect, test } from 'vitest';
import { questions } from './queries.ts';
import { seededWarehouse } from './warehouse.ts';

const warehouse = await seededWarehouse();
const { facts, reader } = warehouse;
afterAll(() => warehouse[Symbol.asyncDispose]());

const hourMs = 3_600_000;
const dayOfYear = (at: number) => Math.floor((at - Date.UTC(new Date(at).getUTCFullYear(), 0, 1)) / (24 * hourMs)) + 1;
// Days of the year without 29 February, as `J` counts them.
const julian = (at: number) => `J${Math.min(365, Math.max(1, dayOfYear(at)))}/0`;

/**
 * West and east of the date line, and a zone whose clock went forward by twelve hours three days ago. Each has another plan,
 * as a larger or a smaller warehouse would: rows whose order the query leaves open come in another one.
 */
const sessions = [
  { zone: 'Pacific/Pago_Pago', off: [] },
  { zone: 'Pacific/Kiritimati', off: ['enable_hashagg', 'enable_hashjoin'] },
  {
    zone: `AAA0BBB-12,${julian(Date.now() - 72 * hourMs)},${julian(Date.now() + 72 * hourMs)}`,
    off: ['enable_sort', 'enable_mergejoin'],
  },
];

/** Something every three hours, so that some of it lies wherever two zones disagree about a day, a week or an hour. */
beforeAll(async () => {
  const ago = (hours: number) => new Date(Date.now() - hours * hourMs).toISOString();
  const missed = { status: 'missed', talk_seconds: 0, is_abandoned: true, duration_seconds: 40, transferred_count: 1 };
  for (let hours = 1; hours < 40 * 24; hours += 3) {
    const id = `19000${String(hours).padStart(5, '0')}.1`;
    const status = hours % 2 === 0 ? 'voicemail' : 'missed';
    await facts.call({ ...missed, status, call_id: id, started_at: ago(hours), external_number: '15550000077' });
    await facts.insert('warehouse.call_legs', {
      ...{ call_id: id, leg_key: 'b', ordinal: 2, bridged_from_call_id: id, caller_type: 'user', called_type: 'user' },
      ...{ caller_number: `2${hours}`, called_number: '202' },
    });
    if (hours > 16 * 24) continue;
    await facts.insert('warehouse.transcripts', {
      ...{ transcript_id: 10_000 + hours, call_id: id, call_purpose: `purpose ${hours}`, call_sentiment: 'negative' },
      ...{ csat_score: 3, is_action_required: true, agent_name: `heard ${hours}` },
    });
  }
  const texts = Array.from(
    { length: 60 * 8 },
    (_, at) => [ago(60 * 24 - at * 3 + 0.5), ago(60 * 24 - at * 3)] as const,
  );
  await facts.thread(
    90,
    texts.flatMap(([asked, answered], at) => [
      [asked, 'in'] as const,
      [answered, 'out', { sent_by: 1, delivery_status: 'failed', delivery_error: String(at) }] as const,
    ]),
  );
  for (let at = 0; at < 120; at += 1) await facts.thread(1000 + at, [[ago(at * 3 + 1.5), 'in']]);
  await facts.drain();
});

test.each(questions)('$file says the same in every session zone, in the same order by every plan', async ({ text }) => {
  const answers: unknown[] = [];
  // One transaction: now() and the rows are the same for all of them.
  await reader.query('begin isolation level repeatable read read only');
  try {
    for (const { zone, off } of sessions) {
      await reader.query('savepoint session');
      await reader.query(`select set_config('TimeZone', $1, true)`, [zone]);
      for (const setting of off) await reader.query(`select set_config($1, 'off', true)`, [setting]);
      answers.push((await reader.query(text)).rows);
      await reader.query('rollback to savepoint session');
    }
  } finally {
    await reader.query('rollback');
  }
  for (const answer of answers) expect(answer).toEqual(answers[0]);
});
