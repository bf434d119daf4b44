import type { Pauses } from '../inbox/bumps.ts';
import type { Ring } from '../inbox/target.ts';
import type { Log } from '../log.ts';
import type { Messages } from '../service/resources/messages.ts';
import type { Database } from '../warehouse/database.ts';
import type { Thread } from '../warehouse/entities/texts/conversations.ts';
import type { AccountLimits } from './limits.ts';

/** What the ledger works with. */
export interface LedgerParts {
  readonly db: Database;
  readonly log: Log;
  /** Nothing else of the service's is ever asked to send. */
  readonly messages: Messages;
  /** Reads a thread now and mirrors it; true when the mirror then holds all of it. */
  readonly look: (thread: Thread) => Promise<boolean>;
  /** Whether the service says that the line has blocked the number. */
  readonly isBlocked: (line: string, number: string) => Promise<boolean>;
  /** Whose credential the service is shown: a user's name then stands on what is sent. */
  readonly actsFor: 'account' | 'user';
  /** `off` refuses every send, `dry-run` everything but the effect. */
  readonly mode: 'off' | 'dry-run' | 'live';
  /** As they hold now; the ledger's own where this says nothing. */
  readonly limits?: () => Partial<AccountLimits>;
  readonly pauses: Pauses;
  readonly onRings: (rings: readonly Ring[]) => void;
  readonly timing?: Partial<LedgerTiming>;
}

/** Milliseconds. */
export interface LedgerTiming {
  /** How long a reservation holds without a dispatch, and a dispatch without its outcome. */
  readonly leaseMs: number;
  /** For the whole answer to a send; well within the lease. */
  readonly answerMs: number;
  /** From the beginning of the dispatch to the first byte: whoever stood still for longer sends nothing. Well within the lease. */
  readonly stallMs: number;
  /** After a dispatch whose outcome is unknown, when its thread is read; after the last, a person is asked. */
  readonly looksMs: readonly number[];
  /** How long after the last look a thread is still tried that cannot be read whole, before a person is asked. */
  readonly graceMs: number;
  /** Before a thread that could not be read is tried again, at the least. */
  readonly pauseMs: number;
  /** Before a send is tried again whose request provably had no effect, the first time; each further wait is longer. */
  readonly retryMs: number;
  /** Before a send is judged again that waits for other sends or for the rules. */
  readonly waitMs: number;
  /** A bell that was not answered for so long is taken for lost. */
  readonly lostAfterMs: number;
}

const minutes = 60_000;

export const defaultLedgerTiming: LedgerTiming = {
  leaseMs: 60_000,
  answerMs: 20_000,
  stallMs: 5_000,
  looksMs: [15_000, minutes, 5 * minutes, 30 * minutes, 120 * minutes, 1_440 * minutes],
  graceMs: 60 * minutes,
  pauseMs: 15_000,
  retryMs: 5_000,
  waitMs: 1_000,
  lostAfterMs: 10_000,
};

/** Parts with every choice made. */
export type Ledger = Omit<LedgerParts, 'timing' | 'limits'> & {
  readonly timing: LedgerTiming;
  readonly limits: () => AccountLimits;
};
