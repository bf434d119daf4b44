import { afterAll, expect, test } from 'vitest';
import { message } from '../../src/api-client/entities/texts.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { optOutVerdict } from '../../src/warehouse/opt-out.ts';
import { migratedDatabase } from '../world/database.ts';
import { certainOptOuts } from './certain-opt-outs.ts';
import { doubtfulTexts } from './doubtful-texts.ts';
import { lookAlikes } from './look-alikes.ts';
import { ordinaryTexts } from './ordinary-texts.ts';
import { optOuts } from './phrasings.ts';
import { asRead, readNumber } from './reads.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

const listed = (text: string) => text.split('\n').filter((line) => line.trim() !== '');

test('more than three hundred phrasings are tried', () => {
  expect(new Set([...listed(optOuts), ...listed(lookAlikes)]).size).toBeGreaterThan(300);
});

test.each(listed(optOuts))('takes out: %s', (text) => {
  expect(optOutVerdict(text)).toBe('opt_out');
});

test.each(listed(lookAlikes))('changes nothing: %s', (text) => {
  expect(['unsure', 'none']).toContain(optOutVerdict(text));
});

test.each(listed(certainOptOuts))('takes out, with other words around: %s', (text) => {
  expect(optOutVerdict(text)).toBe('opt_out');
});

test.each(listed(doubtfulTexts))('is answered by nobody, and not kept: %s', (text) => {
  expect(optOutVerdict(text)).toBe('unsure');
});

test.each(listed(ordinaryTexts))('is answered: %s', (text) => {
  expect(optOutVerdict(text)).toBe('none');
});

test('a text of any length is judged by its begin, in bounded time', () => {
  for (const words of [
    'stop me ',
    'stop my the this of and ',
    'no quiero ya mas me nos ',
    'please ',
    'stop. ',
    '🛑 ',
  ]) {
    optOutVerdict(words.repeat(100_000));
  }
  expect(optOutVerdict(`${'How are you? '.repeat(100)}Stop texting me`)).toBe('opt_out');
});

test.each([
  'STOP\n\nSent from my iPhone',
  'Stop please\r\n--\r\nEnvoyé de mon iPhone',
  'stop\nGet Outlook for Android',
])('takes out, whatever the phone wrote under it: %j', (text) => {
  expect(optOutVerdict(text)).toBe('opt_out');
});

test.each(['START', 'start', ' Start. ', 'UNSTOP', 'opt in', 'Reanudar', 'старт'])('takes in again: %s', (text) => {
  expect(optOutVerdict(text)).toBe('opt_in');
});

test('the verdict stands on an inbound text as it is mirrored, and follows its words', async () => {
  const thread = { line: '15550000001', number: '15550000002', participants: [] };
  const mirror = (seq: number, texts: readonly Record<string, unknown>[]) => {
    const messages = asRead(
      message,
      texts.map((each, at) => ({
        id: at + 1,
        from: '1',
        to: '2',
        sentAt: '2026-04-21T00:00:00Z',
        direction: 'in',
        ...each,
      })),
    );
    return database.db
      .transaction()
      .execute((tx) => writeThreads(tx, [{ thread, messages, isComplete: true, read: readNumber(seq) }]));
  };
  const verdicts = async () =>
    (
      await database.query<{ verdict: string | null }>(
        'select opt_out_verdict as verdict from warehouse.sms_messages order by message_id',
      )
    ).map(({ verdict }) => verdict);
  const said = ['please stop', 'START', 'don’t text me at work', 'Is it ready?'].map((text) => ({ text }));
  await mirror(1, [...said, { direction: 'out', text: 'STOP' }]);
  expect(await verdicts()).toEqual(['opt_out', 'opt_in', 'unsure', 'none', null]);
  const changedAt = () => database.query('select changed_at from warehouse.sms_messages order by message_id');
  const before = await changedAt();
  await database.query(`update warehouse.sms_messages set opt_out_verdict = 'none'`);
  await mirror(2, [...said, { direction: 'out', text: 'STOP' }]);
  expect(await verdicts(), 'judged otherwise by an older release').toEqual([
    'opt_out',
    'opt_in',
    'unsure',
    'none',
    'none',
  ]);
  expect(await changedAt()).toEqual(before);
  await mirror(3, [{ text: 'Thank you' }]);
  expect((await verdicts())[0]).toBe('none');
});
