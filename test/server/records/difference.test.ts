import { array, assert, constantFrom, property } from 'fast-check';
import { expect, test } from 'vitest';
import { differenceOf } from '../../../src/server/records/difference.ts';

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`);
const shown = (before: string, after: string) =>
  differenceOf(before, after).map((hunk) =>
    hunk.map(({ kind, text, number }) => `${number}${{ same: ' ', removed: '-', added: '+' }[kind]}${text}`),
  );

test('changed lines stand in groups, with three lines around them', () => {
  const before = numbered(30);
  const after = before.with(4, 'changed').toSpliced(20, 1).toSpliced(24, 0, 'new');
  expect(shown(before.join('\n'), `${after.join('\r\n')}\r\n`)).toEqual([
    ['2 line 2', '3 line 3', '4 line 4', '5-line 5', '5+changed', '6 line 6', '7 line 7', '8 line 8'],
    [
      ...['18 line 18', '19 line 19', '20 line 20', '21-line 21', '21 line 22', '22 line 23', '23 line 24'],
      ...['24 line 25', '25+new', '26 line 26', '27 line 27', '28 line 28'],
    ],
  ]);
  expect(shown('a\nb\n', 'a\nb')).toEqual([]);
});

test('texts without a line in common, or with too many changes, are replaced', () => {
  expect(shown('a\nb', 'c')).toEqual([['1-a', '2-b', '1+c']]);
  const every = (first: string) => Array.from({ length: 1_100 }, (_, at) => `${first}${at}\nsame`).join('\n');
  const [hunk = [], ...others] = differenceOf(every('a'), every('b'));
  expect(others).toEqual([]);
  expect(hunk.filter(({ kind }) => kind === 'same')).toEqual([]);
  expect(hunk).toHaveLength(4_400);
});

test('the difference makes the second text of the first', () => {
  const text = array(constantFrom<string[]>('a', 'b', 'c', '  d'), { minLength: 1, maxLength: 12 });
  assert(
    property(text, text, (before, after) => {
      const patched = [...before];
      // From the end, so that the numbers of earlier lines stay right.
      const lines = differenceOf(before.join('\n'), after.join('\n')).flat();
      for (const { number } of lines.filter(({ kind }) => kind === 'removed').toReversed())
        patched.splice(number - 1, 1);
      for (const { number, text: added } of lines.filter(({ kind }) => kind === 'added'))
        patched.splice(number - 1, 0, added);
      expect(patched).toEqual(after);
    }),
  );
});
