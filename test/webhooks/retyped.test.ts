import { expect, test } from 'vitest';
import type { EventType } from '../../src/shared/event-types.ts';
import type { Reference } from '../../src/webhooks/references.ts';
import { received } from './fixtures.ts';
import { between, call, customer, ended, ours, ringing, thread } from './references.ts';

test.each<[string, EventType, object, Reference[]]>([
  ['a call', 'AccountSMS', { webhookType: 'AccountEndedCalls', ...between, callId: ended }, [call(ended, 'ended')]],
  [
    'a ringing call in an envelope',
    'AccountSMS',
    { type: 'AccountRealTimeCalls', data: { ...between, callId: ringing, status: 'ringing' } },
    [call(ringing, 'live')],
  ],
  [
    'a transcript',
    'AccountSMS',
    { webhookType: 'AccountAITranscription', ...between, callId: ended },
    [call(ended, 'transcript')],
  ],
  [
    'a transcript on the path for calls',
    'AccountEndedCalls',
    { webhookType: 'AccountAITranscription', callId: ended },
    [call(ended, 'ended'), call(ended, 'transcript')],
  ],
  [
    'an ended call on the path for transcripts',
    'AccountAITranscription',
    { webhookType: 'AccountEndedCalls', callId: ended },
    [call(ended, 'transcript'), call(ended, 'ended')],
  ],
  [
    'an ended call on the path for live ones',
    'AccountRealTimeCalls',
    { webhookType: 'AccountEndedCalls', callId: ended, status: 'missed' },
    [call(ended, 'live'), call(ended, 'ended')],
  ],
  [
    'a text all the same where it names no call',
    'AccountSMS',
    { webhookType: 'AccountEndedCalls', ...between, id: 5 },
    [thread(ours, customer, '5')],
  ],
  [
    'a text on the path for calls',
    'AccountEndedCalls',
    { webhookType: 'AccountSMS', ...between, id: 5 },
    [thread(ours, customer, '5')],
  ],
  [
    'a text of which nothing but the id is told',
    'AccountSMS',
    { webhookType: 'AccountEndedCalls', messageId: 5 },
    [{ kind: 'message', messageId: '5' }],
  ],
])('an event that says it is of another type than its path is read as %s', (_fact, path, event, references) => {
  expect(received(JSON.stringify(event), path).references).toEqual(references);
});

test('a text that names a call points at both, and one with a mere id of that shape does not', () => {
  const text = { ...between, id: 5 };
  expect(received(JSON.stringify({ ...text, callId: ended }), 'AccountSMS').references).toEqual([
    thread(ours, customer, '5'),
    call(ended, 'ended'),
  ]);
  expect(received(JSON.stringify({ ...between, id: ended }), 'AccountSMS').references).toEqual([
    thread(ours, customer),
  ]);
});

test('a batch on a registered path may hold events of other types', () => {
  const texts = [
    { webhookType: 'AccountSMS', ...between, id: 5 },
    { webhookType: 'AccountEndedCalls', callId: ended },
  ];
  const references = [thread(ours, customer, '5'), call(ended, 'ended')];
  expect(received(JSON.stringify(texts), 'AccountEndedCalls').references).toEqual(references);
  expect(received(JSON.stringify(texts), 'AccountSMS').references).toEqual(references);
});
