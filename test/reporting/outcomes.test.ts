import { afterAll, describe, expect, test } from 'vitest';
import { message } from '../../src/api-client/entities/text-schemas.ts';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { following } from '../../src/warehouse/what-follows.ts';
import { asRead, readNumber } from '../warehouse/reads.ts';
import { factsDatabase } from './facts.ts';
import { line, numberOf, ruleFacts, unsent } from './rule-facts.ts';

const facts = await factsDatabase();
const { expectRows, insert, query, thread, value } = facts;
const { run, send, change } = ruleFacts(facts);
afterAll(() => facts[Symbol.asyncDispose]());
await facts.params({ time_zone: 'America/New_York' });

const outcomes = (columns: string, where: string) =>
  expectRows(`select ${columns} from reporting.rule_outcomes where ${where} order by local_date, rule, version, mode`);

describe('evaluations', () => {
  test('are counted by why they did not act, by local day, version and mode', async () => {
    // Two minutes around midnight in New York.
    for (const [word, count] of Object.entries({ matched: 1, condition_false: 2, too_old: 1, limit: 1, stopped: 1 })) {
      await run('greet', '06-02T03:59', { word, count });
    }
    for (const word of ['group_thread', 'no_other_party', 'gone', 'error'])
      await run('greet', '06-02T03:59:30', { word });
    await run('greet', '06-02T04:01');
    await run('greet', '06-02T04:02', { version: 'v2', mode: 'dry-run' });
    await drainOutcomes(facts.db);
    await outcomes(
      `local_date::text, version, mode, evaluation_count as tried, matched_count as matched, condition_false_count as unmet,
       limited_count as limited, error_count as failed`,
      `rule = 'greet'`,
    ).toEqual([
      '2026-06-01 | v1 | live | 10 | 1 | 2 | 1 | 1',
      '2026-06-02 | v1 | live | 1 | 1 | 0 | 0 | 0',
      '2026-06-02 | v2 | dry-run | 1 | 1 | 0 | 0 | 0',
    ]);
  });

  test('of one batch stand in one row, which a drain adds once', async () => {
    const counts = ['bulk-0', 'bulk-1'].map((rule) => ({ rule, mode: 'dry-run', word: 'condition_false', count: 100 }));
    await insert('ops.rule_tallies', { happened_at: '06-05T12:00', version: 'v1', counts: JSON.stringify(counts) });
    for (let drained = 0; drained < 2; drained += 1) {
      await drainOutcomes(facts.db);
      const expected = ['bulk-0 | 100 | 100', 'bulk-1 | 100 | 100'];
      await outcomes('rule, evaluation_count, condition_false_count', `rule ~ '^bulk'`).toEqual(expected);
    }
  });
});

test('steps count by the state in which they ended', async () => {
  for (const word of ['action_done', 'action_dry_run', 'action_failed']) {
    await run('tidy', '06-03T12:00', { word });
  }
  await run('tidy', '06-03T12:00', { word: 'action_done', count: 2 });
  await drainOutcomes(facts.db);
  const counts =
    'evaluation_count, action_done_count as done, action_would_count as would, action_failed_count as failed';
  await outcomes(counts, `rule = 'tidy'`).toEqual(['0 | 3 | 1 | 1']);
});

describe('texts', () => {
  test('count by where they ended, on the day on which they were planned, and add up', async () => {
    const at = '06-10T12:00';
    await send('reply', at, 11);
    // Found in the thread: what it cost is not known, and the worst case is kept for it.
    await send('reply', at, 12, { settled_micros: null, reserved_micros: 50_000, is_reconciled: true });
    await send('reply', at, 13, { state: 'UNKNOWN', settled_micros: null, reserved_micros: 100_000, units: 2 });
    await send('reply', at, 14, { state: 'DISPATCHED', settled_micros: null, reserved_micros: 50_000 });
    await send('reply', at, 15, { state: 'SKIPPED', reason: 'opted_out', settled_micros: null });
    await send('reply', at, 16, { state: 'REJECTED', reason: 'invalid_request (400)', settled_micros: null });
    await send('reply', at, 17, { state: 'NOT_SENT', reason: 'network', settled_micros: null });
    await send('reply', at, 18, { ...unsent, state: 'HELD', reason: 'gate:quiet_hours' });
    await send('reply', at, 19, { ...unsent, state: 'DENIED', reason: 'gate:opted_out' });
    await send('reply', at, 20, { ...unsent, state: 'DENIED', reason: 'gate:opted_out' });
    await send('reply', at, 21, { ...unsent, state: 'DENIED', reason: 'superseded' });
    await send('reply', at, 22, { ...unsent, state: 'EXPIRED', reason: 'gate:too_old' });
    await drainOutcomes(facts.db);
    await outcomes(
      `local_date::text, planned_count as planned, sent_count as sent, would_send_count as would, blocked_count as blocked,
       blocked_by_gate::text, skipped_count as skipped, rejected_count as rejected, not_sent_count as not_sent, waiting_count as waiting,
       unclear_count as unclear, charged_usd::float8,
       would_cost_usd, evaluation_count as tried`,
      `rule = 'reply'`,
    ).toEqual([
      '2026-06-10 | 12 | 2 | 0 | 4 | {"too_old": 1, "opted_out": 2, "superseded": 1} | 1 | 1 | 1 | 1 | 2 | 0.0079 | - | 0',
    ]);
  });

  test('that dry-run kept back would have cost what a segment ever cost at most', async () => {
    const kept = { ...unsent, mode: 'dry-run', state: 'DENIED', reason: 'dry_run', message_type: 'sms' };
    await send('try', '06-11T12:00', 31, { ...kept, units: 2 });
    await send('try', '06-11T12:00', 32, { ...kept, units: 1 });
    await send('try', '06-11T12:00', 33, { ...kept, units: null, reason: 'gate:budget_daily' });
    await drainOutcomes(facts.db);
    const would = (cost: string) =>
      outcomes('mode, would_send_count, blocked_count, sent_count, would_cost_usd::float8', `rule = 'try'`).toEqual([
        `dry-run | 2 | 1 | 0 | ${cost}`,
      ]);
    await would('-');
    await query('update ops.send_control set highest_unit_micros = 8000');
    await would('0.024');
  });

  test('that change their state are counted again, and their run once', async () => {
    await run('late', '06-12T12:00');
    await send('late', '06-12T12:00', 41, { state: 'UNKNOWN', settled_micros: null, reserved_micros: 50_000 });
    await drainOutcomes(facts.db);
    await change(`update ops.sends set state = 'SENT', is_reconciled = true where rule = 'late'`);
    await drainOutcomes(facts.db);
    const counts = 'evaluation_count, planned_count, sent_count, unclear_count';
    await outcomes(counts, `rule = 'late'`).toEqual(['1 | 1 | 1 | 0']);
  });
});

