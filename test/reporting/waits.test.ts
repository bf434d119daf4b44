import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call as entity } from '../../src/api-client/entities/calls.ts';
import { following } from '../../src/warehouse/what-follows.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { asRead, readNumber } from '../warehouse/reads.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query, call } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const day = '2026-03-02';
const givenUp = { status: 'missed', is_abandoned: true };

beforeAll(async () => {
  await call({ call_id: '1.1', started_at: `${day}T15:00:00Z`, duration_seconds: 100, talk_seconds: 60 });
  await call({ call_id: '1.2', started_at: `${day}T15:01:00Z`, duration_seconds: 100, talk_seconds: 100 });
  await call({ call_id: '1.3', started_at: `${day}T15:02:00Z`, duration_seconds: 100, talk_seconds: null });
  await call({ call_id: '1.4', started_at: `${day}T15:03:00Z`, duration_seconds: null, talk_seconds: 60 });
  await call({ call_id: '1.5', started_at: `${day}T15:04:00Z`, ...givenUp, duration_seconds: 96, talk_seconds: null });
  await call({ call_id: '1.6', started_at: `${day}T15:05:00Z`, ...givenUp, duration_seconds: 3, talk_seconds: 0 });
  await facts.drain();
});

test('a wait of which the service reports only a part is not known, and no wait of zero is', async () => {
  expect(
    await query(
      'select call_id, wait_seconds, wait_basis, answer_wait_seconds, outcome from reporting.fct_call order by call_id',
    ),
  ).toEqual([
    {
      call_id: '1.1',
      wait_seconds: 40,
      wait_basis: 'duration_minus_talk',
      answer_wait_seconds: 40,
      outcome: 'answered',
    },
    { call_id: '1.2', wait_seconds: 0, wait_basis: 'duration_minus_talk', answer_wait_seconds: 0, outcome: 'answered' },
    { call_id: '1.3', wait_seconds: null, wait_basis: 'unknown', answer_wait_seconds: null, outcome: 'answered' },
    { call_id: '1.4', wait_seconds: null, wait_basis: 'unknown', answer_wait_seconds: null, outcome: 'answered' },
    { call_id: '1.5', wait_seconds: null, wait_basis: 'unknown', answer_wait_seconds: null, outcome: 'abandoned' },
    {
      call_id: '1.6',
      wait_seconds: 3,
      wait_basis: 'duration_minus_talk',
      answer_wait_seconds: null,
      outcome: 'short_abandoned',
    },
  ]);
});

test('it counts neither for the speed of answer nor for the service level', async () => {
  expect(
    await query(
      `select sum(answered_count)::integer as answered, sum(answer_wait_count)::integer as waits, sum(answer_wait_seconds)::integer as waited,
         sum(answered_in_time_count)::integer as in_time, sum(abandoned_count)::integer as abandoned,
         sum(short_abandoned_count)::integer as short, max(longest_wait_seconds) as longest
       from reporting.call_hourly where local_date = $1`,
      day,
    ),
  ).toEqual([{ answered: 4, waits: 2, waited: 40, in_time: 1, abandoned: 1, short: 1, longest: 40 }]);
});

test('no telephone is said to have rung where no legs are held', async () => {
  await call({ call_id: '1.7', started_at: `${day}T15:06:00Z`, ended_at: `${day}T15:06:30Z`, ...givenUp });
  await facts.measure('1.7');
  expect(await query(`select ring_seconds, ring_basis from reporting.fct_call where call_id = '1.7'`)).toEqual([
    { ring_seconds: null, ring_basis: 'unknown' },
  ]);
});

