import { hash } from 'node:crypto';
import type { Log } from '../log.ts';
import { type Database, query } from '../warehouse/database.ts';
import { threadOf } from '../warehouse/entities/texts/conversations.ts';
import { mayMention } from '../warehouse/erasure/mentions.ts';
import { withholdUnread } from '../warehouse/erasure/unread.ts';
import type { Delivery } from './deliveries.ts';

/** How often the numbers that were erased are asked for, in milliseconds: an erasure waits until everybody knows it. */
export const erasedRefreshMs = 2_000;

/** A text that came in, as the kept body of its event says it. */
export const inbound = /"direction":"(?:in|inbound|incoming|received)"/i;
const mostTold = 10_000;

/** Who was erased, as a receiver keeps it in memory: hashes, which deliveries are held against before they are stored. */
export interface ErasedNumbers {
  /** False costs a delivery nothing more. */
  readonly hasAny: boolean;
  /** The newest erasure that is known here, which `ops.knows_erasures` holds against those that there are. */
  readonly newest: string;
  /** The deliveries as they may be stored: without a body where they tell of somebody who was erased. */
  clear(deliveries: readonly Delivery[]): Promise<readonly Delivery[]>;
  refresh(): Promise<void>;
  stop(): void;
}

export function createErasedNumbers(db: Database, log: Log): ErasedNumbers {
  const hashes = new Set<string>();
  /** Fingerprints of deliveries whose text was counted as withheld. */
  const told = new Set<string>();
  let salt = '';
  let newest = '0';

  async function refresh(): Promise<void> {
    try {
      const rows = await query<{ erasure_id: string; number_hash: string; spelling_hashes: string[]; salt: string }>(
        db,
        `select erasure_id, number_hash, spelling_hashes, salt from ops.erasures cross join secrets.erasure_salt
         where erasure_id > $1 order by erasure_id`,
        [newest],
      );
      for (const row of rows) {
        for (const known of [row.number_hash, ...row.spelling_hashes]) hashes.add(known);
        newest = row.erasure_id;
        salt = row.salt;
      }
    } catch (error) {
      log.debug({ err: error }, 'Who was erased could not be refreshed; those known are kept out');
    }
  }

  const isErased = (number: string) => hashes.has(hash('sha256', salt + number, 'hex'));
  const isMentioned = (text: string) => mayMention(text, isErased);

  /** Calls of somebody who was erased, as far as the mirror knows them: an event can tell of one without a number. */
  async function erasedCallsOf(deliveries: readonly Delivery[]): Promise<ReadonlySet<string>> {
    const keys = deliveries.flatMap(({ targets }) => targets.filter(({ kind }) => kind !== 'thread'));
    if (keys.length === 0) return new Set();
    const rows = await query<{ call_id: string }>(
      db,
      'select call_id from warehouse.calls where is_erased and call_id = any($1)',
      [keys.map(({ key }) => key)],
    );
    return new Set(rows.map(({ call_id }) => call_id));
  }

  /** The service counts an inbound text that nobody will mirror; a repeated delivery tells of no second one. */
  function unreadOf({ targets, body, fingerprint }: Delivery): { line: string; unread: number }[] {
    const withheld = targets.filter(({ kind, key }) => kind === 'thread' && isMentioned(key));
    if (withheld.length === 0 || !inbound.test(body) || told.has(fingerprint)) return [];
    if (told.size >= mostTold) told.clear();
    told.add(fingerprint);
    return withheld.map(({ key }) => ({ line: threadOf(key).line, unread: 1 }));
  }

  const timer = setInterval(refresh, erasedRefreshMs).unref();
  return {
    get hasAny() {
      return hashes.size > 0;
    },
    get newest() {
      return newest;
    },
    async clear(deliveries) {
      const calls = await erasedCallsOf(deliveries);
      await withholdUnread(db, deliveries.flatMap(unreadOf));
      return deliveries.map((delivery) => {
        const { targets, body } = delivery;
        const isOfErased = targets.some(({ kind, key }) => (kind === 'thread' ? isMentioned(key) : calls.has(key)));
        return isOfErased || isMentioned(body) ? emptied(delivery, isMentioned) : delivery;
      });
    },
    refresh,
    stop: () => clearInterval(timer),
  };
}

/** Calls are still read: their ids name nobody, and their rows stay in the mirror without the person. */
function emptied(delivery: Delivery, isMentioned: (text: string) => boolean): Delivery {
  const targets = delivery.targets.filter(({ kind, key }) => kind !== 'thread' || !isMentioned(key));
  return { ...delivery, body: '', fingerprint: '', targets };
}
