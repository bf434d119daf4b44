import type { Call } from '../account.ts';
import { createTable, lowerBound, type RecordChange } from './table.ts';

const firstSequence = 100_001;

/** Calls by id and by start. Calls may be added in any order. */
export function createCallTable(record: RecordChange) {
  let sorted: Call[] = [];
  let nextSequence = firstSequence;

  /** First position whose call isn't before (start, sequence). */
  const position = (start: number, sequence: number) =>
    lowerBound(sorted, (call) => call.start < start || (call.start === start && call.sequence < sequence));

  const table = createTable<string, Call>('call', (call) => call.id, record, {
    added(call, before) {
      sorted.splice(position(call.start, call.sequence), before === undefined ? 0 : 1, call);
      nextSequence = Math.max(nextSequence, call.sequence + call.legs.length);
    },
    removed(call) {
      sorted.splice(position(call.start, call.sequence), 1);
    },
    cleared() {
      sorted = [];
      nextSequence = firstSequence;
    },
  });

  return {
    ...table,
    /** Calls that started between both times (unix seconds, inclusive), oldest first. */
    between: (start: number, end: number): Call[] => sorted.slice(position(start, 0), position(end + 1, 0)),
    /** Reserves sequence numbers and returns the first. */
    reserve(count: number): number {
      const first = nextSequence;
      nextSequence += count;
      return first;
    },
  };
}
