import type { CallFilters, Service } from '../api-client/client.ts';
import type { TimeRange } from '../shared/time-range.ts';
import type { OnAnswer } from '../warehouse/drift.ts';
import { secondOf } from './coverage/listing.ts';

/** The service caps larger limits (section 8). */
const pageSize = 500;
/** Section 4.6 does not show the names. A user is named by the id "used everywhere else" (section 2.8). */
const filtersOf = {
  status: (name: string): CallFilters => {
    const [direction, status] = name.split(' ') as ['inbound', 'answered'];
    return { directions: [direction], statuses: [status] };
  },
  day: (): CallFilters => ({}),
  queue: (name: string): CallFilters => ({ queues: [name] }),
  huntgroup: (name: string): CallFilters => ({ huntgroups: [name] }),
  user: (name: string): CallFilters => ({ users: [name] }),
};

export interface CallFilter {
  readonly kind: keyof typeof filtersOf;
  readonly name: string;
}

/** A local day that is over. */
export interface ClosedDay extends TimeRange {
  /** Such as 2026-11-25. */
  readonly date: string;
}

/** What the service lists by one filter. */
export interface FilteredCalls extends CallFilter {
  readonly callIds: readonly string[];
  /** How many calls the service counts; undefined where it does not say. */
  readonly total: number | undefined;
  /** It listed as many calls as it counts. */
  readonly isComplete: boolean;
  readonly requests: number;
}

/** Lists the calls that began in a range, in Unix seconds, by a filter; of all calls only counts them. Rejects with `ServiceError`. */
export async function listByFilter(
  { service, onAnswer }: { readonly service: Service; readonly onAnswer: OnAnswer },
  { from, to }: TimeRange,
  { kind, name }: CallFilter,
  signal?: AbortSignal,
): Promise<FilteredCalls> {
  const isCount = kind === 'day';
  const listed = new Set<string>();
  const callIds = new Set<string>();
  for (let requests = 1, offset = 0; ; requests += 1) {
    // Section 4.6 does not say whether the ends of a window belong to it.
    const window = isCount ? { start: from, end: to - 1, limit: 1 } : { start: from - 1, end: to, limit: pageSize };
    const search = { ...window, offset, filters: filtersOf[kind](name) };
    const answer = await service.calls.search(search, signal && { signal });
    onAnswer('calls.search', answer);
    const { calls, total } = answer.data;
    const before = listed.size;
    for (const call of calls) {
      listed.add(call.id);
      const second = secondOf(call);
      if (call.startTime === undefined || (second >= from && second < to)) callIds.add(call.id);
    }
    offset += calls.length;
    const isLast = isCount || listed.size === before || (total !== undefined && offset >= total);
    if (!isLast) continue;
    await service.confirmAccount('calls.search', signal);
    return { kind, name, callIds: [...callIds], total, isComplete: isCount || listed.size >= (total ?? 0), requests };
  }
}
