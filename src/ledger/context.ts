import type { Messages } from '../api-client/client.ts';
import type { Database } from '../db/database.ts';
import type { DueTarget, ReadPauses } from '../inbox/targets.ts';
import type { Log } from '../shared/log.ts';
import type { Thread } from '../shared/thread.ts';
import type { AccountLimits } from './limits.ts';

export interface LedgerDeps {
  readonly db: Database;
  readonly log: Log;
  /** The only place where the program holds the API's send operation. */
  readonly messages: Messages;
  /** Reads a thread now and mirrors it. Returns true when the mirror then holds the whole thread. */
  readonly readThread: (thread: Thread) => Promise<boolean>;
  /** Asks the service whether the line has blocked the number. */
  readonly isBlocked: (line: string, number: string) => Promise<boolean>;
  /** The credential's kind. Messages sent with a user's tokens carry that user in `sentBy`. */
  readonly actsFor: 'account' | 'user';
  /** `off` refuses every send; `dry-run` does everything but reserve and send. */
  readonly mode: 'off' | 'dry-run' | 'live';
  /** The limits in effect now; defaults apply to what is missing. */
  readonly limits?: () => Partial<AccountLimits>;
  readonly pauses: ReadPauses;
  readonly notify: (due: readonly DueTarget[]) => void;
  readonly timing?: Partial<LedgerTiming>;
}

/** Milliseconds. */
export interface LedgerTiming {
  /** How long a worker may hold a RESERVED send, and then again a DISPATCHED one. */
  readonly leaseMs: number;
  /** Timeout of the request; well below the lease. */
  readonly answerMs: number;
  /** From the start of the dispatch to the first byte; a worker that stalled for longer sends nothing. Well below the lease. */
  readonly stallMs: number;
  /** Scheduled reads of the thread of an UNKNOWN send, counted from its dispatch; after the last comes manual review. */
  readonly reconcileAtMs: readonly number[];
  /** How long after the last scheduled read an incomplete thread is still read before manual review. */
  readonly graceMs: number;
  /** Shortest wait before a thread that could not be read is read again. */
  readonly readRetryMs: number;
  /** First wait after a request that provably had no effect; later waits are longer. */
  readonly retryMs: number;
  /** Wait before a HELD send is judged again that waits for other sends or for the rules. */
  readonly waitMs: number;
  /** A due send that a worker took up this long ago is taken up again: that worker may have died. */
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

/** The dependencies with all defaults filled in. */
export type Ledger = Omit<LedgerDeps, 'timing' | 'limits'> & {
  readonly timing: LedgerTiming;
  readonly limits: () => AccountLimits;
};
