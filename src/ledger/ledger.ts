import type { Messages } from '../api-client/client.ts';
import type { Database } from '../db/database.ts';
import type { DueTarget } from '../inbox/targets.ts';
import type { Log } from '../shared/log.ts';
import type { Thread } from '../shared/thread.ts';
import type { Mode } from './limits.ts';

export interface LedgerDeps {
  readonly db: Database;
  readonly log: Log;
  /** The only reference to the API's send operation in the program. */
  readonly messages: Messages;
  /** Reads a thread now and mirrors it. Returns true if the mirror then holds the whole thread. */
  readonly readThread: (thread: Thread) => Promise<boolean>;
  /** Asks the service whether the line has blocked the number. */
  readonly isBlocked: (line: string, number: string) => Promise<boolean>;
  /** `off` refuses every send. `dry-run` passes all gates, but reserves and sends nothing. */
  readonly mode: Mode;
  readonly notify: (due: readonly DueTarget[]) => void;
  readonly timing?: Partial<LedgerTiming>;
}

/** Milliseconds. */
export interface LedgerTiming {
  /** How long a worker may hold a RESERVED send, and after its dispatch the DISPATCHED one. */
  readonly leaseMs: number;
  /** Timeout of the request. Must be well below the lease. */
  readonly answerMs: number;
  /**
   * Maximum time from the start of the dispatch to the first byte. A worker that stalls longer sends nothing. Must be
   * well below the lease.
   */
  readonly stallMs: number;
  /** When to read the thread of an UNKNOWN send, counted from its dispatch. Manual review follows the last read. */
  readonly reconcileAtMs: readonly number[];
  /** After the last scheduled read, an incomplete thread is read again for this long before manual review. */
  readonly graceMs: number;
  /** Minimum wait before a failed read of a thread is repeated. */
  readonly readRetryMs: number;
  /** The first wait after a request that provably had no effect. Later waits are longer. */
  readonly retryMs: number;
  /** Wait before the gates judge again a send that is HELD because of other sends or the rules. */
  readonly waitMs: number;
  /** After this time, another worker may take up a due send: the worker that took it may have died. */
  readonly lostAfterMs: number;
}

const minutes = 60_000;

export const defaultLedgerTiming: LedgerTiming = {
  leaseMs: 60_000,
  answerMs: 20_000,
  stallMs: 5_000,
  reconcileAtMs: [15_000, minutes, 5 * minutes, 30 * minutes, 120 * minutes, 1_440 * minutes],
  graceMs: 60 * minutes,
  readRetryMs: 15_000,
  retryMs: 5_000,
  waitMs: 1_000,
  lostAfterMs: 10_000,
};

/** The dependencies, with defaults filled in. */
export type Ledger = Omit<LedgerDeps, 'timing'> & { readonly timing: LedgerTiming };
