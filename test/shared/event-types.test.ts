import { expect, test } from 'vitest';
import { eventTypeOf, eventTypes } from '../../src/shared/event-types.ts';

test.each(eventTypes)('%s names itself in any case and punctuation', (type) => {
  expect(eventTypeOf(type)).toBe(type);
  expect(eventTypeOf(type.toUpperCase())).toBe(type);
  expect(eventTypeOf(type.replace(/(?<=[a-z])(?=[A-Z])/g, '-'))).toBe(type);
  expect(eventTypeOf(` ${type.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()} `)).toBe(type);
});

test.each(['', 'sms', 'AccountSMS2x', 'constructor', 'A'.repeat(10_000)])('%j names none', (word) => {
  expect(eventTypeOf(word)).toBeUndefined();
});
