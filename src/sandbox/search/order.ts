import type { Call } from '../account.ts';
import { type CallSummary, statusCode } from '../resources/calls.ts';
import type { SearchRequest } from '../routes/calls/search-request.ts';
import { sortedSlice } from './selection.ts';

type Key = string | number | boolean | undefined;

/** What stands in the order of the field of a summary; absent where the field is. */
const keys: Record<keyof CallSummary, (call: Call) => Key> = {
  id: (call) => call.id,
  direction: (call) => call.direction,
  status: (call) => call.status,
  statusCode,
  callerType: ({ caller }) => caller.type,
  callerName: ({ caller }) => caller.name,
  callerNumber: ({ caller }) => caller.number,
  calledType: ({ called }) => called.type,
  calledName: ({ called }) => called.name,
  calledNumber: ({ called }) => called.number,
  dialledNumber: (call) => call.dialled,
  callerIdInternal: (call) => call.callerIdInternal,
  callerIdExternal: (call) => call.callerIdExternal,
  startTime: (call) => call.start,
  endTime: (call) => (call.hasEnd ? call.start + call.duration : undefined),
  durationSeconds: (call) => call.duration,
  talkTimeSeconds: (call) => call.talk,
  transferred: (call) => call.transfers,
  abandoned: (call) => call.abandoned,
  recorded: (call) => call.recorded,
  calledBack: (call) => call.calledBack,
  repeated: (call) => call.repeated,
};

/**
 * One page of the calls, which come oldest first, in the order asked for: newest first unless told otherwise, and newest
 * first among those whose field is equal. What is absent comes before everything else, or after it when descending.
 */
export function pageOf(calls: readonly Call[], { sort, offset, limit }: SearchRequest): Call[] {
  const end = Math.min(offset + limit, calls.length);
  if (sort === undefined || sort.field === 'startTime') {
    if (sort?.direction === 'asc') return calls.slice(offset, end);
    return calls.slice(calls.length - end, Math.max(0, calls.length - offset)).reverse();
  }
  const values = calls.map(keys[sort.field]);
  const sign = sort.direction === 'asc' ? 1 : -1;
  const order = (one: number, other: number) => sign * compare(values[one], values[other]) || other - one;
  const positions = Uint32Array.from(values.keys());
  return Array.from(sortedSlice(positions, offset, end, order), (position) => calls[position] as Call);
}

function compare(one: Key, other: Key): number {
  if (one === other) return 0;
  if (one === undefined) return -1;
  if (other === undefined) return 1;
  return one < other ? -1 : 1;
}
