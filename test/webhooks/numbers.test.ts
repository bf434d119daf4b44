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
    ['8455008085', '18455550123', 73626, null, {}, [5550100]],
    ['18455008085', '18455550123', '73626'],
  ],
  [{ number: '8455008085' }, ['18455008085']],
  [{ name: 'Jane 2', phoneNumber: '+1 845 500 8085', extensionNumber: '45' }, ['18455008085']],
  [
    [{ phone_number: '8455008085' }, { phoneNumber: 73626 }],
    ['18455008085', '73626'],
  ],
  [{ number: 123, id: 8455008085, location: '8455008085' }, []],
  [{ number: { value: '8455008085' } }, []],
  // What has more in it than a number is none.
  ['Suite 200, 845 500 8085 room 4', []],
  ['agent 45', []],
  ['&#51;125552003', []],
  ['312&nbsp;555&nbsp;2003', []],
  ['sip:18455008085@10.0.0.5', []],
  ['tel:+18455008085', []],
  ['845-500-8085 x45', []],
  ['13125552003.0', []],
  ['2026-11-26', []],
  ['12', []],
  ['1234567890123456', []],
  [undefined, []],
  [true, []],
])('%j holds %j', (field, numbers) => {
  expect(numbersIn(field)).toEqual(numbers);
});
