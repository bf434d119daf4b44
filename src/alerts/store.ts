import type { Finding } from '../checks/check.ts';
import { type Database, inTransaction, query, relation, sql } from '../db/database.ts';
import { type Alert, tellingOf } from './messages.ts';

/*
 * An alert, for each target: found ── still found, and for holdMs ──▶ begun ── not found for holdMs ──▶ ended
 *                              └──── not found: deleted                 ◀── found again
 * A warning that becomes a problem stays one until it ends. An alert is due while the target's last message differs from it.
 */

/**
 * Makes this process the one that watches the health checks, for `leaseMs`. False if another one does. If two begin at
 * once, the one with the lower id goes on. A finding that both record is recorded once.
 */
export async function claimWatch(db: Database, processId: string, leaseMs: number): Promise<boolean> {
  const claimed = await query(
    db,
    sql`update ops.processes p set watches_until = clock_timestamp() + ${leaseMs} * interval '1 ms'
      where process_id = ${processId} and not exists (select from ops.processes o
        where o.process_id <> p.process_id and o.watches_until > clock_timestamp()
          and (o.process_id < p.process_id or p.watches_until is null or p.watches_until <= clock_timestamp()))
      returning process_id`,
  );
  return claimed.length > 0;
}

/** Records what the health checks found now. `isWhole`: everything could be checked, so what wasn't found is over. */
export function recordFindings(
  db: Database,
  findings: readonly Finding[],
  { targets, holdMs, isWhole }: { targets: readonly string[]; holdMs: number; isWhole: boolean },
): Promise<void> {
  const hasLasted = (column: 'known_at' | 'missed_at') =>
    sql`${sql.ref(column)} <= now() - ${holdMs} * interval '1 ms'`;
  const isFound = sql`(check_name = any(${findings.map(({ check }) => check)}::text[]))`;
  const rows = relation('f', findings, {
    check_name: ['text', ({ check }) => check],
    level: 'text',
    sentence: 'text',
    remedy: 'text',
    since: 'timestamptz',
  });
  const statements = [
    sql`insert into ops.alerts as a (check_name, target, level, sentence, remedy, known_at)
      select check_name, target, level, sentence, remedy, coalesce(since, now()) from ${rows}, unnest(${targets}::text[]) target
      on conflict (check_name, target) where ended_at is null do update
      set level = excluded.level, sentence = excluded.sentence, remedy = excluded.remedy,
        known_at = least(a.known_at, excluded.known_at),
        news_at = case when a.news_at is not null then now() end,
        due_at = case when a.news_at is not null then now() end
      where a.news_at is null or (a.level = 'warning' and excluded.level = 'problem')`,
    sql`delete from ops.alerts where (news_at is null and not ${isFound}) or ended_at < now() - interval '30 days'`,
    sql`update ops.alerts set missed_at = case when not ${isFound} then now() end
      where ended_at is null and (missed_at is null) <> ${isFound} and (${isFound} or ${isWhole})`,
    // A target to which no message was tried gets none about the end either.
    sql`update ops.alerts set news_at = now(), ended_at = missed_at,
        due_at = case when missed_at is null or told is not null then now() when tries > 0 then due_at end
      where (news_at is null and found_at < now() and ${hasLasted('known_at')})
        or (ended_at is null and missed_at < now() and ${hasLasted('missed_at')})`,
  ];
  return inTransaction(db, async (tx) => {
    for (const statement of statements) await query(tx, statement);
  });
}

/**
 * Claims the next alert for a target; undefined if there is none. Until `recordTold` settles it, the alert is due again
 * after growing intervals of up to ten minutes, for a day.
 */
export async function claimAlert(db: Database, target: string): Promise<(Alert & { tries: number }) | undefined> {
  const [alert] = await query(
    db,
    sql<Alert & { tries: number }>`update ops.alerts
      set tries = tries + 1, due_at = now() + least(600, 15 * power(2, least(tries, 10))) * interval '1 second'
      where target = ${target} and alert_id = (select alert_id from ops.alerts
        where target = ${target} and due_at <= now() and news_at > now() - interval '1 day'
        order by news_at limit 1 for update skip locked)
      returning alert_id as "alertId", check_name as "check", level, sentence, remedy, known_at as since,
        ended_at as "endedAt", told, tries,
        case when told is null then 'began' when ended_at is not null then 'ended' else 'escalated' end as kind`,
  );
  return alert;
}

/** Records that the target accepted the message, or why it didn't. */
export async function recordTold(db: Database, target: string, alert: Alert, failure?: string): Promise<void> {
  const told = tellingOf(alert);
  await query(
    db,
    failure === undefined
      ? sql`update ops.alerts set told = ${told}, tries = 0, last_error = null,
            due_at = case when ${told} <> case when ended_at is null then level else 'ended' end then now() end
          where alert_id = ${alert.alertId} and target = ${target}`
      : sql`update ops.alerts set last_error = ${failure} where alert_id = ${alert.alertId} and target = ${target}`,
  );
}

/** Records an alert that was sent while Postgres accepted no writes, so that its end is sent too. */
export async function recordOutage(db: Database, target: string, alert: Alert, isTold: boolean): Promise<void> {
  const { alertId, check, level, sentence, remedy, since } = alert;
  await query(
    db,
    sql`insert into ops.alerts
        (alert_id, check_name, target, level, sentence, remedy, known_at, news_at, missed_at, told, tries, due_at)
      values (${alertId}, ${check}, ${target}, ${level}, ${sentence}, ${remedy}, ${since}, now(), now(),
        case when ${isTold} then ${level} end, 1, case when not ${isTold} then now() end)
      on conflict do nothing`,
  );
}
