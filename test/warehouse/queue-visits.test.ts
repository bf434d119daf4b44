import { expect, test } from 'vitest';
import type { CallColumns, LegColumns } from '../../src/warehouse/call-facts.ts';
import { type Group, type Outcome, queueVisits } from '../../src/warehouse/queue-visits.ts';

const start = Date.parse('2026-03-02T15:00:00Z');
const nobody = { callerType: null, callerNumber: null, calledType: null, calledName: null, calledNumber: null };
const call: CallColumns = {
  ...{ ...nobody, direction: 'inbound', status: null, statusCode: null, startedAt: start, endedAt: start + 100_000 },
  ...{ talkSeconds: null, isRecorded: null, isAbandoned: null, accountNumber: null, hasLegs: true },
};

/** `queue:601 10 30`: whom it called, its start in seconds from the call's, how long it rang, and talked if it did; `-`: not reported. */
function leg(text: string, at: number): LegColumns {
  const [called = '-', from = '-', ring = '-', talk = '0'] = text.split(' ');
  const [type = '-', number] = called.split(':');
  const startedAt = from === '-' ? null : start + Number(from) * 1_000;
  const durationSeconds = ring === '-' ? null : Number(ring) + Number(talk);
  return {
    ...{ ...nobody, ordinal: at + 1, calledType: type === '-' ? null : type, calledNumber: number ?? null },
    ...{ status: null, startedAt, endedAt: null, durationSeconds, talkSeconds: Number(talk), isRecorded: null },
  };
}

function visits(outcome: string, legs: readonly string[], entered: readonly Group[] = [], columns = {}) {
  const ended: Outcome = { outcome, waitSeconds: 7, waitBasis: 'duration_minus_talk' };
  return queueVisits({ ...call, ...columns, ...ended }, legs.map(leg), entered).map((visit) => {
    const entry = visit.enteredAt === null ? 'entered' : `${(visit.enteredAt - start) / 1_000}`;
    const next = visit.nextQueue === null ? '' : ` into ${visit.nextQueue}`;
    const wait = visit.waitBasis === 'unknown' ? '' : ` ${visit.waitSeconds} by ${visit.waitBasis}`;
    return `${entry} ${visit.kind}:${visit.endpoint} ${visit.outcome}${wait}${next}`;
  });
}

test.each<[string, string, string[], string[]]>([
  ['answered', 'answered', ['ivr 0 10', 'queue:601 10 20', 'user:201 30 5 60'], ['10 queue:601 answered 25 by legs']],
  [
    'overflowed, and answered in the second',
    'answered',
    ['queue:601 10 30', 'huntgroup:Front 40 10', 'user:201 50 5 60'],
    ['10 queue:601 overflowed 30 by legs into huntgroup:Front', '40 huntgroup:Front answered 15 by legs'],
  ],
  [
    'a telephone that only rang is a part of the visit',
    'answered',
    ['queue:601 10 30', 'user:201 15 10', 'external:15551112222 30 5 9'],
    ['10 queue:601 answered 25 by legs'],
  ],
  ['given up', 'abandoned', ['queue:601 10 30', 'user:201 15 10'], ['10 queue:601 abandoned 90 by legs']],
  ['given up at once', 'short_abandoned', ['queue:601 97 3'], ['97 queue:601 short_abandoned 3 by legs']],
  ['into the mailbox', 'voicemail', ['queue:601 10 30', 'mailbox:201 40 0 20'], ['10 queue:601 voicemail 30 by legs']],
  ['back into the menu', 'missed', ['queue:601 10 30', 'ivr:500 40 9'], ['10 queue:601 left 30 by legs']],
  [
    'nobody answered where the first to answer passed the caller on',
    'answered',
    ['user:201 0 5 20', 'queue:601 25 30'],
    ['25 queue:601 missed 75 by legs'],
  ],
  ['followed by a leg without a type', 'missed', ['queue:601 10 30', '- 40 1'], ['10 queue:601 unknown']],
  ['followed by nothing, of an answered call', 'answered', ['queue:601 10 30'], ['10 queue:601 answered']],
  ['without times', 'missed', ['queue:601 - -', 'user:201 - - 9'], ['entered queue:601 answered']],
  ['ended before it was entered', 'missed', ['queue:601 200 1'], ['200 queue:601 missed']],
  ['in other words', 'missed', ['Hunt-Group:701 10 30', 'VOICEMAIL 40 0'], ['10 huntgroup:701 voicemail 30 by legs']],
  ['a queue without number and name is none', 'missed', ['queue 10 30'], []],
  ['no queue', 'missed', ['ivr:500 0 5', 'user:201 5 10'], []],
])('visits of a call: %s', (_, outcome, legs, expected) => {
  expect(visits(outcome, legs)).toEqual(expected);
});

const calledQueue = { calledType: 'queue', calledNumber: '603' };
const queue = (endpoint: string) => ({ kind: 'queue', endpoint }) as const;

test.each<[string, string[], Group[], object, string[]]>([
  ['its called end', [], [], calledQueue, ['entered queue:603 missed 7 by duration_minus_talk']],
  ['the same by a search', [], [queue('603')], calledQueue, ['entered queue:603 missed 7 by duration_minus_talk']],
  ['another by a search', [], [queue('602')], calledQueue, ['entered queue:602 unknown', 'entered queue:603 unknown']],
  ['legs without types', ['- 0 9'], [], calledQueue, ['entered queue:603 missed 7 by duration_minus_talk']],
  ['legs to others', ['user:201 0 9'], [], calledQueue, []],
  ['legs to one, another by a search', ['queue:601 0 9'], [queue('602')], {}, ['0 queue:601 missed 100 by legs']],
])('visits of a call without legs to a queue: %s', (_, legs, entered, columns, expected) => {
  expect(visits('missed', legs, entered, columns)).toEqual(expected);
});
