import { describe, expect, test } from 'vitest';
import { type Field, UnreadableData } from '../../../src/api-client/answers/values.ts';
import { subscription, user } from '../../../src/api-client/entities/account-schemas.ts';
import { call, callSummary, recording, transcript } from '../../../src/api-client/entities/call-schemas.ts';
import {
  blockedSender,
  conversationState,
  draft,
  line,
  message,
  sent,
  template,
  unreadCounts,
} from '../../../src/api-client/entities/text-schemas.ts';
import { type Json, type Row, readRow, typed } from '../row.ts';

const at = '2026-04-21T18:47:50Z';
const [id, ours, theirs] = ['1783385492.057900', '18457511133', '18455008085'];
// biome-ignore format: a kind of field a line
const summary = {
  id, direction: 'inbound', status: 'answered', statusCode: 1, startTime: at, endTime: '2026-04-21T14:48:50.25-04:00',
  callerType: 'external', callerName: 'A caller', callerNumber: theirs, callerIdInternal: '200', callerIdExternal: ours,
  calledType: 'queue', calledName: 'Sales', calledNumber: '200', dialledNumber: ours,
  durationSeconds: 60, talkTimeSeconds: 0, transferred: 0, abandoned: false, recorded: true, calledBack: '1783385999.12', repeated: 2,
};
// biome-ignore format: a kind of field a line
const spoken = {
  id: 9, callId: id, recording: 'x-17833854931.wav', shortSummary: 's', bulletPoints: ['b'], callPurpose: 'p', callSentiment: 's',
  segments: [{ start: 0.5, end: 2, speaker: 0, text: 'hi' }], customKpis: [{ name: 'k', value: 0, note: '' }],
  customerSatisfactionScore: 0, customerSatisfactionScoreNote: '', agentPerformanceScore: 3, agentPerformanceScoreNote: 'n',
  actionRequired: false, actionRequiredNote: '', urgentActionRequired: true, urgentActionRequiredNote: 'n',
  agentName: 'A', agentSpeaker: 0,
};
// biome-ignore format: a kind of field a line
const texted = {
  id: 110167431, direction: 'in', from: theirs, to: ours, text: 'hello', media: [], sentAt: at, read: false, readBy: [5], sentBy: 5,
  groupParticipants: ['1', '2'], scheduled: false, scheduledAt: at, blocked: true, blockReason: 'spam',
  delivery: { status: 'DELIVRD', error: '', at },
};
// biome-ignore format: a kind of field a line
const person = {
  id: 5, username: '', firstName: 'A', lastName: 'B', title: 't', email: 'a@b.test', mobile: '', company: 'c',
  timeZone: 'America/New_York', extension: '12', extensions: ['200'], lines: [], numbers: ['1'], voicemails: [],
};
// biome-ignore format: a part of the answer a line
const sentText = {
  from: ours, skipped: [{ to: 'as supplied', reason: 'invalid' }],
  billing: { billed: true, currency: 'USD', type: 'mms', units: 1, totalPrice: 0.02, recipientCount: 2, skippedCount: 1 },
  messages: [{ id: 110167431, to: [theirs, '18455008086'], type: 'mms', status: 'sent', media: ['https://media.test/s'], units: 1,
    unitPrice: 0.02, price: 0.02 }],
};
const hook = { name: 'n', description: '', url: 'https://example.test/hooks/t', type: 'AccountSMS', enabled: true };
const link = { url: 'https://media.test/s', startTime: at, durationSeconds: 60, talkTimeSeconds: 40 };

/** Each entity with all of its fields, and the field without which it is none. */
const samples: [name: string, entity: Field<Row>, identity: string | undefined, full: Json][] = [
  ['line', line, 'number', { number: ours, name: '', userIds: [1, 2], bulkEnabled: false }],
  ['user', user, 'id', person],
  ['message', message, 'id', texted],
  ['callSummary', callSummary, 'id', summary],
  ['call', call, 'id', { ...summary, legs: [{ bridgedFromCallId: id, talkTimeSeconds: 5 }] }],
  ['recording', recording, 'uniqueId', { uniqueId: '1783385493.1', callId: id, ...link, from: '200', to: theirs }],
  ['transcript', transcript, 'id', spoken],
  ['subscription', subscription, 'id', { id: 7, ...hook, createdAt: at, updatedAt: at }],
  ['sent', sent, undefined, sentText],
  [
    'conversationState',
    conversationState,
    undefined,
    { line: ours, number: theirs, resolved: true, resolvedBy: 5, resolvedAt: at },
  ],
  ['blockedSender', blockedSender, 'number', { line: ours, number: theirs, reason: '', blockedAt: at }],
  ['unreadCounts', unreadCounts, 'lines', { total: 3, lines: [{ line: ours, count: 3 }] }],
  ['draft', draft, 'draftId', { draftId: 'k', message: '' }],
  ['template', template, 'id', { id: 9, title: 't', body: '' }],
];

