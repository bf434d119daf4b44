import { type Asked, notFound, type Reply } from '../world/service.ts';

/** What a service shows of one call; what is left out it does not have. */
export interface ShownCall {
  call?: Reply;
  recordings?: Reply;
  transcripts?: Reply;
}

let sequence = 0;

/** An id of a call that began so many seconds ago. */
export function callId(secondsAgo = 30): string {
  sequence += 1;
  return `${Math.floor(Date.now() / 1000) - secondsAgo}.${String(sequence).padStart(6, '0')}`;
}

/** A call as section 2.9 shows it, ended now. */
export function shownCall(id: string, more: object = {}): Record<string, unknown> {
  const began = Number(id.split('.')[0]) * 1000;
  return {
    id,
    direction: 'inbound',
    status: 'answered',
    statusCode: 1,
    callerType: 'external',
    callerName: 'WIRELESS CALLER',
    callerNumber: '15550000002',
    calledType: 'user',
    calledName: 'Reception',
    calledNumber: '101',
    dialledNumber: '15550000001',
    startTime: new Date(began).toISOString(),
    endTime: new Date().toISOString(),
    durationSeconds: 30,
    talkTimeSeconds: 20,
    transferred: 0,
    abandoned: false,
    recorded: true,
    repeated: 0,
    legs: [{ uniqueId: id, bridgedFromCallId: null }],
    ...more,
  };
}

export function shownRecording(uniqueId: string, more: object = {}): Record<string, unknown> {
  const url = `https://media.example/${uniqueId}?signature=secret`;
  const times = { startTime: '2026-04-21T18:47:50Z', durationSeconds: 30, talkTimeSeconds: 20 };
  return { uniqueId, callId: uniqueId, url, ...times, from: '101', to: '102', ...more };
}

export function shownTranscript(id: number, uniqueId: string, more: object = {}): Record<string, unknown> {
  const segments = [{ start: 0, end: 1.5, speaker: 0, text: 'Hello' }];
  return { id, callId: uniqueId, recording: `out-${uniqueId.replace('.', '')}.wav`, segments, ...more };
}

/** Answers for the calls of a table; any other is not found. */
export function callService(calls: Map<string, ShownCall>): (asked: Asked) => Reply {
  return ({ path }) => {
    const [, , id = '', part = 'call'] = path.split('/');
    return calls.get(id)?.[part as keyof ShownCall] ?? (calls.has(id) ? { data: [] } : notFound);
  };
}
