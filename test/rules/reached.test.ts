import { expect, test } from 'vitest';
import { type CallEnds, howFar } from '../../src/warehouse/call-facts.ts';
import { answered, leg, missed, reachedCases, voicemail } from './reached-cases.ts';

test.each(reachedCases)('%s', (_what, call, legs, reached) => {
  expect(howFar(call, legs.map(leg)).reached).toBe(reached);
});

test.each<[string, CallEnds, string[], boolean, number | null]>([
  ['a message of 30 seconds', voicemail, ['external>user noanswer 0', 'user>mailbox answer 30'], true, 30],
  ['hung up at the greeting', voicemail, ['external>user noanswer 0', 'user>mailbox answer 1'], false, 1],
  [
    'the talk time of the whole call does not count',
    { ...voicemail, talkSeconds: 30 },
    ['user>mailbox answer 1'],
    false,
    1,
  ],
  ['short, but recorded', { ...voicemail, isRecorded: true }, ['user>mailbox answer 1'], true, 1],
  ['a leg was recorded', voicemail, ['user>mailbox answer 1 recorded'], true, 1],
  ['the mailbox does not tell its time', { ...voicemail, talkSeconds: 12 }, ['user>mailbox'], true, 12],
  ['nothing tells a time', { ...voicemail, talkSeconds: null }, ['user>mailbox'], false, null],
  ['without legs, by the call', { ...voicemail, talkSeconds: 12 }, [], true, 12],
  ['a menu, recorded', { ...missed, isRecorded: true }, ['external>ivr answer 20'], false, null],
  ['a voicemail whose only leg is a menu', { ...voicemail, talkSeconds: 45 }, ['external>ivr answer 45'], false, null],
  ['called missed, with a message', missed, ['external>user noanswer 0', 'user>mailbox answer 20'], true, 20],
  ['somebody passed the caller on', voicemail, ['external>user answer 60', 'user>mailbox answer 1'], false, 1],
  ['in two mailboxes', voicemail, ['user>mailbox answer 2', 'mailbox>voicemail answer 1'], true, 3],
])('a message was left: %s', (_what, call, legs, isLeft, seconds) => {
  expect(howFar(call, legs.map(leg))).toMatchObject({ is_message_left: isLeft, message_seconds: seconds });
});

test('on a call of ours nobody came anywhere, unless it was answered', () => {
  const legs = [leg('user>external noanswer 0')];
  expect(howFar({ ...missed, direction: 'outbound' }, legs).reached).toBe('unknown');
  expect(howFar({ ...voicemail, direction: 'outbound' }, legs).reached).toBe('unknown');
  expect(howFar({ ...answered, direction: 'outbound' }, legs).reached).toBe('person');
});
