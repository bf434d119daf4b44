import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { markDirty } from '../../src/inbox/targets.ts';
import { createWorld, until, type World } from '../world.ts';
import { placesWith, recorded } from './everywhere.ts';

const daysAgo = (days: number, seconds = 0) => new Date(Date.now() - days * 86_400_000 + seconds * 1_000).toISOString();

describe('a deployment', async () => {
  const world = await createWorld({ backend: 'postgres', workers: null });
  let retaining: World;
  const { query, value, sandbox } = world;
  const { db } = world.context.database;
  afterAll(async () => {
    await retaining?.close();
    await world.close();
  });

  const old = { line: '', number: '15557770001' };
  const oldWords = 'The walrus ate my umbrella';
  const newWords = 'The heron took my galoshes';

  /** Where old words are held, the queues' tables and stored deliveries left out. */
  const traces = async (words = oldWords) =>
    (await placesWith(world, words)).filter((place) => /^(warehouse|secrets|ops\.(?!deliveries))/.test(place));
  const transcriptWords = async () =>
    query<{ call_id: string; words: string | null; summary: string | null; extra: object | null }>(
      `select t.call_id, b.full_text as words, t.short_summary as summary, t.extra from warehouse.calls c
         join warehouse.transcripts t using (call_id) left join warehouse.transcript_bodies b using (transcript_id) order by c.started_at`,
    );
  /** The figures and times of what was mirrored, without what a read of it always moves. */
  const figures = () =>
    query(
      `select 'text' as kind, message_id::text as id, estimated_segment_count as segments, has_media, null::double precision as talk,
         (select changed_at::text from warehouse.sms_messages m where m.message_id = f.message_id) as changed_at
       from reporting.fct_sms_message f
       union all
       select 'transcript', f.transcript_id::text, t.segment_count, null, t.agent_talk_seconds, t.changed_at::text
       from reporting.fct_transcript f join warehouse.transcripts t using (transcript_id)
       order by 1, 2`,
    );
  let before: Awaited<ReturnType<typeof figures>>;

  beforeAll(async () => {
    const workers = await world.work();
    const sent = await sandbox.emit.sms({ number: old.number, text: oldWords, media: ['a.png'], sentAt: daysAgo(100) });
    old.line = sent.line;
    const thread = { line: old.line, number: old.number };
    await sandbox.emit.sms({ ...thread, text: 'STOP', sentAt: daysAgo(99) });
    await sandbox.emit.sms({
      ...thread,
      direction: 'out',
      text: `${oldWords} 😀 ${'x'.repeat(80)}`,
      sentAt: daysAgo(98),
      // A receipt comes later, and would change the text after the figures were noted.
      delivery: null,
    });
    await sandbox.emit.sms({ ...thread, text: newWords, media: ['b.png'], sentAt: daysAgo(5) });
    for (const days of [100, 45, 5]) await sandbox.emit.call({ ...recorded, startTime: daysAgo(days) });
    await world.settled();
    await until(async () => Number(await value('select count(distinct call_id) from warehouse.transcripts')) === 3);
    await world.settled();
    // Answers with fields that no column holds.
    await query(`update warehouse.sms_messages set extra = jsonb_build_object('text', body)`);
    await query(
      `update warehouse.transcripts set extra = jsonb_build_object('text', full_text)
       from warehouse.transcript_bodies b where b.transcript_id = transcripts.transcript_id`,
    );
    await workers.close(2_000);
    before = await figures();
  });

  test('keeps everything without RETENTION_DAYS, however old', async () => {
    expect(await traces()).toEqual(['warehouse.sms_messages.body', 'warehouse.sms_messages.extra']);
    expect(
      (await transcriptWords()).every(({ words, extra }) => words !== null && words !== '' && extra !== null),
    ).toBe(true);
    expect(await value(`select count(distinct owner)::integer from secrets.links where kind = 'recording'`)).toBe(3);
    expect(await value(`select count(*)::integer from secrets.links where kind = 'file'`)).toBe(2);
  });

  test('removes the content of each kind after its days, and keeps the rows with their figures', async () => {
    await query(`update ops.deliveries set received_at = now() - interval '31 days' where delivery_id % 2 = 0`);
    const { settings } = world.context;
    retaining = await createWorld({
      backend: 'postgres',
      databaseUrl: settings.databaseUrl,
      api: { url: sandbox.url, key: sandbox.apiKey },
      environment: { RETENTION_DAYS: 'texts=60, transcripts=50,recordings=30' },
    });
    await until(() => retaining.logged().includes('older than RETENTION_DAYS was removed'));
    expect(await traces()).toEqual([]);
    expect(await traces(newWords)).toEqual(['warehouse.sms_messages.body', 'warehouse.sms_messages.extra']);
    expect(await value(`select count(*)::integer from secrets.links where kind = 'file'`)).toBe(1);
    const [hundred, fortyFive, five] = Object.values(
      Object.groupBy(await transcriptWords(), ({ call_id }) => call_id),
    ).map((some) => some?.map(({ words, summary, extra }) => words !== null || summary !== null || extra !== null));
    expect(hundred?.every((has) => !has)).toBe(true);
    expect([...(fortyFive ?? []), ...(five ?? [])].every((has) => has)).toBe(true);
    expect(await value(`select count(distinct owner)::integer from secrets.links where kind = 'recording'`)).toBe(1);
    expect(
      await value('select count(*)::integer from ops.deliveries where received_at < now() - $1::interval', '30 days'),
    ).toBe(0);
    expect(await value('select count(*) > 0 from ops.deliveries')).toBe(true);
    expect(await figures()).toEqual(before);
    expect(await query('select opt_out_verdict from warehouse.sms_messages order by sent_at')).toEqual(
      ['none', 'opt_out', null, 'none'].map((opt_out_verdict) => ({ opt_out_verdict })),
    );
  });

  test('does not bring it back by any later read', async () => {
    const seqs = () =>
      query<{ seq: string }>(
        `select fetch_seq::text as seq from warehouse.sms_conversations union all select fetch_seq::text from warehouse.transcripts
         union all select fetch_seq::text from warehouse.recordings`,
      );
    const readBefore = new Set((await seqs()).map(({ seq }) => seq));
    await query('update warehouse.sms_conversations set is_reread_owed = true');
    const targets = await query<{ kind: 'call'; key: string }>('select kind, key from ops.sync_targets');
    retaining.context.notifier.notify(await markDirty(db, targets, { activeMs: 0, refusedMs: 0 }));
    await retaining.settled();
    expect((await seqs()).filter(({ seq }) => readBefore.has(seq))).toEqual([]);
    expect(await traces()).toEqual([]);
    expect(await value(`select count(*)::integer from secrets.links where kind = 'file'`)).toBe(1);
    expect(await value(`select count(distinct owner)::integer from secrets.links where kind = 'recording'`)).toBe(1);
    expect((await transcriptWords())[0]).toMatchObject({ words: null, summary: null, extra: null });
    expect(await figures()).toEqual(before);
  });

  test('stores only the figures of what it first reads when it is too old', async () => {
    const text = 'An otter {in} a bathtub';
    await sandbox.emit.sms({ ...old, text, direction: 'out', media: [], sentAt: daysAgo(70), delivery: null });
    const call = await sandbox.emit.call({ ...recorded, startTime: daysAgo(70) });
    await until(
      async () =>
        (await value('select count(*)::integer from warehouse.transcripts where call_id = $1', call.id)) !== 0,
    );
    await until(
      async () => (await value('select count(*)::integer from warehouse.recordings where call_id = $1', call.id)) !== 0,
    );
    await until(
      async () =>
        (await value(`select count(*)::integer from warehouse.sms_messages where body_length = $1`, text.length)) === 1,
    );
    await retaining.settled();
    expect(await traces(text)).toEqual([]);
    expect(
      await query('select estimated_segment_count from reporting.fct_sms_message order by sent_at offset 3 limit 1'),
    ).toEqual([{ estimated_segment_count: 1 }]);
    const [read] = await query<{ words: number; segments: number }>(
      `select (select count(*)::integer from warehouse.transcript_bodies b where b.transcript_id = t.transcript_id) + num_nonnulls(short_summary, csat_note) as words,
         segment_count as segments from warehouse.transcripts t where call_id = $1`,
      call.id,
    );
    expect(read?.words).toBe(0);
    expect(read?.segments).toBeGreaterThan(0);
    expect(await value('select count(*)::integer from secrets.links where owner = $1', call.id)).toBe(0);
  });
});
