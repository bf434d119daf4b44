import { expect, test } from 'vitest';
import { type CallColumns, callFacts, type LegColumns } from '../../src/warehouse/call-facts.ts';

const nobody = { callerType: null, callerNumber: null, calledType: null, calledName: null, calledNumber: null };
const missed: CallColumns = {
  ...{ ...nobody, direction: 'inbound', status: 'missed', statusCode: -1, startedAt: null, endedAt: null },
  ...{ talkSeconds: 0, isRecorded: false, isAbandoned: null, accountNumber: null, hasLegs: true },
};
const voicemail: CallColumns = { ...missed, status: 'voicemail', statusCode: 0 };
const answered: CallColumns = { ...missed, status: 'answered', statusCode: 1, talkSeconds: 40 };

/** `external>ivr answer 20`: caller and called type, status and talk time; `-` for what the service does not say. */
function leg(text: string, at = 0): LegColumns {
  const [parties = '', status = '-', talk = '-', recorded = '-'] = text.split(' ');
  const [callerType, calledType] = parties.split('>');
  const given = (word: string | undefined) => (word === '-' || word === undefined ? null : word.replaceAll('_', ' '));
  return {
    ...{ ...nobody, ordinal: at + 1, callerType: given(callerType), calledType: given(calledType) },
    ...{ status: given(status), startedAt: null, endedAt: null, durationSeconds: null },
    talkSeconds: talk === '-' ? null : Number(talk),
    isRecorded: recorded === '-' ? null : recorded === 'recorded',
  };
}

const ours = { direction: 'outbound' };
const toVoicemail = { ...missed, calledType: 'Voice-Mail' };
const long = { ...voicemail, talkSeconds: 30 };

const factsOf = (call: CallColumns, legs: readonly string[]) => callFacts(call, legs.map(leg), () => null).columns;

test.each<[string, CallColumns, string[], string]>([
  ['only the menu', missed, ['external>ivr answer 20'], 'menu'],
  ['two menus', missed, ['external>ivr answer 20', 'ivr>ivr answer 70'], 'menu'],
  ['the menu, in capital letters', missed, ['EXTERNAL>IVR ANSWERED 20'], 'menu'],
  ['gave up in the queue', missed, ['external>ivr answer 9', 'ivr>queue cancel 0'], 'queue'],
  ['a queue that plays music', missed, ['external>ivr answer 9', 'ivr>queue answer 60'], 'queue'],
  ['a huntgroup without a telephone', missed, ['external>ivr answer 60', 'ivr>huntgroup noanswer 0'], 'queue'],
  ['a queue in other words', missed, ['External>IVR Answer 9', 'IVR>Hunt_Group NO_ANSWER 0'], 'queue'],
  ['a leg that a queue made', missed, ['external>ivr answer 9', 'queue>- noanswer 0'], 'queue'],
  ['a user rang', missed, ['external>ivr answer 9', 'ivr>queue noanswer 0', 'queue>user noanswer 0'], 'rang'],
  ['a telephone rang', missed, ['external>huntgroup noanswer 0', 'huntgroup>phone noanswer 0'], 'rang'],
  ['an extension was busy', missed, ['external>extension busy 0'], 'rang'],
  ['dialled directly', missed, ['external>user noanswer 0'], 'rang'],
  ['no status and no time on the leg', missed, ['external>user'], 'rang'],
  ['passed on to an outside telephone', missed, ['external>ivr answer 5', 'ivr>external noanswer 0'], 'rang'],
  ['at the mailbox', missed, ['external>user noanswer 0', 'user>mailbox answer 1'], 'mailbox'],
  ['a voicemail without legs', voicemail, [], 'mailbox'],
  ['a voicemail whose legs say a queue', voicemail, ['external>queue noanswer 0'], 'mailbox'],
  ['answered', answered, ['external>ivr answer 9', 'ivr>queue answer 9', 'queue>user answer 40'], 'person'],
  ['answered, without legs', answered, [], 'person'],
  ['answered by its code alone', { ...missed, status: null, statusCode: 2 }, [], 'person'],
  ['answered by its lowest code', { ...missed, status: null, statusCode: 1 }, [], 'person'],
  ['a leg that somebody answered, though it is called missed', missed, ['external>phone ANSWER 0'], 'person'],
  ['a leg with talk, though it is called missed', missed, ['external>user - 12'], 'person'],
  ['somebody answered before the mailbox', voicemail, ['external>user answer 9', 'user>mailbox answer 9'], 'person'],
  ['no legs yet', missed, [], 'unknown'],
  ['no legs, though the call names a user', { ...missed, calledType: 'user' }, [], 'unknown'],
  ['nothing says where the legs went', missed, ['->- answer 20', '->- noanswer'], 'unknown'],
  ['a type that nobody knows', missed, ['external>ivr answer 9', 'ivr>conference noanswer 0'], 'unknown'],
  ['one leg without a type beside the menu', missed, ['external>ivr answer 9', 'ivr>- noanswer 0'], 'unknown'],
  ['legs without types, of a call to a queue', { ...missed, calledType: 'queue' }, ['->- noanswer'], 'queue'],
  ['legs without types, of a call to a user', { ...missed, calledType: 'User' }, ['->- noanswer'], 'rang'],
  ['legs without types, of a call to a menu', { ...missed, calledType: 'ivr' }, ['->- answer'], 'menu'],
  ['legs without types, of a call to the outside', { ...missed, calledType: 'external' }, ['->- answer'], 'unknown'],
  ['from outside to outside', missed, ['external>external noanswer 0'], 'unknown'],
  ['our call to the outside', missed, ['user>external noanswer 0'], 'rang'],
  ['words of JavaScript', missed, ['constructor>toString answer 20'], 'unknown'],
  ['at the voicemail of a user', missed, ['external>user noanswer 0', 'user>voicemail answer 1'], 'mailbox'],
  ['a mailbox without legs', { ...missed, calledType: 'mailbox' }, [], 'unknown'],
  ['no legs, though the call names a queue', { ...missed, calledType: 'queue' }, [], 'unknown'],
  ['only the menu, of a call to a queue', { ...missed, calledType: 'queue' }, ['external>ivr answer 20'], 'menu'],
  ['legs of no letters, of a call to a mailbox', toVoicemail, ['->123 noanswer'], 'mailbox'],
  ['to the outside, by nobody known', missed, ['->external noanswer 0'], 'unknown'],
  ['answered outside, passed on by nobody known', missed, ['->external ANSWERED 0'], 'person'],
  ['answered, in other words', { ...missed, status: 'Answered' }, [], 'person'],
  ['a voicemail in capital letters', { ...missed, status: 'VOICEMAIL' }, [], 'mailbox'],
  ['a status that begins with a mark', missed, ['external>user -Answer 0'], 'person'],
])('how far a call came: %s', (_what, call, legs, reached) => {
  expect(factsOf(call, legs).reached).toBe(reached);
});

