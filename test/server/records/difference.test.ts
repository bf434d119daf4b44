import { array, assert, constantFrom, property } from 'fast-check';
import { expect, test } from 'vitest';
import { differenceOf } from '../../../src/server/records/difference.ts';

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`);
const shown = (before: string, after: string) =>
  differenceOf(before, after)?.map(({ newStart, lines }) => [newStart, ...lines]);

test('changed lines stand in groups, with three lines around them', () => {
  const before = numbered(30);
  const after = before.with(4, 'changed').toSpliced(20, 1).toSpliced(24, 0, 'new');
  expect(shown(before.join('\n'), `${after.join('\r\n')}\r\n`)).toEqual([
    [2, ' line 2', ' line 3', ' line 4', '-line 5', '+changed', ' line 6', ' line 7', ' line 8'],
    [
      ...[18, ' line 18', ' line 19', ' line 20', '-line 21', ' line 22', ' line 23', ' line 24'],
      ...[' line 25', '+new', ' line 26', ' line 27', ' line 28'],
    ],
  ]);
  expect(shown('a\nb\n', 'a\nb')).toEqual([]);
});

test('texts without a line in common are replaced, and too many changes are not worked out', () => {
  expect(shown('a\nb', 'c')).toEqual([[1, '-a', '-b', '+c']]);
  const every = (first: string) => Array.from({ length: 1_100 }, (_, at) => `${first}${at}\nsame`).join('\n');
  expect(shown(every('a'), every('b'))).toBeUndefined();
});

test('the difference makes the second text of the first', () => {
  const text = array(constantFrom<string[]>('a', 'b', 'c', '  d'), { minLength: 1, maxLength: 12 });
  assert(
    property(text, text, (before, after) => {
      const patched = [...before];
      // From the end, so that the numbers of earlier lines stay right.
      for (const { oldStart, oldLines, lines } of differenceOf(before.join('\n'), after.join('\n'))?.toReversed() ??
        []) {
        const kept = lines.filter((line) => !line.startsWith('-')).map((line) => line.slice(1));
        patched.splice(oldStart - 1, oldLines, ...kept);
      }
      expect(patched).toEqual(after);
    }),
  );
});
