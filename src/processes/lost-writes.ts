import { unproveRange } from '../completeness/coverage/coverage.ts';
import type { Context } from '../context.ts';
import { type Database, inTransaction, query, sql } from '../db/database.ts';
import { takeLock } from '../db/locks.ts';
import { markDirty, unconfirmed } from '../inbox/targets.ts';
import { lockControl, pauseSends, readControl } from '../ledger/control.ts';
import { dropWaitingActions } from '../rules/actions/action-states.ts';
import { recordGaps } from '../sync/subscriptions/store.ts';

/*
 * Postgres can go back in time: somebody promotes an asynchronous standby that lacks the last seconds, or restores a
 * back-up. Each report of a process counts up in ops.last_report. A process that knows a higher count, or another
 * server, notices the loss. A process that has started since knows nothing, so an operator tells it (`trunkline
 * restored`).
 *
 *   noticed ─▶ recoverLostWrites: sends pause, rules act on nothing older, a gap opens and is searched
 *          ─▶ every process, at its next report: what it accepted lately is read again ─▶ an operator resumes the sends
 */

/** The state of `ops.last_report`, as one report of a process finds it. */
export interface Report {
  /** Reports of all processes, including this one. Lower than before if reports were lost. */
  readonly count: number;
  /** When the previous report was made. */
  readonly reportedAt: Date;
  /** When somebody last noticed that the database went back. */
  readonly noticedAt: Date | null;
  /** Null when Postgres doesn't say. */
  readonly server: string | null;
}

/** CTEs `before` and `counted`: count this report, unless the database has fewer reports than `known`. */
export const countingReport = (known: Pick<Report, 'count'> | undefined) => sql`
  before as (select report_count, reported_at, noticed_at from ops.last_report for update),
  counted as (
    update ops.last_report r set report_count = r.report_count + 1, reported_at = clock_timestamp()
    from before where before.report_count >= ${known?.count ?? 0} returning r.report_count
  )`;

/** Columns of `before`. */
export const reportColumns = sql`coalesce((select report_count from counted), report_count)::float8 as count, reported_at as "reportedAt",
  noticed_at as "noticedAt", ops.server_identity() as server`;

/**
 * Writes this long before the last report may be lost too: another process may have reported after the database went
 * back.
 */
const overlapMs = 15 * 60_000;
/** Up to so many accepted targets are read like live ones. */
const maxAtOnce = 2_000;

/** Compares the reports of one process. */
export function watchForLostWrites({
  database: { db },
  notifier,
  accepted,
  log,
}: Pick<Context, 'database' | 'notifier' | 'accepted' | 'log'>) {
  let known: Report | undefined;

  /** Reads again what this process accepted lately. These targets are unconfirmed: only deliveries name them. */
  async function readAgain(): Promise<void> {
    const targets = accepted.targets();
    // More than that are read behind new ones.
    const priority = targets.length > maxAtOnce ? unconfirmed.bulk : unconfirmed.single;
    notifier.notify(
      await markDirty(
        db,
        targets.map((target) => ({ ...target, priority })),
      ),
    );
    log.info({ targets: targets.length }, 'What was accepted lately is read again');
  }

  return {
    /** The last report after which no writes were lost. */
    known: () => known,
    /** Compares a report with the previous one. If this rejects, the next report repeats it. */
    async compare(report: Report): Promise<void> {
      const difference = known && compareReports(known, report);
      if (known && difference === 'went_back') {
        const lost = await recoverLostWrites(db, new Date(known.reportedAt.getTime() - overlapMs));
        log.error(lost, 'The database went back in time: sends are paused until somebody resumes them');
        await readAgain();
        known = { ...report, noticedAt: lost.until };
        return;
      }
      if (difference === 'noticed') await readAgain();
      known = report;
    },
  };
}

/** Whether the database went back between two reports of a process, or another process or operator has noticed that. */
export function compareReports(before: Report, now: Report): 'went_back' | 'noticed' | undefined {
  const noticed = (now.noticedAt?.getTime() ?? 0) - (before.noticedAt?.getTime() ?? 0);
  if (noticed > 0) return 'noticed';
  const isOther = before.server !== null && now.server !== null && before.server !== now.server;
  return isOther || now.count < before.count || noticed < 0 ? 'went_back' : undefined;
}

/** How far the number of a read that began before the loss may be ahead of the sequence. */
const skippedReads = 1_000_000;
const reason = 'the database went back in time';

/**
 * Once this commits, nothing is sent and rules ignore older events. What the service had since the last remaining
 * report, or since `from`, is searched for.
 */
export function recoverLostWrites(db: Database, from?: Date): Promise<{ readonly from: Date; readonly until: Date }> {
  return inTransaction(db, async (tx) => {
    await takeLock(tx, 'rule_events');
    await lockControl(tx);
    const [lost] = await query(
      tx,
      sql<{
        from: Date;
        until: Date;
      }>`update ops.last_report set lost_from = least(reported_at, ${from ?? null}), noticed_at = clock_timestamp()
        returning lost_from as "from", noticed_at as until`,
    );
    if (!lost) throw new Error('ops.last_report has lost its row: apply the migrations again');
    if ((await readControl(tx)).by !== 'operator') await pauseSends(tx, reason, 'recovery');
    await query(tx, sql`update ops.send_control set acts_after = ${lost.until}`);
    await dropWaitingActions(tx, reason);
    await unproveRange(tx, lost, reason);
    await recordGaps(tx, lost.from, reason);
    // Reads that began before the loss must not count as newer than reads that begin now.
    await query(tx, sql`select setval('ops.fetch_seq', nextval('ops.fetch_seq') + ${skippedReads}::integer)`);
    return lost;
  });
}
