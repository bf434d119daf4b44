import { describe, expect, test } from 'vitest';
import { parseNumberList, refuseUnknownLines } from '../../src/cli/number-list.ts';

describe('a list of numbers', () => {
  test('holds numbers as people write them, with or without a line of ours', () => {
    const text = '\ufeff# callers\r\n\r\n+1 (845) 555-0123\r\n845 555 0124, 18457511133\r\n';
    expect(parseNumberList(text, 'list.csv')).toEqual([
      { number: '18455550123', line: undefined, row: 3 },
      { number: '18455550124', line: '18457511133', row: 4 },
    ]);
  });

  test('is refused with the number of each bad line', () => {
    const text =
      '18455550123\nnumber,line\n123\n18455550123,office\n18455550123,18457511133,yes\n2125550131.0\n2.13E+09\n';
    expect(() => parseNumberList(text, 'list.csv')).toThrow(
      expect.objectContaining({
        code: 'wrong_use',
        message: expect.stringMatching(/^list\.csv, lines 2, 3, 4, 5, 6 and 1 more: write a phone number/),
      }),
    );
  });

  test('does not drown whoever reads in lines', () => {
    expect(() => parseNumberList('x\n'.repeat(40), 'list.csv')).toThrow(/lines 1, 2, 3, 4, 5 and 35 more: [^\n]*$/);
  });

  test('is refused where it names a line that the account does not have', () => {
    const listed = parseNumberList('18455550123,18457511133\n18455550123,18457511134', 'list.csv');
    expect(() => refuseUnknownLines('list.csv', listed, ['18457511133'])).toThrow(
      /^list\.csv, line 2: the account has no such line: 18457511134\.$/,
    );
    expect(() => refuseUnknownLines('list.csv', listed, ['18457511133', '18457511134'])).not.toThrow();
  });
});