let reads = 1;

/** A complete read of a thread, as its writer mirrors it. */
async function mirror(conversation: number, rows: readonly object[]): Promise<void> {
  reads += 1;
  const thread = { line, number: numberOf(conversation), participants: [] };
  const found = { thread, messages: asRead(message, rows), isComplete: true, read: readNumber(reads) };
  await facts.db.transaction().execute((tx) => following(tx, (follow) => writeThreads(tx, follow, [found])));
}

describe('replies gained', () => {
  /** Sent, replied to, and opted out. */
  const counted = (rule: string) => outcomes('sent_count, replied_count, opted_out_count', `rule = '${rule}'`);

  test('are texts of the recipient within 24 hours, opt-outs apart, and no group thread; late and deleted ones are counted again', async () => {
    for (const conversation of [51, 52, 53, 54, 55]) await send('ask', '07-01T12:00', conversation);
    await thread(51, [
      ['07-01T11:59', 'in'],
      ['07-01T12:00:01', 'out'],
      ['07-02T12:00', 'in'],
    ]);
    await thread(52, [['07-02T12:00:01', 'in']]);
    await thread(53, [['07-01T12:05', 'in', { body: ' stop ' }]]);
    await thread(54, [['07-01T12:05', 'in']], { participants_key: 'a,b' });
    await thread(55, [
      ['07-01T12:05', 'in', { body: 'Yes' }],
      ['07-01T12:06', 'in', { body: 'STOP' }],
    ]);
    await drainOutcomes(facts.db);
    await counted('ask').toEqual(['5 | 2 | 2']);
    const known = { id: 52_000, direction: 'in', sentAt: '2026-07-02T12:00:01Z', text: 'text' };
    await mirror(52, [{ id: 1, direction: 'in', sentAt: '2026-07-01T13:00:00Z', text: 'text' }, known]);
    await drainOutcomes(facts.db);
    await counted('ask').toEqual(['5 | 3 | 2']);
    await mirror(52, [known]);
    await drainOutcomes(facts.db);
    await counted('ask').toEqual(['5 | 2 | 2']);
  });

  test('do not count a keyword of an opt-out, and count a text that may be none', async () => {
    const bodies = ['Stop.', 'please stop', 'STOP thanks', 'stop by at five', 'don’t text me at work'];
    for (const [at, body] of bodies.entries()) {
      await send('words', '07-05T12:00', 70 + at);
      await thread(70 + at, [['07-05T12:05', 'in', { body }]]);
    }
    // As an earlier release judged it.
    await query(`update warehouse.sms_messages set opt_out_verdict = 'opt_out' where conversation_id = 73`);
    await drainOutcomes(facts.db);
    await counted('words').toEqual(['5 | 1 | 4']);
    await mirror(73, [{ id: 73_000, direction: 'in', sentAt: '2026-07-05T12:05:00Z', text: bodies[3] }]);
    await drainOutcomes(facts.db);
    await counted('words').toEqual(['5 | 2 | 3']);
  });

  test('mark nothing when the text is somebody else’s', async () => {
    await mirror(60, [{ id: 60_000, direction: 'in', sentAt: '2026-07-01T12:10:00Z', text: 'text' }]);
    expect(await value('select count(*)::integer from ops.send_markers')).toBe(0);
  });
});
