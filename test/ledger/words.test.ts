import { expect, test } from 'vitest';
import type { SendHistory } from '../../src/ledger/send.ts';
import { decidedWords } from '../../src/ledger/words.ts';

test.each([
  [60_000, 'awaiting approval'],
  [-1_000, 'expired'],
])('a text that waits for approval for %i ms more is %s', (ms, words) => {
  const send = { state: 'AWAITING_APPROVAL', reason: null, expiresAt: new Date(Date.now() + ms) };
  const history = { send, events: [] } as unknown as SendHistory;
  expect(decidedWords(history)).toBe(`It does not wait for that: it is ${words}.`);
});
