import { Client } from 'pg';
import { expect, test } from 'vitest';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { openDatabase } from '../world/database.ts';
import { factsDatabase } from './facts.ts';
import { ruleFacts } from './rule-facts.ts';

const missed = { status: 'missed', talk_seconds: 0, duration_seconds: 30 };
const number = (at: number | string) => `1555200${String(at).padStart(4, '0')}`;
const openOrDone = `case when is_unreturned then 'open' else 'done' end`;
const words: Readonly<Record<string, object>> = {
  'in vain': missed,
  blocked: { is_blocked: true },
  deleted: { deleted_at: '03-03T00:00' },
};

/** A database of its own. The missed call of caller 5 has the id `1.5`. */
async function desk() {
  const facts = await factsDatabase();
  let last = 0;
  const text = (sent_at: string, who: string, values: object) =>
    facts.insert('warehouse.sms_messages', {
      ...{ conversation_id: 500 + Number(who), message_id: last, line: '15559990000', number: number(who) },
      ...{ sent_at, direction: 'out', body: 'text', ...values },
    });
  /** `15:00 5 missed, 15:05 5 out in vain`: when, with whom, and a call, a `text` of user 7, or one with an `api` key. */
  async function happen(events: string): Promise<void> {
    for (const event of events.split(',')) {
      const [at = '', who = '', what, ...word] = event.trim().split(' ');
      last += 1;
      const values = { started_at: at, external_number: number(who), ...words[word.join(' ')] };
      if (what === 'missed') await facts.call({ call_id: `1.${who}`, ...missed, ...values });
      else if (what === 'in' || what === 'out')
        await facts.call({ call_id: `2.${last}`, direction: `${what}bound`, ...values });
      else await text(at, who, { sent_by: what === 'text' ? 7 : null, ...words[word.join(' ')] });
    }
  }
  /** A line for each missed call: caller, way, minutes, and what else is asked for. */
  async function returns(more = openOrDone): Promise<string[]> {
    await facts.drain();
    return facts.lines(`
      select concat_ws(' ', right(external_number, 2), coalesce(returned_by, '-'), coalesce(minutes_to_return::integer::text, '-'), ${more})
      from reporting.missed_calls where call_id ~ '^1' order by external_number`);
  }
  const followUps = () =>
    facts.lines(`
      select concat_ws(' ', followed_up_by, to_char(followed_up_at at time zone 'UTC', 'HH24:MI')) from reporting.fct_action
      order by external_number`);
  return { ...facts, text, happen, returns, followUps, lastText: () => last };
}

test('missed_calls has the first way in which somebody got in touch, and follows what happens later', async () => {
  await using facts = await desk();
  const { happen, query, returns, value } = facts;
  for (const who of [1, 2, 3, 4, 5, 6, 7, 8, 9]) await happen(`15:00 ${who} missed`);
  // By the service's word, of a call that is held, and of one that is not.
  await query(`update warehouse.calls set called_back_call_id = '3.1', status = 'voicemail' where call_id = '1.1'`);
  await facts.call({ call_id: '3.1', started_at: '15:30', direction: 'outbound', external_number: number(77) });
  await query(`update warehouse.calls set called_back_call_id = '3.2' where call_id = '1.7'`);
  await happen('16:00 2 out in vain, 17:00 2 out, 15:10 3 in, 15:05 4 text blocked, 15:06 4 text, 18:00 4 out');
  // Before, and too late.
  await happen('14:59:59 5 out, 03-09T15:00:01 5 out, 03-09T15:00:01 5 text');
  await happen('15:20 6 in in vain, 15:20 8 out deleted');
  // Nobody to return these to.
  await facts.call({ ...missed, call_id: '1.10', started_at: '15:00', external_number: null });
  await facts.call({ ...missed, call_id: '1.11', started_at: '15:00', is_internal: true });
  expect(await returns(`${openOrDone}, outcome`)).toEqual([
    '01 called_back 30 done voicemail',
    '02 outbound_call 60 done missed',
    '03 caller_got_through 10 done missed',
    '04 text 6 done missed',
    '05 - - open missed',
    '06 - - open missed',
    '07 called_back - done missed',
    '08 - - open missed',
    '09 - - open missed',
  ]);
  expect(await value('select count(*)::integer from reporting.missed_calls')).toBe(10);

  await facts.call({ call_id: '3.2', started_at: '15:45', direction: 'outbound', external_number: number(70) });
  await happen('15:30 2 text');
  expect((await returns()).filter((line) => /^0[27]/.test(line))).toEqual([
    '02 text 30 done',
    '07 called_back 45 done',
  ]);
  await query(`update warehouse.sms_messages set deleted_at = now() where number = $1`, number(2));
  expect((await returns())[1]).toBe('02 outbound_call 60 done');
  await query(
    `update warehouse.calls set external_number = $2, content_hash = 'new' where direction = 'outbound' and external_number = $1`,
    number(2),
    number(9),
  );
  await query(`update warehouse.calls set status = 'answered', content_hash = 'new' where call_id = '1.6'`);
  const after = await returns();
  expect([after[1], after[7], after.length]).toEqual(['02 - - open', '09 outbound_call 60 done', 8]);

  const asked = () =>
    value(`select found_count::integer from reporting.data_quality where check_name like 'definitions changed%'`);
  await facts.params({ callback_window: '30 minutes' });
  expect(await asked()).toBe(1);
  await rebuildRollups(facts.db);
  expect((await returns()).filter((line) => /^0[49]/.test(line))).toEqual(['04 text 6 done', '09 - - open']);
  expect(await asked()).toBe(0);
});

