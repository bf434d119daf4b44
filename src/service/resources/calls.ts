import type { Answer } from '../answers/envelope.ts';
import { optional, requiredEntity, requiredObject, requiredRows } from '../answers/fields.ts';
import type { Reading } from '../answers/reading.ts';
import { integer } from '../answers/values.ts';
import { type Call, type CallSummary, call, callSummary } from '../entities/call.ts';
import { type Recording, recording } from '../entities/recording.ts';
import { type Transcript, transcript } from '../entities/transcript.ts';
import { callIdFault } from '../requests/identifiers.ts';
import { searchFault } from '../requests/windows.ts';
import { path } from '../transport/address.ts';
import type { CallOptions, Transport } from '../transport/transport.ts';

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

/** A page of calls with the values that the service applied; each is undefined when it did not say. */
export interface CallPage {
  /** Across all pages. */
  total?: number | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
  calls: readonly CallSummary[];
}

/**
 * Section 4.6: call history, its recordings and transcripts. An OAuth user needs the permission Call reports, for
 * recordings and transcripts with "allow recordings": `permission_denied` otherwise. Recordings are refused to everyone
 * where the account verifies sensitive content again. A call id is text, and stays it (section 2.9).
 */
export interface Calls {
  /** `POST /calls/search`, scope reports:read; creates nothing and is safe to repeat. */
  search(query: CallSearch, call?: CallOptions): Promise<Answer<CallPage>>;
  /** `GET /calls/{callid}`, scope reports:read. `not_found` when it is not the account's. */
  get(callId: string, call?: CallOptions): Promise<Answer<Call>>;
  /** `GET /calls/{callid}/recordings`, scope recordings:read; none is normal. `not_found` when it is not the account's. */
  recordings(callId: string, call?: CallOptions): Promise<Answer<readonly Recording[]>>;
  /** `GET /calls/{callid}/transcripts`, scope recordings:read; none is normal. */
  transcripts(callId: string, call?: CallOptions): Promise<Answer<readonly Transcript[]>>;
}

export function createCalls(transport: Transport): Calls {
  return {
    search: (query, options) =>
      transport.repeatable(
        {
          name: 'calls.search',
          method: 'POST',
          path: path`/calls/search`,
          body: query,
          fault: searchFault(query),
          read: readPage,
        },
        options,
      ),
    get: (callId, options) =>
      transport.repeatable(
        {
          name: 'calls.get',
          method: 'GET',
          path: path`/calls/${callId}`,
          fault: callIdFault(callId),
          read: (data, reading) => requiredEntity(data, call, reading, 'call'),
        },
        options,
      ),
    recordings: (callId, options) =>
      transport.repeatable(
        {
          name: 'calls.recordings',
          method: 'GET',
          path: path`/calls/${callId}/recordings`,
          fault: callIdFault(callId),
          read: (data, reading) => requiredRows(data, recording, reading, 'recordings'),
        },
        options,
      ),
    transcripts: (callId, options) =>
      transport.repeatable(
        {
          name: 'calls.transcripts',
          method: 'GET',
          path: path`/calls/${callId}/transcripts`,
          fault: callIdFault(callId),
          read: (data, reading) => requiredRows(data, transcript, reading, 'transcripts'),
        },
        options,
      ),
  };
}

function readPage(data: unknown, reading: Reading): CallPage {
  const object = requiredObject(data, 'data');
  return {
    total: optional(object, 'total', integer, reading),
    limit: optional(object, 'limit', integer, reading),
    offset: optional(object, 'offset', integer, reading),
    calls: requiredRows(object.calls, callSummary, reading, 'calls'),
  };
}
