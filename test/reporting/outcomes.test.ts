import { afterAll, describe, expect, test } from 'vitest';
import { message } from '../../src/api-client/entities/texts.ts';
import { drainOutcomes, readRuleCounts } from '../../src/reporting/outcomes.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { following } from '../../src/warehouse/what-follows.ts';
import { asRead, readNumber } from '../warehouse/reads.ts';
import { factsDatabase } from './facts.ts';
import { line, numberOf, ruleFacts, unsent } from './rule-facts.ts';

const facts = await factsDatabase();
const { query, insert, thread, value } = facts;
const { run, send, change } = ruleFacts(facts);
afterAll(() => facts[Symbol.asyncDispose]());
await facts.params({ time_zone: 'America/New_York' });

const outcomes = (columns: string, where: string) =>
  query(`select ${columns} from reporting.rule_outcomes where ${where} order by local_date, rule, version, mode`);

describe('evaluations', () => {
  test('are counted by why they did not act, by local day, version and mode', async () => {
    // Two minutes around midnight in New York.
    for (const [word, count] of Object.entries({ matched: 1, condition_false: 2, too_old: 1, limit: 1, stopped: 1 })) {
      await run('greet', '2026-06-02T03:59:00Z', { word, count });
    }
    for (const word of ['group_thread', 'no_other_party', 'gone', 'error']) {
      await run('greet', '2026-06-02T03:59:30Z', { word });
    }
    await run('greet', '2026-06-02T04:01:00Z');
    await run('greet', '2026-06-02T04:02:00Z', { version: 'v2', mode: 'dry-run' });
    await drainOutcomes(facts.db);
    expect(
      await outcomes(
        `local_date::text, version, mode, evaluation_count, matched_count, condition_false_count, too_old_count, limited_count,
         stopped_count, unfit_count, error_count`,
        `rule = 'greet'`,
      ),
    ).toEqual([
      {
        ...{ local_date: '2026-06-01', version: 'v1', mode: 'live', evaluation_count: 10, matched_count: 1 },
        ...{ condition_false_count: 2, too_old_count: 1, limited_count: 1, stopped_count: 1, unfit_count: 3 },
        ...{ error_count: 1 },
      },
      {
        ...{ local_date: '2026-06-02', version: 'v1', mode: 'live', evaluation_count: 1, matched_count: 1 },
        ...{ condition_false_count: 0, too_old_count: 0, limited_count: 0, stopped_count: 0, unfit_count: 0 },
        ...{ error_count: 0 },
      },
      {
        ...{ local_date: '2026-06-02', version: 'v2', mode: 'dry-run', evaluation_count: 1, matched_count: 1 },
        ...{ condition_false_count: 0, too_old_count: 0, limited_count: 0, stopped_count: 0, unfit_count: 0 },
        ...{ error_count: 0 },
      },
    ]);
  });

  test('of one batch stand in one row, which a drain adds once', async () => {
    const counts = ['bulk-0', 'bulk-1'].map((rule) => ({ rule, mode: 'dry-run', word: 'condition_false', count: 100 }));
    await insert('ops.rule_tallies', {
      ...{ happened_at: '2026-06-05T12:00:00Z', version: 'v1', counts: JSON.stringify(counts) },
    });
    const expected = [
      { rule: 'bulk-0', evaluation_count: 100, condition_false_count: 100 },
      { rule: 'bulk-1', evaluation_count: 100, condition_false_count: 100 },
    ];
    for (let drained = 0; drained < 2; drained += 1) {
      await drainOutcomes(facts.db);
      expect(await outcomes('rule, evaluation_count, condition_false_count', `rule ~ '^bulk'`)).toEqual(expected);
    }
  });

  test('are told by rule with those that wait for a drain, of today and of ever', async () => {
    await run('known', '2026-06-05T12:00:00Z', { count: 3 });
    await drainOutcomes(facts.db);
    await run('known', new Date().toISOString(), { word: 'error', count: 2 });
    await run('known', new Date().toISOString(), { word: 'action_done' });
    const known = async (when: 'today' | 'ever') =>
      (await readRuleCounts(facts.db, when)).filter(({ rule }) => rule === 'known');
    expect(await known('today')).toEqual([{ rule: 'known', tried: 2, matched: 0, failed: 2 }]);
    expect(await known('ever')).toEqual([{ rule: 'known', tried: 5, matched: 3, failed: 2 }]);
    await drainOutcomes(facts.db);
    expect(await known('today')).toEqual([{ rule: 'known', tried: 2, matched: 0, failed: 2 }]);
  });
});

test('steps count by the state in which they ended', async () => {
  for (const word of ['action_done', 'action_dry_run', 'action_skipped', 'action_failed', 'reply_unplanned']) {
    await run('tidy', '2026-06-03T12:00:00Z', { word });
  }
  await run('tidy', '2026-06-03T12:00:00Z', { word: 'action_done', count: 2 });
  await drainOutcomes(facts.db);
  expect(
    await outcomes(
      'evaluation_count as tried, action_done_count as done, action_would_count as would, action_failed_count as failed',
      `rule = 'tidy'`,
    ),
  ).toEqual([{ tried: 0, done: 3, would: 1, failed: 1 }]);
});

