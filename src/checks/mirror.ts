import { missingTexts } from '../completeness/gaps/unread-comparisons.ts';
import { sql } from '../db/database.ts';
import { isRetrying } from '../inbox/sweep.ts';
import { kindNames, priorities, type TargetKind } from '../inbox/targets.ts';
import { running } from '../processes/running.ts';
import { toType } from '../shared/command-name.ts';
import { countOf, duration } from '../shared/format.ts';
import { maskKey, maskNumbers } from '../shared/masking.ts';
import { type Checks, counted, rows, type Seen } from './check.ts';

/** Seconds after which a due read is late. The sweep reads it after five. */
export const lateSeconds = 30;
const veryLateSeconds = 600;

/** Maximum number of targets to count. A longer backlog needs no exact figure. */
export const maxCounted = 20_000;

/**
 * SQL: pending reads, found through their index however many targets there are. `is_put_off`: it failed once or twice,
 * and waits for a retry.
 */
export const pending = sql`(
  select *, priority = ${sql.lit(priorities.live)} and due_at > now() and ${isRetrying} as is_put_off
  from ops.sync_targets where dirty_version > clean_version order by priority, due_at limit ${sql.lit(maxCounted)})`;

/** An hour is compared two minutes after its end. Until then, the newest proven hour ended an hour earlier. */
const lateProofSeconds = 2 * 3_600;
const judgedDays = 14;

/** SQL: the first start's back-fill is to come or under way. Its part of threads is opened last. */
export const isFillingIn = ({ settings: { backfillDays } }: Seen) => sql`(${backfillDays}::int > 0 and not exists (
  select from ops.backfills where is_automatic and stream = 'threads' and finished_at is not null))`;

const fillsIn = `${toType('backfill calls')} fills in and proves call history, ${toType('backfill threads')} searches for older texts, and ${toType('coverage')} shows what is proven for each day.`;

