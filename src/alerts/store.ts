import type { Finding } from '../checks/check.ts';
import { type Database, inTransaction, query, relation, sql } from '../db/database.ts';
import { takeLock } from '../db/locks.ts';
import type { AlertMessage, TargetName } from './targets.ts';

/*
 * An alert: found ── still found, and for holdMs ──▶ begun ── not found for holdMs ──▶ ended
 *             └──── not found: deleted                  ◀── found again
 * A warning that becomes a problem is escalated. A problem stays one until it ends.
 */

/**
 * Makes this process the one that watches the health checks, unless another one does. It has to call this again before
 * the lease ends.
 */
export function claimWatch(db: Database, processId: string, leaseMs: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    await takeLock(tx, 'alerts');
    const claimed = await query(
      tx,
      sql`update ops.processes set watches_until = clock_timestamp() + ${leaseMs} * interval '1 ms'
       where process_id = ${processId} and not exists (
         select from ops.processes where process_id <> ${processId} and watches_until > clock_timestamp())
       returning process_id`,
    );
    return claimed.length > 0;
  });
}

/**
 * Records the current findings of the health checks, and writes messages for each target: when an alert begins,
 * escalates and ends. `isWhole`: everything could be checked, so anything not found is over. Returns the checks of
 * these alerts.
 */
export function recordFindings(
  db: Database,
  findings: readonly Finding[],
  { targets, holdMs, isWhole }: { targets: readonly TargetName[]; holdMs: number; isWhole: boolean },
): Promise<Readonly<Record<'began' | 'escalated' | 'ended', string[]>>> {
  const hold = sql`${holdMs} * interval '1 ms'`;
  const checks = findings.map(({ check }) => check);
  const problems = findings.filter(({ level }) => level === 'problem').map(({ check }) => check);
  return inTransaction(db, async (tx) => {
    // A target that hasn't got the warning yet gets the problem in the same message.
    const escalated = await query(
      tx,
      sql<{ check: string }>`with escalated as (
         select alert_id, check_name from ops.alerts
         where ended_at is null and begun_at is not null and level = 'warning' and check_name = any(${problems}::text[])
       ), told as (
         insert into ops.alert_messages (alert_id, target, kind)
         select alert_id, target, 'escalated' from escalated join ops.alert_messages using (alert_id)
         where kind = 'began' and attempts > 0
       )
       select check_name as check from escalated`,
    );
    const isNews = sql`(a.begun_at is null or (a.level = 'warning' and excluded.level = 'problem'))`;
    await query(
      tx,
      sql`insert into ops.alerts as a (check_name, level, sentence, remedy, known_at)
       select check_name, level, sentence, remedy, coalesce(since, now())
       from ${relation('f', findings, {
         check_name: ['text', ({ check }) => check],
         level: 'text',
         sentence: 'text',
         remedy: 'text',
         since: 'timestamptz',
       })}
       on conflict (check_name) where ended_at is null do update set missed_at = null,
         known_at = case when a.begun_at is null then least(a.known_at, excluded.known_at) else a.known_at end,
         level = case when ${isNews} then excluded.level else a.level end,
         sentence = case when ${isNews} then excluded.sentence else a.sentence end,
         remedy = case when ${isNews} then excluded.remedy else a.remedy end`,
    );
    await query(tx, sql`delete from ops.alerts where begun_at is null and check_name <> all(${checks}::text[])`);
    const began = await query(
      tx,
      sql<{ check: string }>`with begun as (
         update ops.alerts set begun_at = now()
         where begun_at is null and found_at < now() and known_at <= now() - ${hold} returning alert_id, check_name
       ), told as (
         insert into ops.alert_messages (alert_id, target, kind)
         select alert_id, target, 'began' from begun, unnest(${targets}::text[]) target
       )
       select check_name as check from begun`,
    );
    if (isWhole) {
      await query(
        tx,
        sql`update ops.alerts set missed_at = now()
         where ended_at is null and missed_at is null and check_name <> all(${checks}::text[])`,
      );
    }
    const ended = await query(
      tx,
      sql<{ id: string; check: string }>`update ops.alerts set ended_at = missed_at
       where ended_at is null and missed_at < now() and missed_at <= now() - ${hold} returning alert_id as id, check_name as check`,
    );
    const ids = ended.map(({ id }) => id);
    // Messages that were never sent are no longer needed.
    await query(tx, sql`delete from ops.alert_messages where alert_id = any(${ids}::uuid[]) and attempts = 0`);
    await query(
      tx,
      sql`insert into ops.alert_messages (alert_id, target, kind)
       select alert_id, target, 'ended' from ops.alert_messages where alert_id = any(${ids}::uuid[])
       on conflict do nothing`,
    );
    await query(tx, sql`delete from ops.alerts where ended_at < now() - interval '30 days'`);
    const namesOf = (rows: readonly { check: string }[]) => rows.map(({ check }) => check);
    return { began: namesOf(began), escalated: namesOf(escalated), ended: namesOf(ended) };
  });
}