describe('texts', () => {
  test('count by where they ended, on the day on which they were planned, and add up', async () => {
    const at = '2026-06-10T12:00:00Z';
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
    expect(
      await outcomes(
        `local_date::text, planned_count, sent_count, would_send_count, blocked_count, blocked_by_gate, skipped_count, rejected_count,
         not_sent_count, waiting_count, unclear_count, segment_count, charged_usd::float8, unpriced_count, set_aside_usd::float8,
         would_cost_usd, evaluation_count`,
        `rule = 'reply'`,
      ),
    ).toEqual([
      {
        ...{ local_date: '2026-06-10', planned_count: 12, sent_count: 2, would_send_count: 0, blocked_count: 4 },
        ...{ blocked_by_gate: { opted_out: 2, superseded: 1, too_old: 1 }, skipped_count: 1, rejected_count: 1 },
        ...{ not_sent_count: 1, waiting_count: 1, unclear_count: 2, segment_count: 2, charged_usd: 0.0079 },
        ...{ unpriced_count: 1, set_aside_usd: 0.2, would_cost_usd: null, evaluation_count: 0 },
      },
    ]);
  });

  test('that dry-run kept back would have cost what a segment ever cost at most', async () => {
    const kept = { ...unsent, mode: 'dry-run', state: 'DENIED', reason: 'dry_run', message_type: 'sms' };
    await send('try', '2026-06-11T12:00:00Z', 31, { ...kept, units: 2 });
    await send('try', '2026-06-11T12:00:00Z', 32, { ...kept, units: 1 });
    await send('try', '2026-06-11T12:00:00Z', 33, { ...kept, units: null, reason: 'gate:budget_daily' });
    await drainOutcomes(facts.db);
    const would = () =>
      outcomes('mode, would_send_count, blocked_count, would_cost_usd::float8 as cost, sent_count', `rule = 'try'`);
    const expected = { mode: 'dry-run', would_send_count: 2, blocked_count: 1, sent_count: 0 };
    expect(await would()).toEqual([{ ...expected, cost: null }]);
    await query('update ops.send_control set highest_unit_micros = 8000');
    expect(await would()).toEqual([{ ...expected, cost: 0.024 }]);
  });

  test('that change their state are counted again, and their run once', async () => {
    await run('late', '2026-06-12T12:00:00Z');
    await send('late', '2026-06-12T12:00:00Z', 41, { state: 'UNKNOWN', settled_micros: null, reserved_micros: 50_000 });
    await drainOutcomes(facts.db);
    await change(`update ops.sends set state = 'SENT', is_reconciled = true where rule = 'late'`);
    await drainOutcomes(facts.db);
    expect(
      await outcomes('evaluation_count, planned_count, sent_count, unclear_count, unpriced_count', `rule = 'late'`),
    ).toEqual([{ evaluation_count: 1, planned_count: 1, sent_count: 1, unclear_count: 0, unpriced_count: 1 }]);
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
  const at = '2026-07-01T12:00:00Z';
  const counted = () =>
    outcomes('sent_count as sent, replied_count as replied, opted_out_count as opted_out', `rule = 'ask'`);

  test('are texts of the recipient within 24 hours, opt-outs apart, and no group thread', async () => {
    for (const conversation of [51, 52, 53, 54, 55]) await send('ask', at, conversation);
    await thread(51, [
      ['2026-07-01T11:59:00Z', 'in'],
      ['2026-07-01T12:00:01Z', 'out'],
      ['2026-07-02T12:00:00Z', 'in'],
    ]);
    await thread(52, [['2026-07-02T12:00:01Z', 'in']]);
    await thread(53, [['2026-07-01T12:05:00Z', 'in', { body: ' stop ' }]]);
    await thread(54, [['2026-07-01T12:05:00Z', 'in']], { participants_key: 'a,b' });
    await thread(55, [
      ['2026-07-01T12:05:00Z', 'in', { body: 'Yes' }],
      ['2026-07-01T12:06:00Z', 'in', { body: 'STOP' }],
    ]);
    await drainOutcomes(facts.db);
    expect(await counted()).toEqual([{ sent: 5, replied: 2, opted_out: 2 }]);
  });

  test('do not count a keyword of an opt-out, and count a text that may be none', async () => {
    const sentAt = '2026-07-05T12:00:00Z';
    const bodies = ['Stop.', 'please stop', 'STOP thanks', 'stop by at five', 'don’t text me at work'];
    for (const [at, body] of bodies.entries()) {
      await send('words', sentAt, 70 + at);
      await thread(70 + at, [['2026-07-05T12:05:00Z', 'in', { body }]]);
    }
    // As an earlier release judged it.
    await query(`update warehouse.sms_messages set opt_out_verdict = 'opt_out' where conversation_id = 73`);
    await drainOutcomes(facts.db);
    const words = () =>
      outcomes('sent_count as sent, replied_count as replied, opted_out_count as opted_out', `rule = 'words'`);
    expect(await words()).toEqual([{ sent: 5, replied: 1, opted_out: 4 }]);
    await mirror(73, [{ id: 73_000, direction: 'in', sentAt: '2026-07-05T12:05:00Z', text: bodies[3] }]);
    await drainOutcomes(facts.db);
    expect(await words()).toEqual([{ sent: 5, replied: 2, opted_out: 3 }]);
  });

  test('that are mirrored late, or deleted, are counted again', async () => {
    const known = { id: 52_000, direction: 'in', sentAt: '2026-07-02T12:00:01Z', text: 'text' };
    await mirror(52, [{ id: 1, direction: 'in', sentAt: '2026-07-01T13:00:00Z', text: 'text' }, known]);
    await drainOutcomes(facts.db);
    expect(await counted()).toMatchObject([{ replied: 3 }]);
    await mirror(52, [known]);
    await drainOutcomes(facts.db);
    expect(await counted()).toMatchObject([{ replied: 2 }]);
  });

  test('mark nothing when the text is somebody else’s', async () => {
    await mirror(60, [{ id: 60_000, direction: 'in', sentAt: '2026-07-01T12:10:00Z', text: 'text' }]);
    expect(await value('select count(*)::integer from ops.send_markers')).toBe(0);
  });
});
