import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { optOutPhrases, optOutVerdict } from '../../src/warehouse/opt-out.ts';
import { readPhrases } from '../../src/warehouse/phrases.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { ignored, textsRead } from './reads.ts';

const facts = await factsDatabase();

const cases = readFileSync(new URL('opt-out-verdicts.txt', import.meta.url), 'utf8')
  .split('\n')
  .map((line) => /^(?<verdict>\w+): (?<text>.*)$/.exec(line)?.groups)
  .filter((each) => each !== undefined);

test.each(cases)('$verdict: $text', ({ verdict, text }) => {
  expect(optOutVerdict(text ?? '')).toBe(verdict);
});

test.each(['', ' ', '?', '!!!', '1', '911', '…'])('means nothing: %j', (text) => {
  expect(optOutVerdict(text)).toBe('none');
});

test('each phrase of the list is found alone, and in a text', () => {
  const missed = readPhrases(optOutPhrases).filter((phrase) => {
    const words = phrase.replace(/^=|\*/g, '').replace(/\*$/, '');
    const texts = phrase.startsWith('=') ? [words, ` ${words.toUpperCase()}!`] : [words, `Hello, ${words}. Yes`];
    return texts.some((text) => optOutVerdict(text) === 'none');
  });
  expect(missed).toEqual([]);
});

test('a text is judged to its end, however long it is', () => {
  expect(optOutVerdict(`${'How are you? '.repeat(1_000)}leave me alone`)).toBe('unsure');
});

test('the verdict stands on an inbound text as it is mirrored, and follows its words', async () => {
  const mirror = (seq: number, texts: readonly object[]) => {
    const common = { from: '1', to: '2', sentAt: '2026-04-21T00:00:00Z', direction: 'in' };
    const read = textsRead(
      seq,
      texts.map((each, at) => ({ id: at + 1, ...common, ...each })),
    );
    return facts.db.transaction().execute((tx) => writeThreads(tx, ignored, [read]));
  };
  const verdicts = () => facts.lines('select opt_out_verdict from warehouse.sms_messages order by message_id');
  const said = ['please stop', 'START', 'don’t text me at work', 'Is it ready?'].map((text) => ({ text }));
  const judged = ['opt_out', 'opt_in', 'unsure', 'none'];
  await mirror(1, [...said, { direction: 'out', text: 'STOP' }]);
  expect(await verdicts()).toEqual([...judged, '-']);
  const changedAt = () => facts.lines('select changed_at from warehouse.sms_messages order by message_id');
  const before = await changedAt();
  await facts.query(`update warehouse.sms_messages set opt_out_verdict = 'none', content_hash = 'of that release'`);
  await mirror(2, [...said, { direction: 'out', text: 'STOP' }]);
  expect(await verdicts(), 'judged otherwise by an older release').toEqual([...judged, 'none']);
  expect(await changedAt()).toEqual(before);
  await mirror(3, [{ text: 'Thank you' }]);
  expect((await verdicts())[0]).toBe('none');
});
