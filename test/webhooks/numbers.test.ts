import { expect, test } from 'vitest';
import { normalizeNumber } from '../../src/shared/numbers.ts';
import { numbersIn } from '../../src/webhooks/references.ts';

test.each([
  ['(845) 500-8085', '18455008085'],
  ['+1 845 500 8085', '18455008085'],
  ['18455008085', '18455008085'],
  ['+972 2 123 4567', '97221234567'],
  ['73626', '73626'],
  ['unknown', ''],
  ['', ''],
])('%j is the number %j', (written, number) => {
  expect(normalizeNumber(written)).toBe(number);
});

test.each([
  ['8455008085, 18455550123;73626|x', ['18455008085', '18455550123', '73626']],
  [18455008085, ['18455008085']],
  [
    ['8455008085', '18455550123', 73626, null, {}],
    ['18455008085', '18455550123', '73626'],
  ],
  [{ number: '8455008085' }, []],
  ['12', []],
  ['1234567890123456', []],
  [undefined, []],
  [true, []],
])('%j holds %j', (field, numbers) => {
  expect(numbersIn(field)).toEqual(numbers);
});
