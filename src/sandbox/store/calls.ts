import type { Call } from '../account.ts';
import { createTable, type RecordChange, type Table } from './table.ts';

export interface CallTable extends Table<string, Call> {
  /** Calls that started within both moments (unix seconds, inclusive), oldest first. */
  between(start: number, end: number): Call[];
  /** One page of the calls that started within both moments; its cost does not depend on how many there are. */
  page(start: number, end: number, page: CallPage): { total: number; calls: Call[] };
  /** Reserves so many sequence numbers and returns the first. */
  reserve(count: number): number;
}

interface CallPage {
  offset: number;
  limit: number;
  order: 'oldest first' | 'newest first';
}

/** Calls by id and in order of their start; a call that comes late finds its place. */
export function createCallTable(record: RecordChange): CallTable {
  let sorted: Call[] = [];
  let nextSequence = 100_001;

  /** First position whose call does not stand before (start, sequence). */
  function position(start: number, sequence: number): number {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const call = sorted[middle] as Call;
      if (call.start < start || (call.start === start && call.sequence < sequence)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  const table = createTable<string, Call>('call', (call) => call.id, record, {
    added(call, before) {
      const at = position(call.start, call.sequence);
      if (before !== undefined) sorted[at] = call;
      else if (at === sorted.length) sorted.push(call);
      else sorted.splice(at, 0, call);
      nextSequence = Math.max(nextSequence, call.sequence + call.legs.length);
    },
    removed(call) {
      sorted.splice(position(call.start, call.sequence), 1);
    },
    cleared() {
      sorted = [];
      nextSequence = 100_001;
    },
  });

  return {
    ...table,
    between: (start, end) => sorted.slice(position(start, 0), position(end + 1, 0)),
    page(start, end, { offset, limit, order }) {
      const first = position(start, 0);
      const past = position(end + 1, 0);
      const total = Math.max(0, past - first);
      if (order === 'oldest first') {
        const from = first + offset;
        return { total, calls: sorted.slice(Math.min(from, past), Math.min(from + limit, past)) };
      }
      const to = Math.max(first, past - offset);
      return { total, calls: sorted.slice(Math.max(first, to - limit), to).reverse() };
    },
    reserve(count) {
      const first = nextSequence;
      nextSequence += count;
      return first;
    },
  };
}