test('a text to a group reaches each of its members, until it is deleted', async () => {
  await using facts = await desk();
  await facts.happen('15:00 5 missed, 15:00 6 missed, 15:00 8 missed, 15:00 9 missed');
  const members = [number(5), number(6), number(9)];
  await facts.thread(600, [], { number: number(5), participants_key: members.join(',') });
  await facts.query('update warehouse.sms_conversations set participants = $1', members);
  await facts.text('15:40', '5', { conversation_id: 600, sent_by: 7 });
  await facts.insert('warehouse.transcripts', { transcript_id: 9, call_id: '1.9', is_action_required: true });
  expect(await facts.returns()).toEqual(['05 text 40 done', '06 text 40 done', '08 - - open', '09 text 40 done']);
  expect(await facts.followUps()).toEqual(['text 15:40']);
  await facts.query('update warehouse.sms_messages set deleted_at = now()');
  expect(await facts.returns()).toEqual(['05 - - open', '06 - - open', '08 - - open', '09 - - open']);
  expect(await facts.followUps()).toEqual(['']);
});

test('how soon a call is returned ends with the next business day, and business time stands still while closed', async () => {
  await using facts = await desk();
  // Friday half past four; returned in vain within an hour and on Monday, and on Tuesday, when the caller answers.
  await facts.happen(
    '03-06T16:30 1 missed, 03-06T17:30 1 out in vain, 03-06T16:30 2 missed, 03-09T09:10 2 out in vain',
  );
  await facts.happen('03-06T16:30 3 missed, 03-10T09:10 3 out, 03-06T16:30 4 missed, 03-06T18:00 4 out');
  // Saturday; Friday evening to Monday; Friday evening.
  await facts.happen('03-07T12:00 5 missed, 03-07T12:10 5 out, 03-06T18:00 6 missed, 03-09T09:30 6 out');
  await facts.happen('03-06T18:00 7 missed, 03-06T18:30 7 out');
  const spans = async () => {
    const more = `returned_within, coalesce(business_minutes_to_return::integer::text, 'none'), reached_at is not null`;
    return (await facts.returns(more)).map((line) => line.replace(/^(\d+) \w+ \d+/, '$1'));
  };
  expect(await spans()).toEqual([
    '01 1 hour 30 f',
    '02 1 business day 40 f',
    '03 later 520 t',
    '04 4 hours 30 t',
    '05 1 hour none t',
    '06 1 business day 30 t',
    '07 1 hour none t',
  ]);
  const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'].map((day) => `${day}: 09:00-17:00`).join(', ');
  expect(await facts.hours(`business_hours: { ${days}, holidays: [2026-03-09] }`, 'UTC')).toBe('recounted');
  await facts.drain();
  expect((await spans())[2]).toBe('03 1 business day 40 t');
});

/**
 * Five missed calls that ask for something. 21 was texted with an API key and 22 in the name of a user, both by a rule;
 * 23 by an integration, and 24 by a user.
 */
