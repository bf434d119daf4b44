import { afterAll, beforeAll, expect, test } from 'vitest';
import { followSearchLanguage, searchLanguage } from '../../src/reporting/search.ts';
import { trunkline } from '../credentials/commands.ts';
import { asking } from '../world/database.ts';
import { createWorld, until } from '../world.ts';
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
const follow = async (name?: string) =>
  followSearchLanguage(facts.db, name && (await searchLanguage(facts.db, name)), new AbortController().signal);
const transcript = async (id: number, text: string) => {
  await facts.call({ call_id: `18000000${id}.1`, started_at: '2026-03-01T12:00:00Z' });
  await facts.insert('warehouse.transcripts', { transcript_id: id, call_id: `18000000${id}.1` });
  const body = { segments: '[]', full_text: text, fetch_seq: 1 };
  await facts.insert('warehouse.transcript_bodies', { transcript_id: id, ...body });
};
const isChanging = () =>
  value(
    `select found_count::integer from reporting.data_quality where check_name = 'language of the search is changing'`,
  );

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
  expect(await follow('english')).toBe('changed');
  expect(await found('refund')).toEqual(['call: they **refunded** it', 'text: Where are my **refunds**?']);
  await facts.thread(3, [['2026-05-31T23:59:00Z', 'in', { body: 'Refunding takes long' }]]);
  await transcript(2, 'no refunds');
  await facts.drain();
  expect(await found('refund')).toHaveLength(4);
  expect(await query('select distinct words_language from warehouse.transcript_bodies')).toEqual([
    { words_language: 'pg_catalog.english' },
  ]);
  expect(await isChanging()).toBe(0);
  expect(await follow('english')).toBe('same');
  expect(await follow()).toBe('same');
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

test('a change that was cut off finds by either language, says so, and is finished', async () => {
  await query(`update warehouse.transcript_bodies set words_language = 'pg_catalog.simple' where transcript_id = 1`);
  await query(`update ops.search_state set previous = 'pg_catalog.simple'`);
  await query('create index sms_messages_words_old on warehouse.sms_messages (sent_at)');
  expect(await isChanging()).toBe(1);
  expect(await found('refunded')).toContain('call: they **refunded** it');
  expect(await follow()).toBe('changed');
  expect(await isChanging()).toBe(0);
  expect(await found('refund')).toContain('call: they **refunded** it');
  // The next change drops what the cut-off one left.
  expect(await follow('german')).toBe('changed');
  expect(await value(`select to_regclass('warehouse.sms_messages_words_old')`)).toBeNull();
  expect(await follow('english')).toBe('changed');
});

test('while texts are hidden, nothing is found in any language', async () => {
  await facts.params({ is_text_shown: false });
  expect(await found('refund')).toEqual([]);
  await facts.params({ is_text_shown: true });
});

test('a language that Postgres does not have is refused with one sentence, before anything starts', async () => {
  await expect(searchLanguage(facts.db, 'klingon')).rejects.toThrow(
    'SEARCH_LANGUAGE is klingon, for which Postgres has no text search configuration.',
  );
  const service = { API_BASE_URL: 'http://127.0.0.1:1', API_KEY: 'key', SEARCH_LANGUAGE: 'klingon' };
  const worker = trunkline({ DATABASE_URL: facts.url, ...service }, 'worker');
  expect(await worker.ended).toBe(1);
  expect(worker.err()).toMatch(/SEARCH_LANGUAGE is klingon, .*\n?.*Set it to one of .*english.*simple/);
});

test('a worker searches in SEARCH_LANGUAGE', async () => {
  const world = await createWorld({ backend: 'postgres', environment: { SEARCH_LANGUAGE: 'english' } });
  try {
    await world.query('update reporting.params set is_text_shown = true');
    await until(async () => (await world.value('select language from ops.search_state')) === 'pg_catalog.english');
    await world.sandbox.emit.sms({ text: 'No refunds so far' });
    await world.settled();
    expect(await world.query(`select kind, excerpt from reporting.search('refund')`)).toEqual([
      { kind: 'text', excerpt: 'No **refunds** so far' },
    ]);
  } finally {
    await world.close();
  }
});