/** Whether everything is mirrored. */
export const mirrorChecks: Checks = {
  /** `reads_refused` reports the reads that wait for another credential. */
  mirror_behind: rows(
    sql<{ due: number; since: Date; seconds: number; workers: number }>`
      select count(*)::int as due, min(due_at) as since, extract(epoch from now() - min(due_at))::float8 as seconds,
        (select count(*)::int from ${running} r where role <> 'web') as workers
      from ${pending} p
      where priority = ${priorities.live} and due_at <= now() and kind <> all(array(select s.kind from ops.parked_kinds s))
      having min(due_at) < now() - ${lateSeconds} * interval '1 second'`,
    ({ due, since, seconds, workers }) => ({
      level: seconds > veryLateSeconds || workers === 0 ? 'problem' : 'warning',
      sentence: `The mirror is ${duration(seconds)} behind, with ${countOf(due, 'overdue read')}${workers === 0 ? ', and no worker runs' : ''}.`,
      remedy:
        workers === 0
          ? `Start a worker (${toType('worker')}); if one runs, check that it uses this database.`
          : `Read the log of the workers (${workers} running), or start another one (${toType('worker')}).`,
      since,
    }),
  ),

  /** One finding for all kinds, which usually fail for the same reason. */
  reads_failing: rows(
    sql<{ kinds: readonly TargetKind[]; count: number; error: string | null }>`
      select array_agg(kind order by kind) as kinds, sum(count)::int as count, min(error) as error
      from (
        select kind, greatest(count(*) filter (where attempts > 2), count(*) filter (where is_put_off)) as count,
          min(last_error) filter (where attempts > 0 or is_put_off) as error
        from ${pending} p group by kind
        having bool_or(attempts > 2) or bool_or(is_put_off and due_at - read_at > ${lateSeconds} * interval '1 second')
      ) failing having count(*) > 0`,
    ({ kinds, count, error }) => ({
      level: 'warning',
      sentence: `${countOf(count, 'read')} of ${kinds.map((kind) => kindNames[kind].toLowerCase()).join(', ')} failed.`,
      remedy: `Trunkline tries again. If this lasts, the service may be down: ${toType('doctor')} asks it.`,
      detail: `The last error was: ${error === null ? 'not recorded' : maskNumbers(error)}.`,
    }),
  ),

  gap_open: rows(
    sql<{ count: number; since: Date }>`
      select count(*)::int as count, min(noticed_at) as since from ops.gaps where filled_at is null having count(*) > 0`,
    ({ count, since }) => ({
      level: 'warning',
      sentence: `Webhooks may have been lost in ${countOf(count, 'period')}, which Trunkline hasn’t searched yet.`,
      remedy: `It does so as soon as a worker runs and the service answers it: ${toType('doctor')} says what is in the way. ops.gaps has the times and reasons.`,
      since,
    }),
  ),

  /**
   * Hours that differ from the service's, the newest hours if they aren't proven, and earlier days and texts that
   * aren't.
   */
  calls_unproven: [
    rows(
      sql<{ count: number; reason: string | null }>`
      select count(*)::int as count, (array_agg(last_error order by from_at desc))[1] as reason
      from ops.coverage where stream = 'calls' and state in ('differs', 'failed') having count(*) > 0`,
      ({ count, reason }) => ({
        level: 'warning',
        sentence: `${countOf(count, 'hour')} of call history couldn’t be proven complete.`,
        remedy: 'Trunkline compares with the service again. Nothing has to be done.',
        detail: `The newest reason: ${reason ?? 'not recorded'}.`,
      }),
    ),
    rows(
      sql<{ seconds: number }>`
      select extract(epoch from now() - max(to_at))::float8 as seconds from ops.coverage
      where stream = 'calls' and state = 'proven' and to_at <= now()
      having max(to_at) < now() - ${lateProofSeconds} * interval '1 second'`,
      ({ seconds }) => ({
        level: 'warning',
        sentence: `Call history is proven complete only up to ${duration(seconds)} ago. Usually, each hour is proven soon after its end.`,
        remedy: `Check that a worker runs and that the service answers it: ${toType('doctor')} names the reason.`,
      }),
    ),
    rows(
      (seen) => sql<{ days: number }>`
      select count(*)::int as days from generate_series(0, ${judgedDays - 1}) n
        cross join lateral (select date_trunc('day', now(), 'UTC') - n * interval '1 day' as day) d
      where day + interval '1 hour' <= now() and not ${isFillingIn(seen)} and not exists (
        select from ops.coverage o
        where o.stream = 'calls' and o.from_at >= day and o.from_at < day + interval '1 day' and o.checked_at is not null)
      having count(*) > 0`,
      ({ days }) => ({
        level: 'notice',
        sentence: `Call history of ${days} of the last ${judgedDays} days was never compared with the service’s.`,
        remedy: fillsIn,
      }),
    ),
    rows(
      (seen) => sql`select where not ${isFillingIn(seen)}
      and not exists (select from ops.backfills where stream = 'threads' and finished_at is not null)`,
      () => ({
        level: 'notice',
        sentence: 'Trunkline never searched for texts from before its first start.',
        remedy: fillsIn,
      }),
    ),
  ],

  async texts_missing({ db }) {
    const lines = (await missingTexts(db)).filter(({ state }) => state === 'unexplained');
    if (lines.length === 0) return [];
    const sentence = `The service counts unread texts on ${countOf(lines.length, 'line')} that Trunkline can’t find.`;
    const detail = `They came to ${lines.map(({ line }) => maskKey('line', line)).join(', ')}.`;
    const remedy = `If you know who may have written, run ${toType('resync thread LINE/NUMBER')}, or ${toType('backfill threads --numbers FILE')} with a file of their numbers. Texts of an erased person are never mirrored: mark them as read at the service.`;
    return [{ level: 'warning', sentence, detail, remedy }];
  },

  deliveries_unrecognized: counted(
    sql`from (select received_at from ops.deliveries where not is_recognized order by delivery_id desc limit 1000) d
      where received_at > now() - interval '1 day'`,
    (count) => ({
      level: 'notice',
      sentence: `${countOf(count, 'delivery')} of the last day couldn’t be parsed.`,
      remedy: `${toType('list deliveries recognized=no')} shows them. They are kept whole for EVENT_RETENTION_DAYS, for a release that can read them.`,
    }),
  ),
};
