import { expect, test } from 'vitest';
import { csvOfLines } from '../../src/server/table.ts';

const line = (value: string) => csvOfLines([[value]]).slice(0, -2);

test.each([
  ['plain', 'plain'],
  ['a, b', '"a, b"'],
  ['a; b', '"a; b"'],
  ['say "hi"', '"say ""hi"""'],
  ['-12.5', '-12.5'],
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['@SUM(1)', "'@SUM(1)"],
  ['  =1+1', "'  =1+1"],
  ['＝1+1', "'＝1+1"],
  ['－1', "'－1"],
  ['x;=1+1', `"x;'=1+1"`],
  ['x; ＝1+1', `"x;' ＝1+1"`],
  ['x\n=1+1', `"x\n'=1+1"`],
  ['x\r\n=1+1', `"x\r\n'=1+1"`],
  ['x\t=1+1', `"x\t'=1+1"`],
  ['\t=1+1', `"'\t'=1+1"`],
  ['a = b; c - d', '"a = b; c - d"'],
])('%j is written as %j', (value, written) => {
  expect(line(value)).toBe(written);
});

test('takes time that is linear in the length of a value', () => {
  const value = `${' '.repeat(200_000)}${'\t'.repeat(200_000)}${';'.repeat(200_000)}`;
  expect(line(value).length).toBe(value.length + 2);
});