function without(row: Json, key: string): Json {
  const { [key]: _, ...rest } = row;
  return rest;
}

describe.each(samples)('%s', (_, entity, identity, full) => {
  const others = Object.keys(full).filter((key) => key !== identity);

  test('is read whole, with its raw object', () => {
    const { row, differences } = readRow(entity, full);
    expect(typed(row)).toEqual(full);
    expect(row?.raw).toEqual(full);
    expect(differences).toEqual([]);
  });

  test.each(others)('survives without %s', (key) => {
    const { row, differences } = readRow(entity, without(full, key));
    expect(typed(row)).toEqual(without(full, key));
    expect(differences).toEqual([]);
  });

  test.each(others)('survives null for %s', (key) => {
    const { row, differences } = readRow(entity, { ...full, [key]: null });
    expect(typed(row)).toEqual(without(full, key));
    expect(differences).toEqual([`null rows[].${key}: null`]);
  });

  test.each(others)('survives another type for %s', (key) => {
    const wrong = typeof full[key] === 'object' ? 1.5 : { secret: 'x' };
    const { row, differences } = readRow(entity, { ...full, [key]: wrong });
    expect(typed(row)).toEqual(without(full, key));
    expect(differences).toEqual([expect.stringContaining(`wrong_type rows[].${key}: `)]);
    expect(differences.join()).not.toContain('secret');
  });

  const unusable = [undefined, null, '', {}].flatMap((id) => (identity === undefined ? [] : [[identity, id] as const]));

  test.each(unusable)('makes the answer unreadable when its %s is %j', (identity, id) => {
    expect(() => readRow(entity, { ...full, [identity]: id })).toThrow(UnreadableData);
  });

  test.each([null, 'text', 5, []])('makes the answer unreadable when it is %j', (row) => {
    expect(() => readRow(entity, row)).toThrow(UnreadableData);
  });

  test('keeps unknown keys aside', () => {
    const { row, differences } = readRow(entity, { ...full, wrapUp: 'x', '18455008085': 1 });
    expect(typed(row)).toEqual(full);
    expect(row?.unknownKeys).toEqual(['wrapUp', '18455008085']);
    expect(differences).toEqual(['unknown_key rows[].wrapUp: text', 'unknown_key rows[].*: number']);
  });
});

test('undocumented fields of a leg are kept, and are no difference', () => {
  const { row, differences } = readRow(call, { id: '1783385492.1', legs: [{ queueWait: 5 }] });
  expect(row?.legs).toMatchObject([{ raw: { queueWait: 5 }, unknownKeys: ['queueWait'] }]);
  expect(differences).toEqual([]);
});

test('a leg that is none makes all legs of the call unknown', () => {
  const { row, differences } = readRow(call, { id: '1783385492.1', legs: [{ queueWait: 5 }, 'x'] });
  expect(typed(row)).toEqual({ id: '1783385492.1' });
  expect(differences).toEqual(['wrong_type rows[].legs[]: text']);
});

test('a send without most of its answer is still a send', () => {
  const { row } = readRow(sent, { messages: [{}, { id: null, status: 'queued' }], skipped: 'none' });
  expect(row).toMatchObject({ messages: [{ id: undefined }, { id: undefined, status: 'queued' }], skipped: undefined });
});

test('an unread line that cannot be named makes the counts unreadable', () => {
  expect(() => readRow(unreadCounts, { total: 3, lines: [{ count: 1 }, { line: '1', count: 2 }] })).toThrow(
    UnreadableData,
  );
});

test('an entity that is written down or copied leaves out the object as it came', () => {
  const { row } = readRow(recording, {
    uniqueId: '1783385492.1',
    callId: '1783385492.1',
    url: 'https://secret.test/1',
  });
  expect(row?.raw).toMatchObject({ url: 'https://secret.test/1' });
  expect(JSON.stringify(row).split('secret.test')).toHaveLength(2);
  expect(Object.keys({ ...row })).not.toContain('raw');
});

test.each([
  ['user', user, { id: '9007199254740993' }],
  ['subscription', subscription, { id: '9007199254740993' }],
  ['template', template, { id: '9007199254740993' }],
  ['line', line, { number: '18457511133', userIds: ['9007199254740993'] }],
  ['message', message, { id: 5, readBy: ['9007199254740993'], sentBy: '9007199254740993' }],
] as const)('a %s keeps ids beyond what a double holds exactly', (_name, entity, row) => {
  expect(readRow(entity as Field<Row>, row).row).toMatchObject(row);
});
