import { afterAll, beforeAll, expect, test } from 'vitest';
import { setSearchLanguage } from '../../src/reporting/search.ts';
import { runInProcess } from '../cli/in-process.ts';
import { asking } from '../world/database.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const found = async (words: string) =>
  (
    await query<{ kind: string; excerpt: string }>(
      'select kind, excerpt from reporting.search($1) order by kind',
      words,
    )
  ).map(({ kind, excerpt }) => `${kind}: ${excerpt}`);
const transcript = async (id: number, text: string) => {
  await facts.call({ call_id: `18000000${id}.1`, started_at: '2026-03-01T12:00:00Z' });
  await facts.insert('warehouse.transcripts', { transcript_id: id, call_id: `18000000${id}.1` });
  const body = { segments: '[]', full_text: text, fetch_seq: 1 };
  await facts.insert('warehouse.transcript_bodies', { transcript_id: id, ...body });
};
/** More texts than are looked at one by one, before and after the one that is looked for. */
beforeAll(async () => {
  await facts.params({ is_text_shown: true });
  await facts.thread(1, []);
  await query(`
    insert into warehouse.sms_messages (conversation_id, message_id, line, number, direction, sent_at, body, content_hash, source, fetch_seq, fetched_at)
    select 1, n, '15559990000', '15551000001', 'in', timestamptz '2026-06-01' - make_interval(mins => n * 20), 'nothing of note', '', 'test', 1, now()
    from generate_series(1, 8000) n`);
  await facts.thread(2, [['2026-03-15T12:00:00Z', 'in', { body: 'Where are my refunds?' }]]);
  await transcript(1, 'they refunded it');
  await facts.drain();
});

test('words are found as they were written, while no language is set', async () => {
  expect(await found('refund')).toEqual([]);
  expect(await found('refunds')).toEqual(['text: Where are my **refunds**?']);
});

test('in a language, other forms of a word are found in what is held and in what comes', async () => {
  expect(await setSearchLanguage(facts.db, 'english')).toBe(true);
  expect(await found('refund')).toEqual(['call: they **refunded** it', 'text: Where are my **refunds**?']);
  await facts.thread(3, [['2026-05-31T23:59:00Z', 'in', { body: 'Refunding takes long' }]]);
  await transcript(2, 'no refunds');
  await facts.drain();
  expect(await found('refund')).toHaveLength(4);
  expect(await query('select distinct words_language from warehouse.transcript_bodies')).toEqual([
    { words_language: 'pg_catalog.english' },
  ]);
  expect(await setSearchLanguage(facts.db, 'english')).toBe(false);
});

test('the search uses the index of the language, and no other is left', async () => {
  expect(
    await query(`select indexname from pg_indexes where indexdef like '%to_tsvector%' and schemaname = 'warehouse'`),
  ).toEqual([{ indexname: 'sms_messages_words' }]);
  const scans = () =>
    facts.db.connection().execute(async (connection) => {
      const own = asking(connection);
      const count = async () => {
        await own.query('select pg_stat_force_next_flush()');
        await own.query('select pg_stat_clear_snapshot()');
        return own.query<{ name: string; scans: number }>(
          `select indexrelname as name, idx_scan::integer as scans from pg_stat_user_indexes
           where indexrelname in ('sms_messages_words', 'transcript_bodies_words') order by 1`,
        );
      };
      await own.query('analyze warehouse.sms_messages');
      const before = await count();
      await own.query(`select * from reporting.search('refund')`);
      const after = await count();
      return after.map(({ scans: held }, at) => held - (before[at]?.scans ?? 0));
    });
  const [texts = 0] = await scans();
  expect(texts).toBeGreaterThan(0);
});

test('while texts are hidden, nothing is found in any language', async () => {
  await facts.params({ is_text_shown: false });
  expect(await found('refund')).toEqual([]);
  await facts.params({ is_text_shown: true });
});

test('`migrate` sets SEARCH_LANGUAGE, and refuses with one sentence what Postgres does not have', async () => {
  const migrate = (language: string) => runInProcess({ DATABASE_URL: facts.url, SEARCH_LANGUAGE: language }, 'migrate');
  expect(await migrate('german')).toMatchObject({ code: 0 });
  expect(await value('select language from ops.search_state')).toBe('pg_catalog.german');
  const { code, err } = await migrate('klingon');
  expect(code).toBe(1);
  expect(err).toMatch(/SEARCH_LANGUAGE is klingon, .*\n?.*Set it to one of .*english.*simple/);
});
