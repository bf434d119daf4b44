import { afterAll, beforeAll, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const found = (words: string, most: number | null = 100) =>
  query<{ kind: string; days: number }>(
    `select kind, (extract(epoch from timestamptz '2026-06-01' - happened_at) / 86400)::integer as days from reporting.search($1, $2)`,
    words,
    most,
  );

/** More texts and transcripts than are looked at one by one, none with a word that is looked for, and older ones with. */
beforeAll(async () => {
  await facts.params({ is_text_shown: true });
  await facts.thread(1, []);
  await query(`
    insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, sent_at, body, content_hash, source, fetch_seq, fetched_at)
    select 1, n, '15559990000', '15551000001', 'in', timestamptz '2026-06-01' - make_interval(mins => n), 'nothing', '', 'test', 1, now()
    from generate_series(1, 2500) n`);
  await query(`
    insert into warehouse.calls (call_id, started_at, direction, status, content_hash, source, fetch_seq, fetched_at)
    select '17' || n || '.1', timestamptz '2026-06-01' - make_interval(mins => n), 'inbound', 'answered', '', 'test', 1, now()
    from generate_series(1, 2500) n;
    insert into warehouse.transcripts (transcript_id, call_id, content_hash, source, fetch_seq, fetched_at)
    select n, '17' || n || '.1', '', 'test', 1, now() from generate_series(1, 2500) n;
    insert into warehouse.transcript_bodies (transcript_id, segments, full_text, fetch_seq)
    select n, '[]', 'nothing', 1 from generate_series(1, 2500) n`);
  for (const [at, days] of [0, 5, 20, 300, 900, 4000].entries()) {
    const moment = new Date(Date.UTC(2026, 5, 1) - days * 86_400_000 - 30_000).toISOString();
    await facts.insert('warehouse.sms_messages', {
      conversation_id: 1,
      message_id: 10_000 + at,
      line: '15559990000',
      number: '15551000001',
      direction: 'in',
      sent_at: moment,
      body: 'a rare bird',
    });
    await facts.call({ call_id: `18000000${at}.1`, started_at: moment });
    await facts.insert('warehouse.transcripts', { transcript_id: 10_000 + at, call_id: `18000000${at}.1` });
    await facts.insert('warehouse.transcript_bodies', {
      transcript_id: 10_000 + at,
      segments: '[]',
      full_text: 'the bird sang',
      fetch_seq: 1,
    });
  }
  await facts.drain();
});

test('finds words however long ago they were said and written, newest first', async () => {
  const hits = await found('bird');
  expect(hits.map(({ days }) => days)).toEqual([0, 0, 5, 5, 20, 20, 300, 300, 900, 900, 4000, 4000]);
  expect(hits.filter(({ kind }) => kind === 'call')).toHaveLength(6);
});

test('stops with as many as were asked for', async () => {
  expect((await found('bird', 3)).map(({ days }) => days)).toEqual([0, 0, 5]);
  expect(await found('rare', 2)).toEqual([
    { kind: 'text', days: 0 },
    { kind: 'text', days: 5 },
  ]);
  expect(await found('bird', null)).toHaveLength(12);
});

test('finds nothing for no words, and leaves out what was deleted', async () => {
  expect(await found('')).toEqual([]);
  await query(`update warehouse.sms_messages set deleted_at = now() where message_id = 10000`);
  expect((await found('rare')).map(({ days }) => days)).toEqual([5, 20, 300, 900, 4000]);
});

test('ranks what is shown', async () => {
  expect(await facts.value(`select bool_and(rank > 0) from reporting.search('bird')`)).toBe(true);
});
