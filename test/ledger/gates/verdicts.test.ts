import { expect, test } from 'vitest';
import { recordedVerdicts } from '../../../src/ledger/gates/gates.ts';

const told = (reason: string | undefined) => {
  const verdicts = recordedVerdicts(reason) ?? [];
  return {
    refusing: verdicts.filter(({ passes }) => passes === false).map(({ asks }) => asks),
    passed: verdicts.filter(({ passes }) => passes === true).length,
    notAsked: verdicts.filter(({ passes }) => passes === undefined).length,
  };
};

test.each([
  ['gate:too_old', 'It is not too old', 0],
  ['gate:opted_out', 'The person has not opted out', 9],
  ['gate:opt_out_unsure', 'No text of the person that may be an opt-out waits for a decision', 10],
  ['gate:loop_echo', 'They do not look like a machine that answers us', 17],
  ['gate:unknown_zone', 'The quiet hours of the recipient are over', 18],
  ['gate:budget_thread', 'The budgets of the day are not used up', 19],
])('%s: those before it let the send pass, those after it were not asked', (reason, asks, passed) => {
  expect(told(reason)).toEqual({ refusing: [asks], passed, notAsked: 19 - passed });
});

test('a send that was dispatched passed them all', () => {
  expect(told(undefined)).toEqual({ refusing: [], passed: 20, notAsked: 0 });
});

test('other reasons are no gate’s', () => {
  for (const reason of ['superseded', 'cancelled']) expect(recordedVerdicts(reason)).toBeUndefined();
});
