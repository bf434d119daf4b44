import { blockerName, blockerRemedy } from '../../db/blockers.ts';
import { freeDisk } from '../../db/refusals.ts';
import { countOf, span } from '../format.ts';
import { known, type Snapshot } from '../snapshot.ts';
import type { HealthCheck } from './check.ts';

/** Seconds after which a wait for a lock is a problem. */
const longWaitSeconds = 30;

/** What others do to the database: full disk, locks, long transactions, connections. */
export function* checkPostgres({ postgres, isDiskFull, takenAt }: Snapshot): Iterable<HealthCheck> {
  const status = known(postgres, undefined);
  const secondsSince = (at: Date) => Math.max(0, (takenAt.getTime() - at.getTime()) / 1_000);
  if (isDiskFull || (status !== undefined && status.diskFullAt !== null)) {
    yield {
      check: 'disk_full',
      level: 'problem',
      sentence: 'The disk of Postgres is full: deliveries are answered 503, or nothing is mirrored.',
      remedy: freeDisk,
    };
  }
  if (status === undefined) return;
  for (const wait of status.waits) {
    const seconds = secondsSince(wait.waitingSince);
    const open = wait.since === null ? '' : ` Its transaction has been open for ${span(secondsSince(wait.since))}.`;
    const remedy = blockerRemedy([wait]);
    yield {
      check: 'lock_waited',
      level: wait.waiting > 0 && seconds > longWaitSeconds ? 'problem' : 'warning',
      since: wait.waitingSince,
      sentence:
        wait.waiting === 0
          ? `${blockerName(wait)} holds a lock of the queues in Postgres: new texts and calls are mirrored without their jobs, some seconds late.`
          : `${countOf(wait.waiting, 'session')} of Trunkline ${wait.waiting === 1 ? 'waits' : 'wait'} for a lock that ${blockerName(wait)} has held for ${span(seconds)} or longer.${open}`,
      remedy,
      // The name of an application is whatever its user writes.
      alert: { sentence: `Trunkline needs a lock that ${blockerName({ ...wait, application: null })} holds.` },
    };
  }
  for (const each of status.long) {
    if (each.since === null) continue;
    yield {
      check: 'transaction_open',
      level: 'warning',
      since: each.since,
      sentence: `A transaction of ${blockerName(each)} has been open for ${span(secondsSince(each.since))}: until it ends, Postgres removes no outdated rows, and reads become slower.`,
      remedy: blockerRemedy([each]),
      alert: { sentence: `A transaction of ${blockerName({ ...each, application: null })} is open for too long.` },
    };
  }
  if (status.connections !== null) {
    const { sentence, remedy, isTooMuch } = status.connections;
    yield {
      check: 'connections_short',
      level: 'warning',
      sentence: isTooMuch
        ? `Trunkline may open more connections than Postgres allows: ${sentence}`
        : `Postgres has too few connections left for Trunkline: ${sentence}`,
      remedy,
    };
  }
}
