import { describe, expect, test } from 'vitest';
import { hasOptedOut, optOutChange, optOutVerdict } from '../../../src/ledger/gates/opt-out.ts';
import { lookAlikes } from './look-alikes.ts';
import { certainOptOuts, doubtfulTexts, ordinaryTexts } from './opt-out-corpus.ts';
import { optOuts } from './phrasings.ts';

const [ours, another] = ['15550000001', '15550000002'];
const listed = (text: string) => text.split('\n').filter((line) => line.trim() !== '');

test('more than three hundred phrasings are tried', () => {
  expect(new Set([...listed(optOuts), ...listed(lookAlikes)]).size).toBeGreaterThan(300);
});

test.each(listed(optOuts))('takes out: %s', (text) => {
  expect(optOutChange(text)).toBe('out');
});

test.each(listed(lookAlikes))('changes nothing: %s', (text) => {
  expect(optOutChange(text)).toBeUndefined();
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
  expect(optOutChange(text)).toBe('out');
});

test.each(['START', 'start', ' Start. ', 'UNSTOP', 'opt in', 'Reanudar', 'старт'])('takes in again: %s', (text) => {
  expect(optOutChange(text)).toBe('in');
});

describe('the last word counts', () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
  test.each([
    { name: 'a STOP', texts: [['STOP', 1]], skipped: undefined, isOut: true },
    {
      name: 'a STOP that a START took back',
      texts: [
        ['STOP', 1],
        ['START', 2],
      ],
      skipped: undefined,
      isOut: false,
    },
    {
      name: 'a STOP after that',
      texts: [
        ['STOP', 3],
        ['START', 2],
      ],
      skipped: undefined,
      isOut: true,
    },
    {
      name: 'a START and a STOP of the same second',
      texts: [
        ['STOP', 2],
        ['START', 2],
      ],
      skipped: undefined,
      isOut: true,
    },
    { name: 'what the service skipped', texts: [['hello', 1]], skipped: 2, isOut: true },
    { name: 'a START after that', texts: [['start', 3]], skipped: 2, isOut: false },
    {
      name: 'other words',
      texts: [
        ['stop by at 5', 3],
        ['yes', 4],
      ],
      skipped: undefined,
      isOut: false,
    },
  ] as const)('$name', ({ texts, skipped, isOut }) => {
    const said = texts.map(([text, minute]) => ({ line: ours, text, at: at(minute) }));
    const skips = skipped === undefined ? [] : [{ line: ours, at: at(skipped) }];
    expect(hasOptedOut(ours, said, skips)).toBe(isOut);
    expect(hasOptedOut(ours, said.toReversed(), skips)).toBe(isOut);
    expect(hasOptedOut(another, said, skips), 'from a line where nothing was said').toBe(isOut);
  });

  test.each([
    { name: 'a STOP there', said: [['STOP', ours, 1]], out: [true, true, true] },
    {
      name: 'a STOP there and a START elsewhere',
      said: [
        ['STOP', ours, 1],
        ['START', another, 2],
      ],
      out: [true, false, true],
    },
    {
      name: 'a STOP and a START there, and a STOP elsewhere in between',
      said: [
        ['STOP', ours, 1],
        ['STOP', another, 2],
        ['START', ours, 3],
      ],
      out: [false, true, true],
    },
    {
      name: 'a skip of which the line is not known, and a START there',
      said: [
        ['skip', '', 1],
        ['START', ours, 2],
      ],
      out: [false, true, true],
    },
  ] as const)('$name: each line for itself', ({ said, out }) => {
    const each = said.map(([text, line, minute]) => ({ text, line, at: at(minute) }));
    const texts = each.filter(({ text }) => text !== 'skip');
    const skips = each.filter(({ text }) => text === 'skip');
    const lines = [ours, another, '15550000003'];
    expect(lines.map((line) => hasOptedOut(line, texts, skips))).toEqual(out);
  });
});
