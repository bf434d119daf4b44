import { expect, test } from 'vitest';
import { type CallEnds, howFar } from '../../src/warehouse/call-facts.ts';
import { answered, leg, missed, reachedCases, voicemail } from './reached-cases.ts';

test.each(reachedCases)('%s', (_what, call, legs, reached) => {
  expect(howFar(call, legs.map(leg)).reached).toBe(reached);
});

test.each<[string, CallEnds, string[], boolean]>([
  ['a message of 30 seconds', voicemail, ['external>user noanswer 0', 'user>mailbox answer 30'], true],
  ['hung up at the greeting', voicemail, ['external>user noanswer 0', 'user>mailbox answer 1'], false],
  [
    'the talk time of the whole call does not count',
    { ...voicemail, talkSeconds: 30 },
    ['user>mailbox answer 1'],
    false,
  ],
  ['short, but recorded', { ...voicemail, isRecorded: true }, ['user>mailbox answer 1'], true],
  ['a leg was recorded', voicemail, ['user>mailbox answer 1 recorded'], true],
  ['the mailbox does not tell its time', { ...voicemail, talkSeconds: 12 }, ['user>mailbox'], true],
  ['nothing tells a time', { ...voicemail, talkSeconds: null }, ['user>mailbox'], false],
  ['without legs, by the call', { ...voicemail, talkSeconds: 12 }, [], true],
  ['a menu, recorded', { ...missed, isRecorded: true }, ['external>ivr answer 20'], false],
  ['a voicemail whose only leg is a menu', { ...voicemail, talkSeconds: 45 }, ['external>ivr answer 45'], false],
  ['called missed, with a message', missed, ['external>user noanswer 0', 'user>mailbox answer 20'], true],
  ['somebody passed the caller on', voicemail, ['external>user answer 60', 'user>mailbox answer 1'], false],
])('a message was left: %s', (_what, call, legs, isLeft) => {
  expect(howFar(call, legs.map(leg)).isMessageLeft).toBe(isLeft);
});

test('on a call of ours nobody came anywhere, unless it was answered', () => {
  const legs = [leg('user>external noanswer 0')];
  expect(howFar({ ...missed, direction: 'outbound' }, legs).reached).toBe('unknown');
  expect(howFar({ ...voicemail, direction: 'outbound' }, legs).reached).toBe('unknown');
  expect(howFar({ ...answered, direction: 'outbound' }, legs).reached).toBe('person');
});
