import type { Call } from '../account.ts';
import { type Card, type Catalogue, createCatalogue } from '../search/cards.ts';
import { createTable, type RecordChange, type Table } from './table.ts';

export interface CallTable extends Table<string, Call> {
  /** Calls that started within both moments (unix seconds, inclusive), oldest first. */
  between(start: number, end: number): Call[];
  /** Their cards, in the same order. */
  cardsBetween(start: number, end: number): Card[];
  /** What the cards of now refer to. */
  catalogue(): Catalogue;
  /** Reserves so many sequence numbers and returns the first. */
  reserve(count: number): number;
}

/** Calls by id and in order of their start; a call that comes late finds its place. */
export function createCallTable(record: RecordChange): CallTable {
  let sorted: Call[] = [];
  /** Of the call at the same position. */
  let cards: Card[] = [];
  let nextSequence = 100_001;
  let catalogue = createCatalogue();

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
      const replaced = before === undefined ? 0 : 1;
      sorted.splice(at, replaced, call);
      cards.splice(at, replaced, catalogue.cardOf(call));
      nextSequence = Math.max(nextSequence, call.sequence + call.legs.length);
    },
    removed(call) {
      const at = position(call.start, call.sequence);
      sorted.splice(at, 1);
      cards.splice(at, 1);
    },
    cleared() {
      sorted = [];
      cards = [];
      catalogue = createCatalogue();
      nextSequence = 100_001;
    },
  });

  return {
    ...table,
    between: (start, end) => sorted.slice(position(start, 0), position(end + 1, 0)),
    cardsBetween: (start, end) => cards.slice(position(start, 0), position(end + 1, 0)),
    catalogue: () => catalogue,
    reserve(count) {
      const first = nextSequence;
      nextSequence += count;
      return first;
    },
  };
}
