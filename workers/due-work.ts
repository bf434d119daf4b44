import type { RawBuilder } from 'kysely';
import { hoursWait } from '../src/completeness/coverage/coverage.ts';
import { gapsWait } from '../src/completeness/coverage/reconcile.ts';
import { type Database, hotQuery, sql } from '../src/db/database.ts';
import { priorities, unconfirmed } from '../src/inbox/targets.ts';
import { isDueSend, isOpen } from '../src/ledger/dispatcher.ts';
import { isInForce } from '../src/ledger/rules-in-force.ts';
import { outcomesWait } from '../src/reporting/outcomes.ts';
import { recordEven } from '../src/reporting/rollups.ts';
import { beat } from '../src/shared/beat.ts';
import type { Log } from '../src/shared/log.ts';
import { type Loop, startLoop } from '../src/shared/loop.ts';

/** Milliseconds between two questions while something happens, and otherwise the longest wait. */
const [busyMs, idleMs] = [1_000, 5_000];
/** Milliseconds between two questions for `Waiting`: these take longer when Postgres can't remove dead rows. */
const waitingMs = 5_000;

/**
 * What to call when reads, deferred reads, steps of rules or sends are due, and when events wait or other rules came
 * into force.
 */
export type Wake = Readonly<Record<'reads' | 'deferred' | 'events' | 'steps' | 'sends', () => void>>;

/** Work of maintenance that waits. */
export type Waiting = Readonly<Record<'rollups' | 'outcomes' | 'calls' | 'texts', boolean>>;

export interface DueWork extends Pick<Loop, 'stop'> {
  /** Asks within a second: something was read, so something else may be due soon. */
  soon(): void;
  /** As of some seconds ago. */
  readonly waiting: Waiting;
}

type Due = Readonly<Record<keyof Wake, boolean>> & {
  readonly version: string | null;
  /** Until the next thing is due; null if something is, or nothing is planned. */
  readonly nextMs: number | null;
  readonly waiting: Waiting | null;
};

const isDueRead = (priority: RawBuilder<unknown>) => sql`exists (select from ops.sync_targets
  where dirty_version > clean_version and priority ${priority} and due_at <= now() and claimed_until <= now())`;

const ranks = [...Object.values(priorities), ...Object.values(unconfirmed)];

/**
 * Asks Postgres what is due, and wakes the loops for it: an idle worker makes one query instead of one for each loop.
 * It asks again when the next thing is due. What another process begins is noticed within five seconds: an approval on
 * a page, other rules, a lost job.
 */
export function startDueWork(db: Database, log: Log, wake: Wake): DueWork {
  let inForce: string | null = null;
  let waitMs = busyMs;
  let askedAllAt = Number.NEGATIVE_INFINITY;
  let waiting: Waiting = { rollups: true, outcomes: true, calls: true, texts: true };
  const loop = startLoop({
    name: 'Looking for due work',
    everyMs: () => waitMs,
    log,
    async job() {
      waitMs = busyMs;
      const asksAll = beat.now() - askedAllAt >= beat.ms(waitingMs);
      const [due] = await hotQuery<Due>(
        db,
        sql`with even as (${recordEven} and ${asksAll}::boolean returning 1),
        due as (select
          ${isDueRead(sql`in (${sql.lit(priorities.live)}, ${sql.lit(priorities.history)})`)} as reads,
          ${isDueRead(sql`>= ${sql.lit(unconfirmed.single)}`)} as deferred,
          exists (select from ops.rule_events where due_at <= now()) as events,
          exists (select from ops.rule_actions where state = 'waiting' and kind <> 'reply' and due_at <= now()) as steps,
          exists (select from ops.sends where ${isDueSend}) as sends)
        select due.*, (select version from ops.rule_versions v where ${isInForce}),
          case when not (reads or deferred or events or steps or sends) then extract(epoch from least(
            (select min(at) from unnest(${sql.lit(`{${ranks}}`)}::smallint[]) rank, lateral (select min(due_at) as at from ops.sync_targets
              where dirty_version > clean_version and priority = rank and due_at > now()) t),
            (select min(due_at) from ops.rule_events),
            (select min(due_at) from ops.rule_actions where state = 'waiting' and kind <> 'reply'),
            (select min(due_at) from ops.sends where ${isOpen})) - now())::float8 * 1000 end as "nextMs",
          case when ${asksAll}::boolean then json_build_object('rollups', not exists (select from even), 'outcomes', ${outcomesWait},
            'calls', ${hoursWait} or ${gapsWait('calls')}, 'texts', ${gapsWait('texts')}) end as waiting
        from due`,
      );
      if (!due) return;
      if (due.waiting) {
        askedAllAt = beat.now();
        waiting = due.waiting;
      }
      const isAny = Object.keys(wake).some((what) => due[what as keyof Wake]);
      // A timer may fire slightly before the clock of Postgres reaches the time.
      if (!isAny) waitMs = Math.min(idleMs, Math.max(busyMs, (due.nextMs ?? idleMs) + 10));
      for (const [what, begin] of Object.entries(wake)) if (due[what as keyof Wake]) begin();
      if (due.version !== inForce) wake.events();
      inForce = due.version;
    },
  });
  return {
    stop: loop.stop,
    soon: () => loop.within(busyMs),
    get waiting() {
      return waiting;
    },
  };
}
