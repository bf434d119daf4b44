import { hash } from 'node:crypto';
import { type Database, query, sql } from '../db/database.ts';
import { numbersIn } from '../shared/numbers.ts';
import type { Delivery, ErasedNumbers } from './deliveries.ts';

/** A body with more numbers than this can't be checked in time, so it isn't kept. */
const maxNumbers = 20_000;

/** A receiver loads the erasures at its start, and when it would store a delivery without knowing the newest. */
export function createErasedNumbers(db: Database): ErasedNumbers {
  const hashes = new Set<string>();
  let salt = '';
  let newest = '';

  async function refresh(): Promise<void> {
    // Returns a row even if there are no erasures any more: the database can go back in time.
    const rows = await query(
      db,
      sql<{ hashes: (string | null)[]; salt: string; state: string }>`
        select array_prepend(number_hash, spelling_hashes) as hashes, salt, state
        from ops.erasures_state() state cross join secrets.erasure_salt left join ops.erasures on true where state <> ${newest}`,
    );
    for (const row of rows) {
      for (const known of row.hashes) if (known !== null) hashes.add(known);
      newest = row.state;
      salt = row.salt;
    }
  }

  const isErased = (number: string) => hashes.has(hash('sha256', salt + number, 'hex'));
  const namesErased = (text: string) => {
    const numbers = new Set(numbersIn(text));
    return numbers.size > maxNumbers || [...numbers].some(isErased);
  };

  /** Mirrored calls of people who were erased: an event can name a call without a number. */
  async function erasedCallsOf(deliveries: readonly Delivery[]): Promise<ReadonlySet<string>> {
    const keys = deliveries.flatMap(({ targets }) => targets.filter(({ kind }) => kind !== 'thread'));
    if (keys.length === 0) return new Set();
    const callIds = keys.map(({ key }) => key);
    const rows = await query(
      db,
      sql<{ call_id: string }>`select call_id from warehouse.calls where is_erased and call_id = any(${callIds})`,
    );
    return new Set(rows.map(({ call_id }) => call_id));
  }

  return {
    get hasAny() {
      return hashes.size > 0;
    },
    get newest() {
      return newest;
    },
    async redact(deliveries) {
      const calls = await erasedCallsOf(deliveries);
      return deliveries.map((delivery) => {
        const { targets, body, unread } = delivery;
        const isOfErased = targets.some(({ kind, key }) => (kind === 'thread' ? namesErased(key) : calls.has(key)));
        if (!isOfErased && !namesErased(body) && !namesErased(unread?.toString('latin1') ?? '')) return delivery;
        // Call targets stay: a call id identifies nobody, and the mirror keeps calls without the person.
        const left = targets.filter(({ kind, key }) => kind !== 'thread' || !namesErased(key));
        return { ...delivery, body: '', unread: undefined, isErased: true, targets: left };
      });
    },
    refresh,
  };
}
