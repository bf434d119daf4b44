import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditQuality } from '../../src/reporting/audits.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, lines, query, insert } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const transcript = (id: number, callId: string, values = {}) =>
  insert('warehouse.transcripts', { transcript_id: id, call_id: callId, ...values });
const [first, second, third] = ['1700000001.1', '1700000002.1', '1700000003.1'];

beforeAll(async () => {
  await facts.user(1, ['201']);
  await call({
    call_id: first,
    started_at: '2026-03-02T10:00:00Z',
    ended_at: '2026-03-02T10:02:00Z',
    external_number: '15553000001',
  });
  await call({ call_id: second, started_at: '2026-03-02T11:00:00Z', external_number: '15553000002' });
  await call({
    call_id: third,
    started_at: '2026-03-02T23:59:59Z',
    ended_at: '2026-03-03T00:01:00Z',
    external_number: '15553000003',
  });
  await insert('warehouse.call_legs', {
    call_id: first,
    leg_key: '1700000001.7',
    ordinal: 1,
    unique_id: '1700000001.7',
    called_type: 'user',
    called_number: '201',
  });
  const heard = { agent_name: 'Somebody heard', call_purpose: 'Billing' };
  await transcript(1, first, {
    ...heard,
    leg_unique_id: '1700000001.7',
    leg_pairing: 'exact',
    csat_score: 5,
    agent_performance_score: 80,
    call_sentiment: 'calm',
    agent_talk_seconds: 30,
    customer_talk_seconds: 10,
  });
  await transcript(2, second, {
    ...heard,
    csat_score: 0,
    call_sentiment: 'angry',
    is_action_required: true,
    action_required_note: 'Call back',
  });
  await transcript(3, second, {
    ...heard,
    is_action_required: false,
    is_urgent_action_required: true,
    urgent_action_required_note: 'Now',
  });
  await transcript(4, second, { ...heard, csat_score: 1, deleted_at: '2026-03-03T00:00:00Z' });
  await transcript(5, third, {});
  await transcript(6, '1700000099.1', { csat_score: 1 });
  await facts.drain();
});

test('fct_transcript has NULL for what was not analysed, and zero as a score', async () => {
  expect(
    await lines(
      `select agent_name, heard_agent_name as heard, call_purpose as purpose, call_sentiment as sentiment, csat_score as csat,
         agent_performance_score as performance, is_action_required as action, is_urgent_action_required as urgent
       from reporting.fct_transcript where local_date = '2026-03-02' order by transcript_id`,
    ),
  ).toEqual([
    'User 1 | Somebody heard | Billing | calm | 5 | 80 | - | -',
    '- | Somebody heard | Billing | angry | 0 | - | true | -',
    '- | Somebody heard | Billing | - | - | - | false | true',
    '- | - | - | - | - | - | - | -',
  ]);
});

test('a transcript counts on the day of its call once that is held', async () => {
  await call({ call_id: '1700000099.1', started_at: '2026-03-01T12:00:00Z' });
  await facts.drain();
  expect(await query(`select csat_score from reporting.fct_transcript where local_date = '2026-03-01'`)).toEqual([
    { csat_score: 1 },
  ]);
});

