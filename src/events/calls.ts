import type { EventType } from '../event-types.ts';
import { unnamedCalls } from './call-ids.ts';
import type { CallHint } from './hint.ts';
import { type EventNode, inheritedWord } from './node.ts';

/**
 * The calls that an event names. Its type says why; where it is no call's type, a ringing call is live and any other
 * is over.
 */
export function callHints(node: EventNode, type: EventType | undefined): CallHint[] {
  const why = reason(node, type);
  return callIdsOf(node, why).map((id) => ({ kind: 'call', callId: id, why }));
}

function reason(node: EventNode, type: EventType | undefined): CallHint['why'] {
  switch (type) {
    case 'AccountAITranscription':
      return 'transcript';
    case 'AccountEndedCalls':
    case 'UserEndedCalls':
      return 'ended';
    case 'AccountRealTimeCalls':
      return inheritedWord(node, 'status') === 'ended' ? 'ended' : 'live';
    default:
      return inheritedWord(node, 'status') === 'ringing' ? 'live' : 'ended';
  }
}

/**
 * The strongest naming wins. Beneath an object that named its call, `uniqueId`, `id` and `recording` belong to a leg,
 * and a leg's id can differ from its call's (specification 2.10).
 */
function callIdsOf(node: EventNode, why: CallHint['why']): readonly string[] {
  if (node.callIds.length > 0 || node.isWithinCall) return node.callIds;
  const ids = unnamedCalls(node.fields);
  if (ids.length > 0) return ids;
  return why === 'transcript' ? recordedCall(node.fields.recording) : [];
}

/**
 * The call id in the name of an audio file: with its dot, or as the longest run of digits that begins like a present
 * unix time, for the name embeds the id "with the dot removed" (specification 2.11).
 */
function recordedCall(recording: unknown): string[] {
  if (typeof recording !== 'string' || recording.length > 1_000) return [];
  const name = recording.split(/[?#]/, 1)[0]?.split('/').at(-1) ?? '';
  const dotted = /(?<![\d.])\d{9,11}\.\d{1,12}(?![\d])/.exec(name)?.[0];
  if (dotted !== undefined) return [dotted];
  const runs = name.match(/(?<!\d)1\d{10,21}(?!\d)/g) ?? [];
  const longest = runs.toSorted((a, b) => b.length - a.length)[0];
  return longest === undefined ? [] : [`${longest.slice(0, 10)}.${longest.slice(10)}`];
}
