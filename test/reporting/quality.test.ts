import { expect, test } from 'vitest';
import { factsDatabase, rowsOf } from './facts.ts';

/** Calls 1 to 3, with what was made of them; call 9 is not held. */
async function transcribed() {
  const facts = await factsDatabase();
  await facts.user(1, ['201']);
  await facts.call({ call_id: '1.1', started_at: '10:00', external_number: '15553000001' }, ['user:201 0 10 110']);
  await facts.call({ call_id: '1.2', started_at: '11:00', external_number: '15553000002' });
  await facts.call({ call_id: '1.3', started_at: '23:59:59', external_number: '15553000003' });
  const heard = { agent_name: 'Somebody heard', call_purpose: 'Billing' };
  const scored = { csat_score: 5, agent_performance_score: 80, call_sentiment: 'calm', leg_unique_id: '#1' };
  const asked = { is_action_required: true, action_required_note: 'Call back' };
  const urgent = { is_urgent_action_required: true, urgent_action_required_note: 'Now' };
  await facts.insert(
    'warehouse.transcripts',
    { transcript_id: 1, call_id: '1.1', ...heard, ...scored },
    { transcript_id: 2, call_id: '1.2', ...heard, csat_score: 0, call_sentiment: 'angry', ...asked },
    { transcript_id: 3, call_id: '1.2', ...heard, is_action_required: false, ...urgent },
    { transcript_id: 4, call_id: '1.2', ...heard, csat_score: 1, deleted_at: '03-03T00:00' },
    { transcript_id: 5, call_id: '1.3' },
    { transcript_id: 6, call_id: '1.9', csat_score: 1 },
  );
  await facts.drain();
  return facts;
}

test('fct_transcript has NULL for what was not analysed, zero as a score, and a transcript once its call is held', async () => {
  await using facts = await transcribed();
  await facts
    .expectRows(`
    select agent_name, heard_agent_name, call_purpose, call_sentiment, csat_score, agent_performance_score
    from reporting.fct_transcript order by transcript_id`)
    .toEqual([
      'User 1 | Somebody heard | Billing | calm | 5 | 80',
      '- | Somebody heard | Billing | angry | 0 | -',
      '- | Somebody heard | Billing | - | - | -',
      '- | - | - | - | - | -',
    ]);
  await facts.call({ call_id: '1.9', started_at: '03-01T12:00' });
  await facts.drain();
  await facts
    .expectRows(`select csat_score from reporting.fct_transcript where local_date = '2026-03-01'`)
    .toEqual(['1']);
});

test('fct_action has a row for each call, with what its transcripts still ask for, and the user who had the leg', async () => {
  await using facts = await transcribed();
  const { query } = facts;
  const open = () =>
    facts.expectRows(`
      select call_id, is_urgent, note, external_number, user_key, agent_name from reporting.fct_action where is_open
      order by 1`);
  await open().toEqual(['1.2 | true | - | 15553000002 | - | -']);
  await facts.params({ is_text_shown: true });
  await open().toEqual(['1.2 | true | Now\nCall back | 15553000002 | - | -']);
  await facts.params({ is_text_shown: false });
  const change = async (values: string, id: number) => {
    await query(
      `update warehouse.transcripts set ${values}, content_hash = content_hash || 'h' where transcript_id = ${id}`,
    );
    await facts.drain();
  };
  await change('is_action_required = true', 1);
  await open().toEqual(['1.1 | false | - | 15553000001 | 1 | User 1', '1.2 | true | - | 15553000002 | - | -']);
  await change('is_action_required = null', 1);
  await change('is_urgent_action_required = false', 3);
  await open().toEqual(['1.2 | false | - | 15553000002 | - | -']);
  await change('is_action_required = false', 2);
  await open().toEqual([]);
});

test('fct_action is closed by the first call or text of a user since', async () => {
  await using facts = await transcribed();
  const actions = () =>
    facts.expectRows('select call_id, is_open, followed_up_at, followed_up_by from reporting.fct_action');
  const outbound = { direction: 'outbound', external_number: '15553000002' };
  await facts.call({ call_id: '2.1', started_at: '10:59', ...outbound });
  await actions().toEqual(['1.2 | true | - | -']);
  await facts.call({ call_id: '2.2', started_at: '13:00', ...outbound });
  await facts.thread(1, [['12:00', 'out', { sent_by: 1 }]], { number: '15553000002' });
  await actions().toEqual(['1.2 | false | 2026-03-02T12:00:00Z | text']);
});

test('data_quality counts what is odd, explains every count, and knows the newest of each', async () => {
  await using facts = await transcribed();
  await facts.thread(1, [['12:00', 'in']]);
  await facts.insert(
    'warehouse.calls',
    ...rowsOf(`
      call_id started_at  duration_seconds talk_seconds status
      2.1     -           9                9            answered
      2.2     03-04T10:00 120              500          unknown`),
  );
  await facts.drain();
  await facts.call({ call_id: '2.3', started_at: '03-05T10:00' });
  await facts.mark();
  const quality = 'select check_name, found_count, counted_at from reporting.data_quality';
  expect(await facts.lines('select check_name from reporting.data_quality where meaning is null')).toEqual([]);
  expect(await facts.lines(`${quality} where area <> 'fresh'`)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^calls without a start \| 1 /),
      expect.stringMatching(/^delivery words not mapped \| 0 /),
    ]),
  );
  expect(await facts.lines(`${quality} where area = 'fresh'`)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^newest call .* 2026-03-05T10:00:00Z$/),
      expect.stringMatching(/^newest text .* 2026-03-02T12:00:00Z$/),
      expect.stringMatching(/^newest transcript .* 2026-03-02T23:59:59Z$/),
      expect.stringMatching(/^reports \| \d+ \| 2/),
      expect.stringMatching(/^changes waiting \| [1-9]\d* \| 2/),
    ]),
  );
});

test('search finds what was said and written, newest first, and only while words are shown', async () => {
  await using facts = await transcribed();
  const body = { segments: '[]', full_text: 'I want a refund for the boiler', fetch_seq: 1 };
  await facts.insert('warehouse.transcript_bodies', { transcript_id: 1, ...body });
  await facts.thread(1, [['12:00', 'out', { body: 'The refund is on its way' }]]);
  const hits = (words: string) =>
    facts.expectRows('select kind, call_id, conversation_id, excerpt from reporting.search($1)', words);
  await hits('refund').toEqual([]);
  await facts.params({ is_text_shown: true });
  const text = 'text | - | 1 | The **refund** is on its way';
  await hits('refund').toEqual([text, 'call | 1.1 | - | I want a **refund** for the boiler']);
  await hits('refund -boiler').toEqual([text]);
  await hits('"refund for"').toEqual([expect.stringMatching(/^call \| 1.1 .*\*\*refund\*\*/)]);
});