describe('fct_action', () => {
  const columns = `call_id as call, transcript_id::integer as id, is_urgent, note, external_number as number,
    user_key::integer as user_id, agent_name`;
  const backlog = () => query(`select ${columns} from reporting.fct_action where is_open order by 1`);
  const actions = () =>
    query('select call_id as call, is_open, followed_up_at as at, followed_up_by as by from reporting.fct_action');

  test('has a row for each call, however many of its transcripts ask for something', async () => {
    expect((await backlog()).map(({ note }) => note)).toEqual([null]);
    await facts.params({ is_text_shown: true });
    expect(await backlog()).toEqual([
      {
        ...{ call: second, id: 3, is_urgent: true, note: 'Now\nCall back', number: '15553000002' },
        ...{ user_id: null, agent_name: null },
      },
    ]);
    await facts.params({ is_text_shown: false });
    expect(await actions()).toEqual([{ call: second, is_open: true, at: null, by: null }]);
  });

  test('names the user who had the leg', async () => {
    await query(
      `update warehouse.transcripts set is_action_required = true, content_hash = 'asked' where transcript_id = 1`,
    );
    await facts.drain();
    expect(await backlog()).toMatchObject([
      { call: first, user_id: 1, agent_name: 'User 1' },
      { call: second, user_id: null, agent_name: null },
    ]);
    await query(
      `update warehouse.transcripts set is_action_required = null, content_hash = 'h' where transcript_id = 1`,
    );
    await facts.drain();
  });

  test('loses the call after the first call or text of a user since', async () => {
    await call({
      call_id: '1700000050.1',
      started_at: '2026-03-02T10:59:00Z',
      direction: 'outbound',
      external_number: '15553000002',
    });
    expect(await backlog()).toHaveLength(1);
    await call({
      call_id: '1700000051.1',
      started_at: '2026-03-02T13:00:00Z',
      direction: 'outbound',
      external_number: '15553000002',
    });
    await facts.thread(1, [['2026-03-02T12:00:00Z', 'out', { sent_by: 1 }]], { number: '15553000002' });
    expect(await backlog()).toEqual([]);
    expect(await actions()).toEqual([
      { call: second, is_open: false, at: new Date('2026-03-02T12:00:00Z'), by: 'text' },
    ]);
  });

  test('goes on with what is still asked for', async () => {
    const asking = () => query('select transcript_id::integer as id, is_urgent from reporting.fct_action');
    await query(
      `update warehouse.transcripts set is_urgent_action_required = false, content_hash = 'new' where transcript_id = 3`,
    );
    await facts.drain();
    expect(await asking()).toEqual([{ id: 2, is_urgent: false }]);
    await query(
      `update warehouse.transcripts set is_action_required = false, content_hash = 'new' where transcript_id = 2`,
    );
    await facts.drain();
    expect(await asking()).toEqual([]);
  });
});

describe('data_quality', () => {
  const found = async () =>
    Object.fromEntries(
      (
        await query<{ check_name: string; found_count: number }>(
          'select check_name, found_count::integer from reporting.data_quality',
        )
      ).map((row) => [row.check_name, row.found_count]),
    );

  test('counts what is odd', async () => {
    await transcript(20, '1700000777.1');
    await insert('warehouse.recordings', { call_id: '1700000777.1', unique_id: '1' });
    await call({ call_id: '1700000060.1', started_at: null });
    await call({ call_id: '1700000061.1', started_at: '2026-03-04T10:00:00Z', talk_seconds: 500, status: 'unknown' });
    await facts.drain();
    await auditQuality(facts.db);
    expect(await found()).toMatchObject({
      'calls without a start': 1,
      'talk longer than the call': 1,
      'transcripts without their call': 1,
      'recordings without their call': 1,
      'legs without their call': 0,
      'outcomes not reported': 1,
      'changes waiting': 0,
      'delivery words not mapped': 0,
    });
  });

  test('explains every count', async () => {
    expect(await query('select check_name from reporting.data_quality where meaning is null')).toEqual([]);
  });
});

test('search finds what was said and written, newest first, and only while words are shown', async () => {
  await insert('warehouse.transcript_bodies', {
    transcript_id: 1,
    segments: '[]',
    full_text: 'I want a refund for the boiler',
    fetch_seq: 1,
  });
  await query(`update warehouse.sms_messages set body = 'The refund is on its way' where conversation_id = 1`);
  const hits = (words: string) =>
    query('select kind, call_id, conversation_id::integer as thread, excerpt from reporting.search($1)', words);
  expect(await hits('refund')).toEqual([]);
  await facts.params({ is_text_shown: true });
  expect(await hits('refund')).toEqual([
    { kind: 'text', call_id: null, thread: 1, excerpt: 'The **refund** is on its way' },
    { kind: 'call', call_id: first, thread: null, excerpt: 'I want a **refund** for the boiler' },
  ]);
  expect(await hits('refund -boiler')).toHaveLength(1);
  expect(await hits('"refund for"')).toEqual([
    { kind: 'call', call_id: first, thread: null, excerpt: expect.stringContaining('**refund**') },
  ]);
});

test('data_quality knows the newest of each, and what the totals lack', async () => {
  await call({ call_id: '1700000070.1', started_at: '2026-03-05T10:00:00Z' });
  await facts.mark();
  const fresh = await query<{ check_name: string }>(
    `select check_name, counted_at, found_count::integer as found from reporting.data_quality where area = 'fresh'`,
  );
  expect(Object.fromEntries(fresh.map(({ check_name, ...each }) => [check_name, each]))).toMatchObject({
    'newest call': { counted_at: new Date('2026-03-05T10:00:00Z') },
    'newest text': { counted_at: new Date('2026-03-02T12:00:00Z') },
    'newest transcript': { counted_at: new Date('2026-03-02T23:59:59Z') },
    reports: { counted_at: expect.any(Date), found: expect.any(Number) },
    'changes waiting': { counted_at: expect.any(Date), found: expect.any(Number) },
  });
});
