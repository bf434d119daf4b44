import { endOwnPause } from './control.ts';
import { defaultLedgerTiming, type Ledger, type LedgerParts } from './ledger.ts';
import { accountLimits } from './limits.ts';
import { findSend } from './send.ts';
import { type Delivered, deliver } from './turns/delivery.ts';
import { linkMessages } from './turns/links.ts';
import { prepare } from './turns/preparation.ts';
import { leaseOver, reconcile } from './turns/reconcile.ts';
import { releaseAllSuperseded } from './turns/superseded.ts';
import { sweepSends } from './turns/sweep.ts';

export type SendTurn =
  | Delivered
  /** Another worker has it, or its moment has not come. */
  | 'nothing_due'
  | 'paused'
  | 'held'
  | 'denied'
  | 'expired'
  /** A lease was over, or the outcome is still unknown. */
  | 'taken_back'
  | 'unknown'
  | 'needs_human';

/** Takes sends through their states. Any number of workers may do so at once, and any of them may die at any time. */
export interface Dispatcher {
  /** Takes one send as far as it goes now. Rejects when the database cannot be reached; the sweep then rings again. */
  turn(sendId: string): Promise<SendTurn>;
  /**
   * Up to so many sends that are due, for their bells to be rung; also links messages to their sends, gives back what
   * superseded sends had reserved, and ends a pause of the ledger's own whose cause is gone.
   */
  sweep(most: number): Promise<string[]>;
  /** Sweeps and takes all turns, until nothing is due. For whoever has no queue. */
  round(): Promise<number>;
}

export function createDispatcher(parts: LedgerParts): Dispatcher {
  const ledger: Ledger = {
    ...parts,
    timing: { ...defaultLedgerTiming, ...parts.timing },
    limits: () => accountLimits(parts.limits?.()),
  };

  async function turn(sendId: string): Promise<SendTurn> {
    const send = await findSend(ledger.db, sendId);
    if (!send?.isDue) return 'nothing_due';
    switch (send.state) {
      case 'PLANNED':
      case 'HELD': {
        const prepared = await prepare(ledger, sendId);
        return typeof prepared === 'string' ? prepared : deliver(ledger, prepared);
      }
      case 'RESERVED':
      case 'DISPATCHED':
        return leaseOver(ledger, sendId);
      case 'UNKNOWN':
        return reconcile(ledger, send);
      default:
        return 'nothing_due';
    }
  }

  async function sweep(most: number): Promise<string[]> {
    await linkMessages(ledger);
    await releaseAllSuperseded(ledger.db);
    if (await endOwnPause(ledger.db)) {
      ledger.log.info('Sends go out again: the outcome of all those that had paused them is known');
    }
    return sweepSends(ledger.db, most, ledger.timing.lostAfterMs);
  }

  return {
    turn,
    sweep,
    async round() {
      let taken = 0;
      for (;;) {
        const due = await sweep(20);
        if (due.length === 0) return taken;
        await Promise.all(due.map(turn));
        taken += due.length;
      }
    },
  };
}
