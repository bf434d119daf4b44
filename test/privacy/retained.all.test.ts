import { afterAll, expect, test } from 'vitest';
import { markDirty } from '../../src/inbox/targets.ts';
import { drainRollups } from '../../src/reporting/rollups.ts';
import { createWorld, until } from '../world.ts';
import { placesWith, recorded } from './everywhere.ts';

/* A deployment before and after RETENTION_DAYS is set; what a round removes of each table is in `retention.test.ts`. */

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

const world = await createWorld({ backend: 'postgres', workers: null });
const { query, value, sandbox } = world;
afterAll(() => world.close());

const oldWords = 'The walrus ate my umbrella';
const newWords = 'The heron took my galoshes';
const heldTexts = ['warehouse.sms_messages.body', 'warehouse.sms_messages.extra'];

/** Where words are held, the queues' tables and stored deliveries left out. */
const traces = async (words = oldWords) =>
  (await placesWith(world, words)).filter((place) => /^(warehouse|secrets|ops\.(?!deliveries))/.test(place));

/** The figures and times of what was mirrored, without what a read of it always moves. */
const figures = () =>
  query(
    `select 'text' as kind, message_id::text as id, estimated_segment_count as segments, has_media, null::double precision as talk,
       (select changed_at::text from warehouse.sms_messages m where m.message_id = f.message_id) as changed_at, null as opt_out
     from reporting.fct_sms_message f
     union all select 'transcript', f.transcript_id::text, t.segment_count, null, t.agent_talk_seconds, t.changed_at::text, null
     from reporting.fct_transcript f join warehouse.transcripts t using (transcript_id)
     union all select 'verdict', message_id::text, null, null, null, null, opt_out_verdict from warehouse.sms_messages
     order by 1, 2`,
  );

/** Calls with words, from the oldest; then how many files and calls with recordings have links. */
const held = async () => {
  const calls = await query<{ has: boolean }>(
    `select bool_or(b.full_text is not null or t.short_summary is not null or t.extra is not null) as has from warehouse.calls c
     join warehouse.transcripts t using (call_id) left join warehouse.transcript_bodies b using (transcript_id)
     group by c.call_id, c.started_at order by c.started_at`,
  );
  const links = (kind: string) =>
    value('select count(distinct case kind when $1 then owner end)::integer from secrets.links', kind);
  return { words: calls.map(({ has }) => has), files: await links('file'), recordings: await links('recording') };
};

async function live(): Promise<{ line: string; number: string }> {
  const number = '15557770001';
  const workers = await world.work();
  const { line } = await sandbox.emit.sms({ number, text: oldWords, media: ['a.png'], sentAt: daysAgo(100) });
  const thread = { line, number };
  await sandbox.emit.sms({ ...thread, text: 'STOP', sentAt: daysAgo(99) });
  // A receipt comes later, and would change the text after the figures were noted.
  const long = { text: `${oldWords} 😀 ${'x'.repeat(80)}`, delivery: null };
  await sandbox.emit.sms({ ...thread, ...long, direction: 'out', sentAt: daysAgo(98) });
  await sandbox.emit.sms({ ...thread, text: newWords, media: ['b.png'], sentAt: daysAgo(5) });
  for (const days of [100, 45, 5]) await sandbox.emit.call({ ...recorded, startTime: daysAgo(days) });
  await world.settled();
  await until(async () => {
    await query('update ops.sync_targets set due_at = now() where dirty_version > clean_version');
    return (await value(`select count(*)::integer from warehouse.calls where transcripts_state = 'complete'`)) === 3;
  });
  await world.settled();
  // Answers with fields that no column holds.
  await query(`update warehouse.sms_messages set extra = jsonb_build_object('text', body)`);
  await query(
    `update warehouse.transcripts set extra = jsonb_build_object('text', full_text)
     from warehouse.transcript_bodies b where b.transcript_id = transcripts.transcript_id`,
  );
  await query(`update ops.deliveries set received_at = now() - interval '31 days' where delivery_id % 2 = 0`);
  await workers.close(2_000);
  await drainRollups(world.context.database.db);
  return thread;
}

test('content goes after its days, its rows keep their figures, and no read brings it back or adds what is too old', async () => {
  const thread = await live();
  const before = await figures();
  expect(await traces()).toEqual(heldTexts);
  expect(await held()).toEqual({ words: [true, true, true], files: 2, recordings: 3 });

  const retaining = await createWorld({
    backend: 'postgres',
    databaseUrl: world.context.settings.databaseUrl,
    api: { url: sandbox.url, key: sandbox.apiKey },
    environment: { RETENTION_DAYS: 'texts=60, transcripts=50,recordings=30' },
  });
  try {
    await until(() => retaining.logged().includes('older than RETENTION_DAYS was removed'));
    const isAsRetained = async () => {
      expect(await traces()).toEqual([]);
      expect(await traces(newWords)).toEqual(heldTexts);
      expect(await held()).toEqual({ words: [false, true, true], files: 1, recordings: 1 });
      expect(await figures()).toEqual(before);
    };
    await isAsRetained();
    const received = await query(
      `select count(*) > 0 as any, min(received_at) > now() - interval '30 days' as young from ops.deliveries`,
    );
    expect(received).toEqual([{ any: true, young: true }]);

    const seqs = () =>
      query<{ seq: string }>(
        `select fetch_seq::text as seq from warehouse.sms_conversations union all select fetch_seq::text from warehouse.transcripts
         union all select fetch_seq::text from warehouse.recordings`,
      );
    const readBefore = new Set((await seqs()).map(({ seq }) => seq));
    await query('update warehouse.sms_conversations set is_reread_owed = true');
    const targets = await query<{ kind: 'call'; key: string }>('select kind, key from ops.sync_targets');
    const { database, notifier } = retaining.context;
    notifier.notify(await markDirty(database.db, targets));
    await retaining.settled();
    expect((await seqs()).filter(({ seq }) => readBefore.has(seq))).toEqual([]);
    await isAsRetained();

    // Of what is first read when it is too old, only the figures are stored.
    const text = 'An otter {in} a bathtub';
    await sandbox.emit.sms({ ...thread, text, direction: 'out', media: [], sentAt: daysAgo(70), delivery: null });
    const { id } = await sandbox.emit.call({ ...recorded, startTime: daysAgo(70) });
    const counts = `select (select count(*) from warehouse.transcripts where call_id = $1) > 0
      and (select count(*) from warehouse.recordings where call_id = $1) > 0
      and exists (select from warehouse.sms_messages where body_length = $2)`;
    await until(async () => (await value(counts, id, text.length)) === true);
    await retaining.settled();
    expect(await traces(text)).toEqual([]);
    const segments = `select estimated_segment_count from reporting.fct_sms_message order by sent_at offset 3 limit 1`;
    expect(await value(segments)).toBe(1);
    const read = await query(
      `select (select count(*)::integer from warehouse.transcript_bodies b where b.transcript_id = t.transcript_id)
         + num_nonnulls(short_summary, csat_note) as words, segment_count > 0 as has_segments from warehouse.transcripts t where call_id = $1`,
      id,
    );
    expect(read.length).toBeGreaterThan(0);
    expect(read).toEqual(read.map(() => ({ words: 0, has_segments: true })));
    expect(await value('select count(*)::integer from secrets.links where owner = $1', id)).toBe(0);
  } finally {
    await retaining.close();
  }
});
