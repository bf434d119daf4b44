import { describe, expect, test } from 'vitest';
import { hasOptedOut } from '../../../src/ledger/gates/gates.ts';
import { optOutVerdict } from '../../../src/warehouse/opt-out.ts';

const [ours, another] = ['15550000001', '15550000002'];

/** What a text changes, by its verdict, as the mirror keeps it. */
function changesOf(text: string, line: string, at: Date) {
  const verdict = optOutVerdict(text);
  return verdict === 'none' ? [] : [{ line, at, kind: verdict }];
}

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
    const said = texts.flatMap(([text, minute]) => changesOf(text, ours, at(minute)));
    const skips = skipped === undefined ? [] : [{ line: ours, at: at(skipped), kind: 'opt_out' as const }];
    expect(hasOptedOut(ours, [...said, ...skips])).toBe(isOut);
    expect(hasOptedOut(ours, [...skips, ...said.toReversed()])).toBe(isOut);
    expect(hasOptedOut(another, [...said, ...skips]), 'from a line where nothing was said').toBe(isOut);
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
    const texts = said.flatMap(([text, line, minute]) => changesOf(text, line, at(minute)));
    const skips = said.flatMap(([text, line, minute]) =>
      text === 'skip' ? [{ line, at: at(minute), kind: 'opt_out' as const }] : [],
    );
    const lines = [ours, another, '15550000003'];
    expect(lines.map((line) => hasOptedOut(line, [...texts, ...skips]))).toEqual(out);
  });

  test.each([
    { name: 'an unsure text there', said: [['wrong number', ours, 1]], waits: [true, true, true] },
    {
      name: 'an unsure text, and others after it',
      said: [
        ['wrong number', ours, 1],
        ['When do you open?', ours, 2],
        ['Hello?', another, 3],
      ],
      waits: [true, true, true],
    },
    {
      name: 'an unsure text and a START there',
      said: [
        ['wrong number', ours, 1],
        ['START', ours, 2],
      ],
      waits: [false, false, false],
    },
    {
      name: 'a START, and an unsure text after it',
      said: [
        ['START', ours, 1],
        ['stop it', ours, 2],
      ],
      waits: [true, true, true],
    },
    {
      name: 'an unsure text there and a START elsewhere',
      said: [
        ['wrong number', ours, 1],
        ['START', another, 2],
      ],
      waits: [true, false, true],
    },
  ] as const)('$name: it waits for a decision', ({ said, waits }) => {
    const texts = said.flatMap(([text, line, minute]) => changesOf(text, line, at(minute)));
    const lines = [ours, another, '15550000003'];
    expect(lines.map((line) => hasOptedOut(line, texts, 'unsure'))).toEqual(waits);
    expect(lines.map((line) => hasOptedOut(line, texts))).toEqual([false, false, false]);
  });
});
