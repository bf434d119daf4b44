import type { Leg } from '../api-client/client.ts';
import { mirrorTable } from './upsert.ts';

/** A leg, with a key that is unique within its call. */
export interface ListedLeg {
  readonly callId: string;
  readonly key: string;
  readonly ordinal: number;
  readonly leg: Leg;
}

export const callLegs = mirrorTable<ListedLeg>()('warehouse.call_legs', ['call_id', 'leg_key'], {
  call_id: ['text', ({ callId }) => callId],
  leg_key: ['text', ({ key }) => key],
  ordinal: ['smallint', ({ ordinal }) => ordinal],
  unique_id: ['text', ({ leg }) => leg.uniqueId],
  leg_call_id: ['text', ({ leg }) => leg.callId ?? leg.id],
  bridged_from_call_id: ['text', ({ leg }) => leg.bridgedFromCallId],
  started_at: ['timestamptz', ({ leg }) => leg.startTime],
  ended_at: ['timestamptz', ({ leg }) => leg.endTime],
  direction: ['text', ({ leg }) => leg.direction],
  status: ['text', ({ leg }) => leg.status],
  // Captured deliveries use other words for some fields. They count if a leg lacks the words of a call.
  caller_type: ['text', ({ leg }) => leg.callerType ?? wordOf(leg.raw.sendType)],
  caller_name: ['text', ({ leg }) => leg.callerName],
  caller_number: ['text', ({ leg }) => leg.callerNumber],
  called_type: ['text', ({ leg }) => leg.calledType ?? wordOf(leg.raw.destinationType ?? leg.raw.type)],
  called_name: ['text', ({ leg }) => leg.calledName],
  called_number: ['text', ({ leg }) => leg.calledNumber],
  duration_seconds: ['integer', ({ leg }) => leg.durationSeconds],
  talk_seconds: ['integer', ({ leg }) => leg.talkTimeSeconds ?? secondsOf(leg.raw.talkDuration)],
  is_recorded: ['boolean', ({ leg }) => booleanOf(leg.raw.recorded)],
});

/** The key of a leg is its uniqueId, or its position if that is missing or repeated. */
export function keyedLegs(callId: string, legs: readonly Leg[]): ListedLeg[] {
  const taken = new Set<string>();
  return legs.map((leg, at) => {
    const id = leg.uniqueId ?? '';
    const key = id === '' || taken.has(id) ? `#${at + 1}` : id;
    taken.add(key);
    return { callId, key, ordinal: at + 1, leg };
  });
}

function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w -]{1,30}$/.test(value) ? value : undefined;
}

function secondsOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : undefined;
}
