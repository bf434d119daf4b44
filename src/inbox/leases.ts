import type { Database } from '../warehouse/database.ts';
import { type Claim, renewClaims } from './claims.ts';

/** Claims that are held for longer than this are renewed, and again after as long: well within their lease. */
const renewEveryMs = 1_500;

/** Keeps what one process reads from being read by others too, for as long as it takes. */
export interface Leases {
  hold(claim: Claim): void;
  release(claim: Claim): void;
}

/** Most reads end before their lease needs renewing, and cost nothing here. */
export function createLeases(db: Database): Leases {
  const held = new Map<Claim, number>();
  let timer: NodeJS.Timeout | undefined;

  async function renew(): Promise<void> {
    const long = [...held].filter(([, since]) => performance.now() - since >= renewEveryMs).map(([claim]) => claim);
    // One that cannot be renewed lapses: its target may be read twice, and no more than that.
    if (long.length > 0) await renewClaims(db, long).catch(() => undefined);
    timer = held.size > 0 ? setTimeout(renew, renewEveryMs) : undefined;
  }

  return {
    hold(claim) {
      held.set(claim, performance.now());
      if (timer === undefined) timer = setTimeout(renew, renewEveryMs);
    },
    release: (claim) => void held.delete(claim),
  };
}
