import { listOf, one, optional, requiredObject, requiredRows } from '../answers/fields.ts';
import { integer, type ReadReport } from '../answers/values.ts';
import { type CallSummary, call, callSummary, recording, transcript } from '../entities/calls.ts';
import { callIdProblem, searchProblem } from '../requests/parameters.ts';
import { type CallOptions, get, post } from '../transport/operation.ts';
import type { Transport } from '../transport/transport.ts';

type Direction = 'inbound' | 'outbound';

/** Either end may be left out. */
export interface Range {
  start?: string | undefined;
  end?: string | undefined;
}

/** Section 4.6: excludes apply after includes; durations are text in seconds, times of day `HH:MM`. */
export interface CallFilters {
  numbers?: readonly string[] | undefined;
  numbersExclude?: readonly string[] | undefined;
  extensions?: readonly string[] | undefined;
  extensionsExclude?: readonly string[] | undefined;
  queues?: readonly string[] | undefined;
  queuesExclude?: readonly string[] | undefined;
  huntgroups?: readonly string[] | undefined;
  huntgroupsExclude?: readonly string[] | undefined;
  users?: readonly string[] | undefined;
  directions?: readonly Direction[] | undefined;
  statuses?: readonly ('answered' | 'missed' | 'voicemail')[];
  search?: string | undefined;
  duration?: Range | undefined;
  talkTime?: Range | undefined;
  waitTime?: Range | undefined;
  timeOfDay?: Range | undefined;
  callPurpose?: readonly string[] | undefined;
  callSentiment?: readonly string[] | undefined;
}

export interface CallSearch {
  /** Unix seconds. */
  start: number;
  /** Unix seconds, after `start`, at most 366 days after it. */
  end: number;
  timeZone?: string | undefined;
  /** The service's default is 50 and its cap 500. */
  limit?: number | undefined;
  offset?: number | undefined;
  direction?: Direction | undefined;
  filters?: CallFilters | undefined;
  /** `field` is the name of a response field. Without it the newest come first. */
  sort?: { field: string; direction: 'asc' | 'desc' };
}

/** A page of calls with the values that the service applied, where it reported them. */
export interface CallPage {
  /** Across all pages. */
  total?: number | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
  calls: readonly CallSummary[];
}

/**
 * Section 4.6: call history, its recordings and transcripts. An OAuth user needs the permission Call reports, and for
 * recordings and transcripts "allow recordings": `permission_denied` otherwise. Where the account asks for another
 * verification before sensitive content, everyone is refused recordings. Call ids are text (section 2.9).
 */
export function createCalls({ repeatable }: Transport) {
  return {
    /** Scope reports:read: creates nothing and is safe to repeat. */
    search: (query: CallSearch, options?: CallOptions) =>
      repeatable(options, {
        name: 'calls.search',
        ...post`/calls/search`,
        body: query,
        problem: searchProblem(query),
        read: readPage,
      }),
    /** Scope reports:read. `not_found` when it is not the account's. */
    get: (id: string, options?: CallOptions) =>
      repeatable(options, {
        name: 'calls.get',
        ...get`/calls/${id}`,
        problem: callIdProblem(id),
        read: one('call', call),
      }),
    /** Scope recordings:read; an empty list is normal. `not_found` when the call is not the account's. */
    recordings: (id: string, options?: CallOptions) =>
      repeatable(options, {
        name: 'calls.recordings',
        ...get`/calls/${id}/recordings`,
        problem: callIdProblem(id),
        read: listOf('recordings', recording),
      }),
    /** Scope recordings:read; an empty list is normal. */
    transcripts: (id: string, options?: CallOptions) =>
      repeatable(options, {
        name: 'calls.transcripts',
        ...get`/calls/${id}/transcripts`,
        problem: callIdProblem(id),
        read: listOf('transcripts', transcript),
      }),
  };
}

function readPage(data: unknown, report: ReadReport): CallPage {
  const object = requiredObject(data, 'data');
  return {
    total: optional(object, 'total', integer, report),
    limit: optional(object, 'limit', integer, report),
    offset: optional(object, 'offset', integer, report),
    calls: requiredRows(object.calls, callSummary, report, 'calls'),
  };
}
