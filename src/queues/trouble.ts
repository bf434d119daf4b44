import type { Log } from '../log.ts';

/** Tells the log when the store of the queues goes away and when it is back, once each and not per retry. */
export interface Trouble {
  report(error: unknown): void;
  isOver(): void;
  /** Tells nothing from now on: what connections hear that are given up concerns nobody. */
  end(): void;
}

export function createTrouble(log: Log, backend: string): Trouble {
  let isInTrouble = false;
  let isEnded = false;
  return {
    report(err) {
      if (isInTrouble || isEnded) return;
      isInTrouble = true;
      log.warn({ err, backend }, 'the queues cannot be reached; targets wait in Postgres');
    },
    isOver() {
      if (!isInTrouble || isEnded) return;
      isInTrouble = false;
      log.info({ backend }, 'the queues are back');
    },
    end() {
      isEnded = true;
    },
  };
}