/** An alert that was sent while Postgres accepted no writes. */
export interface ToldAlert extends Omit<Finding, 'since' | 'detail'> {
  readonly alertId: string;
  readonly since: Date;
  /** The targets that accepted the message about its begin. The others still have to get it. */
  readonly toldTo: ReadonlySet<TargetName>;
}

/** Records such an alert, so that its end is sent like any other. */
export async function recordTold(db: Database, alert: ToldAlert, targets: readonly TargetName[]): Promise<void> {
  const { alertId, check, level, sentence, remedy, since, toldTo } = alert;
  await query(
    db,
    sql`with added as (
       insert into ops.alerts (alert_id, check_name, level, sentence, remedy, known_at, begun_at, missed_at)
       values (${alertId}, ${check}, ${level}, ${sentence}, ${remedy}, ${since}, now(), now())
       on conflict do nothing returning alert_id
     )
     insert into ops.alert_messages (alert_id, target, kind, attempts, sent_at)
     select alert_id, target, 'began', 1, case when target = any(${[...toldTo]}::text[]) then now() end
     from added, unnest(${targets}::text[]) target`,
  );
}

/** A claimed message, and the number of this attempt. */
export interface DueMessage extends AlertMessage {
  readonly kind: 'began' | 'escalated' | 'ended';
  readonly attempt: number;
}

/**
 * Claims the oldest due message for a target; undefined if there is none. The message becomes due again after growing
 * intervals of up to ten minutes, unless `recordDelivery` settles it. The begin of an
 * alert is sent first. A message is given up after a day.
 */
export async function claimMessage(db: Database, target: TargetName): Promise<DueMessage | undefined> {
  const [message] = await query(
    db,
    sql<DueMessage>`update ops.alert_messages m
     set attempts = attempts + 1, due_at = now() + least(600, 15 * power(2, least(m.attempts, 10))) * interval '1 second'
     from ops.alerts a
     where a.alert_id = m.alert_id and (m.alert_id, m.target, m.kind) = (
       select d.alert_id, d.target, d.kind from ops.alert_messages d
       where d.target = ${target} and d.sent_at is null and d.due_at <= now() and d.created_at > now() - interval '1 day'
         and (d.kind = 'began' or not exists (select from ops.alert_messages b
           where b.alert_id = d.alert_id and b.target = d.target and b.kind = 'began' and b.sent_at is null))
       order by d.created_at limit 1 for update skip locked)
     returning m.kind, m.attempts as attempt, a.alert_id as "alertId", a.check_name as check, a.level, a.sentence, a.remedy,
       a.known_at as since, a.ended_at as "endedAt"`,
  );
  return message;
}

/** Records that a target accepted a claimed message, or why it didn't. */
export async function recordDelivery(
  db: Database,
  target: TargetName,
  { alertId, kind }: Pick<DueMessage, 'alertId' | 'kind'>,
  failure: string | undefined,
): Promise<void> {
  await query(
    db,
    sql`update ops.alert_messages set sent_at = case when ${failure ?? null}::text is null then now() end, last_error = ${failure ?? null}
     where alert_id = ${alertId} and target = ${target} and kind = ${kind}`,
  );
}