test.each<[string, CallColumns, string[], boolean, number | null]>([
  ['a message of 30 seconds', voicemail, ['external>user noanswer 0', 'user>mailbox answer 30'], true, 30],
  ['hung up at the greeting', voicemail, ['external>user noanswer 0', 'user>mailbox answer 1'], false, 1],
  ['the talk time of the whole call does not count', long, ['user>mailbox answer 1'], false, 1],
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
  expect(factsOf(call, legs)).toMatchObject({ is_message_left: isLeft, message_seconds: seconds });
});

test('on a call of ours nobody came anywhere, unless it was answered', () => {
  const legs = ['user>external noanswer 0'];
  expect(factsOf({ ...missed, direction: 'outbound' }, legs).reached).toBe('unknown');
  expect(factsOf({ ...voicemail, direction: 'outbound' }, legs).reached).toBe('unknown');
  expect(factsOf({ ...answered, direction: 'outbound' }, legs).reached).toBe('person');
});

test.each<[string, CallColumns, string[], string | null]>([
  ['in the menu', missed, ['external>ivr answer 20'], 'menu'],
  ['nowhere, as the menu answered', answered, ['external>ivr answer 20'], null],
  ['at the mailbox', { ...missed, isAbandoned: true }, ['external>ivr answer 5', 'ivr>mailbox answer 1'], 'ringing'],
])('where the caller gave up: %s', (_what, call, legs, abandonedIn) => {
  expect(factsOf(call, legs).abandoned_in).toBe(abandonedIn);
});

/** A leg from number 200 to 201, the next one from 201 to 202. */
const numbered = (text: string, at: number): LegColumns => ({
  ...{ ...leg(text, at), callerNumber: `20${at}`, calledNumber: `20${at + 1}` },
});

test('a call is of the group that it was answered from, not of one to which it was passed on', () => {
  const legs = ['external>queue noanswer 0', 'queue>user answer 60', 'user>queue noanswer 0'];
  expect(callFacts(answered, legs.map(numbered), () => null).columns.queue).toBe('201');
});

test('a call was answered by the first to answer, in whatever order its legs are listed', () => {
  const legs = [60_000, 10_000].map((startedAt, at) => ({ ...numbered('queue>user answer 9', at), startedAt }));
  const { columns } = callFacts({ ...answered, startedAt: 0 }, legs, (extension) => extension);
  expect(columns.answered_user_id).toBe('202');
});

test('what a person talked on several legs of a call is added up', () => {
  const legs = [10, 20].map((seconds, at) => ({ ...leg(`queue>user answer ${seconds}`, at), calledNumber: '201' }));
  const { attributions } = callFacts({ ...answered, startedAt: 0 }, legs, () => null);
  expect(attributions).toMatchObject([{ endpoint: '201', role: 'answered', talkSeconds: 30 }]);
});

const toColleague = ['transferred_out', 'transferred_to'];
test.each<[string, object, string[], string[]]>([
  ['a call of ours into a mailbox', ours, ['user>external noanswer 0', 'user>mailbox answer 20'], []],
  ['a call of ours that a mailbox took at once', ours, ['user>external busy 0', 'user>voicemail answer 9'], []],
  ['a colleague who did not answer', { direction: 'internal' }, ['user>user noanswer 0', 'user>mailbox answer 9'], []],
  ['a caller at a mailbox', {}, ['external>user noanswer 0', 'user>mailbox answer 20'], []],
  ['a second attempt', { ...answered, ...ours }, ['user>external busy 0', 'user>external answer 60'], []],
  ['a telephone that forwards', answered, ['external>user noanswer 0', 'user>user answer 60'], []],
  ['to a colleague', answered, ['external>ivr answer 5', 'ivr>user answer 60', 'user>user answer 9'], toColleague],
  ['outside', answered, ['external>user answer 60', 'user>external answer 9'], ['transferred_out']],
  ['to a queue', answered, ['external>user answer 60', 'user>queue noanswer 0'], ['transferred_out']],
  ['to a mailbox', answered, ['external>user answer 60', 'user>mailbox answer 9'], []],
  ['a call of ours', { ...answered, ...ours }, ['user>external answer 60', 'user>user answer 9'], toColleague],
])('who transferred a call: %s', (_what, call, legs, roles) => {
  const { attributions } = callFacts({ ...voicemail, ...call, startedAt: 0 }, legs.map(numbered), () => null);
  const transfers = attributions.map(({ role }) => role).filter((role) => role.startsWith('transferred'));
  expect(transfers.sort()).toEqual(roles);
});