async function textedDesk() {
  const facts = await desk();
  const { send } = ruleFacts(facts);
  const rule = async (time: string, who: number, what = 'api') => {
    await facts.happen(`${time} ${who} ${what}`);
    await send('callback', time, 0, { number: number(who), message_id: facts.lastText() });
  };
  for (const who of [21, 22, 23, 24, 25]) {
    await facts.happen(`15:00 ${who} missed`);
    await facts.insert('warehouse.transcripts', { transcript_id: who, call_id: `1.${who}`, is_action_required: true });
  }
  await rule('15:01', 21);
  await rule('15:01', 22, 'text');
  await facts.happen('15:01 23 api, 15:01 24 text');
  const time = (moment: string) => `coalesce(to_char(${moment} at time zone 'UTC', 'HH24:MI'), '-')`;
  const ways = () => facts.returns(`${openOrDone}, 'texted', ${time('texted_at')}`);
  return { ...facts, rule, ways };
}

test('a text of a rule, known by its message id, and one of an unknown sender return no call', async () => {
  await using facts = await textedDesk();
  expect(await facts.ways()).toEqual([
    '21 automatic_text - open texted 15:01',
    '22 automatic_text - open texted 15:01',
    '23 text_by_unknown - open texted 15:01',
    '24 text 1 done texted -',
    '25 - - open texted -',
  ]);
  expect(await facts.followUps()).toEqual(['automatic_text', 'automatic_text', 'text_by_unknown', 'text 15:01', '']);
  await drainOutcomes(facts.db);
  await facts
    .expectRows(`
    select o.rule, o.sent_count, count(*) as texts, min(m.number) as first
    from reporting.rule_outcomes o join reporting.fct_sms_message m using (rule, local_date) group by 1, 2`)
    .toEqual([`callback | 2 | 2 | ${number(21)}`]);
  expect(await facts.value('select count(*)::integer from reporting.fct_sms_message where rule is null')).toBe(2);
});

test('a text of a rule stays known once a person returned the call, until it is deleted', async () => {
  await using facts = await textedDesk();
  await facts.happen('16:00 21 out, 16:00 23 out, 15:31 22 text');
  // A user did first, and a rule afterwards.
  await facts.rule('17:00', 24);
  expect((await facts.ways()).slice(0, 4)).toEqual([
    '21 outbound_call 60 done texted 15:01',
    '22 text 31 done texted 15:01',
    '23 outbound_call 60 done texted 15:01',
    '24 text 1 done texted 17:00',
  ]);
  expect((await facts.followUps())[0]).toBe('outbound_call 16:00');
  await facts.query(`update warehouse.sms_messages set deleted_at = now() where sent_at = '2026-03-02T17:00Z'`);
  await facts.query(`update warehouse.calls set deleted_at = now() where direction = 'outbound'`);
  const after = await facts.ways();
  expect(after[0]).toBe('21 automatic_text - open texted 15:01');
  expect(after[3]).toBe('24 text 1 done texted -');
});

test('a text that turns out to be of a rule is no return from then on; a voicemail that a rule answered waits', async () => {
  await using facts = await textedDesk();
  await facts.query(`update warehouse.calls set status = 'voicemail', content_hash = 'v' where call_id = '1.21'`);
  await facts.query('update warehouse.sms_messages set send_id = gen_random_uuid() where number = $1', number(24));
  expect((await facts.returns('is_unreturned, outcome')).filter((line) => /^2[14]/.test(line))).toEqual([
    '21 automatic_text - t voicemail',
    '24 automatic_text - t missed',
  ]);
  await facts.query('update warehouse.sms_messages set deleted_at = now()');
  expect((await facts.ways())[3]).toBe('24 - - open texted -');
});

test('the window is as long on a server whose time zone changes its clock within it', async () => {
  await using facts = await desk();
  await facts.happen('03-04T12:00 31 missed, 03-11T11:30 31 out');
  const url = `${facts.url}?options=-c%20TimeZone%3DAmerica%2FNew_York`;
  const plain = new Client({ connectionString: url });
  await plain.connect();
  expect((await plain.query('show timezone')).rows).toEqual([{ TimeZone: 'America/New_York' }]);
  await plain.end();
  await using inNewYork = openDatabase(url);
  expect(await inNewYork.value('show timezone')).toBe('UTC');
  await rebuildRollups(inNewYork.db);
  expect((await facts.returns())[0]).toMatch(/^31 outbound_call /);
});