describe('where legs are held', () => {
  const day = '2026-03-03';
  const at = (seconds: number) => new Date(Date.parse(`${day}T15:00:00Z`) + seconds * 1_000).toISOString();
  /** `[kind of called party, start in seconds from the call's, ringing, talk]`; a talk of null is not reported. */
  type LegFacts = readonly [string, number, number, number | null];

  async function callWith(id: string, values: Record<string, unknown>, legs: readonly LegFacts[]): Promise<void> {
    const length = legs.reduce((end, [, start, ring, talk]) => Math.max(end, start + ring + (talk ?? 0)), 0);
    const talked = legs.reduce((sum, [called, , , talk]) => sum + (called === 'user' ? (talk ?? 0) : 0), 0);
    await call({
      ...{ call_id: id, started_at: at(0), ended_at: at(length), duration_seconds: length, talk_seconds: talked },
      ...{ legs_fetched_at: at(600), leg_count: legs.length, ...values },
    });
    for (const [index, [called, start, ring, talk]] of legs.entries()) {
      await facts.insert('warehouse.call_legs', {
        ...{ call_id: id, leg_key: String(index), ordinal: index + 1, started_at: at(start), called_type: called },
        ...{ caller_type: legs[index - 1]?.[0] ?? 'external', talk_seconds: talk },
        ...{ duration_seconds: talk === null ? null : ring + talk },
      });
    }
    await facts.measure(id);
  }
  const waitOf = async (id: string) => {
    const [row] = await query(
      'select wait_seconds as wait, wait_basis as basis, answer_wait_seconds as answer, outcome from reporting.fct_call where call_id = $1',
      id,
    );
    return row;
  };
  const abandoned = { status: 'missed', is_abandoned: true };

  beforeAll(async () => {
    // Length less talk would be 40: the colleague's telephone rang for 30 s after the first answer.
    await callWith('2.1', { transferred_count: 1 }, [
      ['user', 0, 10, 60],
      ['user', 70, 30, 60],
    ]);
    // 20 s of menu, 15 s in the queue, 5 s of ringing.
    await callWith('2.2', {}, [
      ['ivr', 0, 0, 20],
      ['queue', 20, 15, 0],
      ['user', 35, 5, 100],
    ]);
    await callWith('2.3', {}, [
      ['queue', 0, 10, 0],
      ['user', 10, 5, null],
    ]);
    // Over into a second queue: 30 s in the first, 10 s in the second, 5 s of ringing.
    await callWith('2.4', {}, [
      ['ivr', 0, 0, 10],
      ['queue', 10, 30, 0],
      ['queue', 40, 10, 0],
      ['user', 50, 5, 60],
    ]);
    // Answered after 7 s; the queue came after that.
    await callWith('2.5', { transferred_count: 1 }, [
      ['user', 0, 7, 30],
      ['queue', 37, 50, 0],
      ['user', 87, 3, 30],
    ]);
    await callWith('2.6', abandoned, [
      ['ivr', 0, 0, 10],
      ['queue', 10, 4, 0],
    ]);
    // 12 s in the queue until the mailbox answers.
    await callWith('2.7', { status: 'voicemail', talk_seconds: 0 }, [
      ['ivr', 0, 0, 8],
      ['queue', 8, 12, 0],
      ['mailbox', 20, 0, 40],
    ]);
    // The leg that shows when the queue was entered is missing.
    await callWith('2.8', { called_type: 'queue' }, [['user', 35, 5, 100]]);
    // Of a single leg that says nothing, length less talk has neither menu nor transfer in it.
    const opaque = {
      call_id: '2.9',
      started_at: at(86_400),
      duration_seconds: 30,
      talk_seconds: 20,
      legs_fetched_at: at(0),
    };
    await call({ ...opaque, leg_count: 1 });
    await call({ ...opaque, call_id: '2.10', leg_count: 2 });
    await facts.drain();
  });

  test.each([
    ['2.1', { wait: 10, basis: 'legs', answer: 10, outcome: 'answered' }],
    ['2.2', { wait: 20, basis: 'legs', answer: 20, outcome: 'answered' }],
    ['2.3', { wait: null, basis: 'unknown', answer: null, outcome: 'answered' }],
    ['2.4', { wait: 45, basis: 'legs', answer: 45, outcome: 'answered' }],
    ['2.5', { wait: 7, basis: 'legs', answer: 7, outcome: 'answered' }],
    ['2.6', { wait: 4, basis: 'legs', answer: null, outcome: 'short_abandoned' }],
    ['2.7', { wait: 12, basis: 'legs', answer: null, outcome: 'voicemail' }],
    ['2.8', { wait: null, basis: 'unknown', answer: null, outcome: 'answered' }],
    ['2.9', { wait: 10, basis: 'duration_minus_talk', answer: 10, outcome: 'answered' }],
    ['2.10', { wait: null, basis: 'unknown', answer: null, outcome: 'answered' }],
  ])('%s waited from the entry until the first answer', async (id, expected) => {
    expect(await waitOf(id)).toEqual(expected);
  });

  const levels = () =>
    query(
      `select sum(call_count)::integer as calls, sum(answerable_count)::integer as answerable, sum(answered_count)::integer as answered,
         sum(answer_wait_unknown_count)::integer as unknown, sum(answered_in_time_count)::integer as in_time,
         sum(answer_wait_count)::integer as waits, sum(answer_wait_seconds)::integer as waited
       from reporting.call_hourly where local_date = $1`,
      day,
    );

  test('a call of unknown wait is out of the service levels, and counted beside them', async () => {
    // Within 20 s: 10, 20, 7. Known waits: 10, 20, 45, 7. One gave up at once.
    expect(await levels()).toEqual([
      { calls: 8, answerable: 7, answered: 6, unknown: 2, in_time: 3, waits: 4, waited: 82 },
    ]);
  });

  test('legs that change mark the rollups', async () => {
    await query(
      `update warehouse.call_legs set talk_seconds = 60, duration_seconds = 65 where call_id = '2.3' and ordinal = 2`,
    );
    await facts.measure('2.3');
    expect(await waitOf('2.3')).toMatchObject({ wait: 15, basis: 'legs' });
    await facts.drain();
    // Known waits: 10, 20, 15, 45, 7.
    expect(await levels()).toMatchObject([{ unknown: 1, in_time: 4, waits: 5, waited: 97 }]);
  });

  test('a call is measured as it is mirrored, and again when another read shows other legs', async () => {
    const id = '1772636400.1';
    let seq = 10;
    const mirror = (more: object) => {
      const shown = { id, direction: 'inbound', status: 'answered', calledType: 'user', startTime: at(0), ...more };
      const [read] = asRead(entity, [{ durationSeconds: 60, talkTimeSeconds: 20, ...shown }]);
      if (!read) throw new Error('no call was read');
      seq += 1;
      const reads = [{ call: read, read: readNumber(seq) }];
      return facts.db.transaction().execute((tx) => following(tx, (follow) => writeCalls(tx, follow, reads)));
    };
    const leg = (uniqueId: string, startTime: string, durationSeconds: number, talkTimeSeconds: number) => ({
      ...{ uniqueId, startTime, durationSeconds, talkTimeSeconds, calledType: 'user', calledNumber: '201' },
    });
    await mirror({});
    expect(await waitOf(id)).toMatchObject({ wait: 40, basis: 'duration_minus_talk' });
    await mirror({ legs: [leg('a', at(0), 15, 5), leg('b', at(20), 40, 15)] });
    expect(await waitOf(id)).toMatchObject({ wait: 10, basis: 'legs' });
    await facts.drain();
    await mirror({ legs: [leg('a', at(0), 13, 5), leg('b', at(20), 40, 15)] });
    expect(await waitOf(id)).toMatchObject({ wait: 8, basis: 'legs' });
    expect(await facts.value(`select count(*)::integer from ops.rollup_markers where kind = 'calls'`)).toBeGreaterThan(
      0,
    );
    await facts.drain();
  });

  test('and what does not differ marks nothing', async () => {
    await facts.measure(
      ...(await query<{ id: string }>('select call_id as id from warehouse.calls')).map(({ id }) => id),
    );
    expect(await facts.value('select count(*)::integer from ops.rollup_markers')).toBe(0);
  });
});
