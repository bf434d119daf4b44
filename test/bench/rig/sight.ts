import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';

/** A row that takes longer is taken for lost: a busy machine with a backlog may need a minute. */
const longestMs = 120_000;

/** Looking more often would take the time from what is measured. */
const lookMs = 3;

/** Sees rows appear: it asks for those that are awaited on a connection of its own, every few milliseconds. */
export interface Sight {
  /** Resolves to when the row was first seen, in `performance.now()`: at most one question later than it was committed. Rejects when it does not come. */
  of(key: string): Promise<number>;
  /** How long each question took, in milliseconds. */
  readonly questions: readonly number[];
}

/** `sql` gets the awaited keys as `$1` and answers with those that are there, as `key`. */
export function watchRows(client: Client, sql: string): Sight {
  const awaited = new Map<string, { since: number; resolve: (at: number) => void; reject: (error: unknown) => void }>();
  const questions: number[] = [];
  let isLooking = false;

  async function look(): Promise<void> {
    isLooking = true;
    try {
      while (awaited.size > 0) {
        const asked = performance.now();
        const { rows } = await client.query<{ key: string }>(sql, [[...awaited.keys()]]);
        const at = performance.now();
        questions.push(at - asked);
        for (const { key } of rows) {
          awaited.get(key)?.resolve(at);
          awaited.delete(key);
        }
        for (const [key, { since, reject }] of awaited) {
          if (at - since < longestMs) continue;
          awaited.delete(key);
          reject(new Error(`The row ${key} was not seen within ${longestMs} ms`));
        }
        await sleep(lookMs);
      }
    } catch (error) {
      for (const { reject } of awaited.values()) reject(error);
      awaited.clear();
    }
    isLooking = false;
  }

  return {
    questions,
    of(key) {
      return new Promise((resolve, reject) => {
        awaited.set(key, { since: performance.now(), resolve, reject });
        if (!isLooking) void look();
      });
    },
  };
}
