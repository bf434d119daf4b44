import { expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const missed = { status: 'missed', talk_seconds: 0 };
const hungUp = { is_abandoned: true, duration_seconds: 60 };
const voicemail = { status: 'voicemail', talk_seconds: 20, is_recorded: null };
const [open, closed] = ['15:00', '23:00'];

/**
 * Unanswered calls of Monday: hour, call, legs, and what `missed_calls` and `fct_call` say. How far each call came is
 * tested in warehouse/call-facts.test.ts.
 */
const cases: readonly (readonly [string, object, readonly string[], string])[] = [
  [open, hungUp, ['ivr'], 'menu | menu | - | - | true | - | abandoned | menu'],
  [open, {}, ['ivr'], 'menu | menu | - | - | true | - | missed | menu'],
  [open, hungUp, ['ivr', 'queue:601'], 'queue | queue | - | - | true | queue:601 | abandoned | queue'],
  [open, hungUp, ['ivr', 'queue:601', 'user:201'], 'rang | rang | - | - | true | queue:601 | abandoned | queue'],
  [open, {}, ['user:201'], 'rang | rang | - | - | true | - | missed | -'],
  [open, {}, ['huntgroup:701'], 'queue | queue | - | - | true | huntgroup:701 | missed | -'],
  [open, {}, ['external'], 'unknown | unknown | - | - | true | - | missed | -'],
  [open, {}, ['user:201 0 0 12'], 'person | person | - | - | true | - | missed | -'],
  [open, voicemail, ['mailbox:201 0 0 20'], 'mailbox | mailbox | true | 20 | true | - | voicemail | -'],
  [open, voicemail, ['mailbox:201 0 0 2'], 'mailbox | mailbox_without_message | false | 2 | true | - | voicemail | -'],
  [
    open,
    { ...voicemail, talk_seconds: 0 },
    [],
    'mailbox | mailbox_without_message | false | 0 | true | - | voicemail | -',
  ],
  [open, { ...voicemail, talk_seconds: null }, [], 'mailbox | mailbox | - | - | true | - | voicemail | -'],
  [closed, hungUp, ['ivr', 'queue:601'], 'queue | closed | - | - | false | queue:601 | abandoned | queue'],
  [closed, voicemail, ['mailbox:201 0 0 20'], 'mailbox | closed | true | 20 | false | - | voicemail | -'],
];

test('a missed call has one reason, the last queue that it entered, and what a mailbox holds', async () => {
  await using facts = await factsDatabase();
  for (const [at, [started_at, values, legs]] of cases.entries())
    await facts.call({ call_id: `1.${10 + at}`, started_at, ...missed, ...values }, legs);
  await facts.drain();
  await facts
    .expectRows(`
      select m.reached, m.reason, m.is_message_left, m.message_seconds, m.is_business_hours, m.queue_key, m.outcome, c.abandoned_in
      from reporting.missed_calls m join reporting.fct_call c using (call_id, reached) order by call_id`)
    .toEqual(cases.map(([, , , expected]) => expected));
  expect(await facts.value('select sum(menu_count)::integer from reporting.call_hourly')).toBe(2);
});

test('a customer who called several times waits once, by the newest call that needs a call-back, until somebody calls', async () => {
  await using facts = await factsDatabase();
  const call = async (minute: number, values: object, legs: readonly string[] = []) => {
    await facts.call(
      { call_id: `1.${minute}`, started_at: `15:${minute}`, ...missed, duration_seconds: 60, ...values },
      legs,
    );
    await facts.drain();
  };
  const waiting = () =>
    facts.expectRows('select call_id, needs_call_back, is_waiting from reporting.missed_calls order by call_id');
  await call(10, {}, ['ivr', 'queue:601']);
  await call(11, {}, ['ivr', 'queue:601']);
  await call(12, { duration_seconds: 4 }, ['user:201']);
  await call(13, {}, ['ivr']);
  await waiting().toEqual([
    '1.10 | true | false',
    '1.11 | true | true',
    '1.12 | false | false',
    '1.13 | false | false',
  ]);
  await call(14, { direction: 'outbound' });
  await waiting().toEqual([
    '1.10 | true | false',
    '1.11 | true | false',
    '1.12 | false | false',
    '1.13 | false | false',
  ]);
  await facts
    .expectRows('select call_id, needs_call_back from reporting.fct_call order by call_id')
    .toEqual(['1.10 | true', '1.11 | true', '1.12 | false', '1.13 | false', '1.14 | -']);
});
