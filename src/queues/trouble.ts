import type { Log } from '../log.ts';

/** Tells the log when the store of the queues goes away and when it is back, once each and not per retry. */
export interface Trouble {
  report(error: unknown): void;
  isOver(): void;
}

export function createTrouble(log: Log, backend: string): Trouble {
  let isInTrouble = false;
  return {
    report(err) {
      if (isInTrouble) return;
      isInTrouble = true;
      log.warn({ err, backend }, 'the queues cannot be reached; targets wait in Postgres');
    },
    isOver() {
      if (!isInTrouble) return;
      isInTrouble = false;
      log.info({ backend }, 'the queues are back');
    },
  };
}
