import { type Database, inTransaction, query, relation, sql, type Transaction } from '../db/database.ts';
import { type BusinessHours, type Opening, weekdays } from '../shared/business-hours.ts';
import { isWarehouseEmpty } from './params.ts';
import { holdSteps } from './rollups/steps.ts';

/**
 * Uses business hours as the schedule that `reporting.params` names. Other schedules, and the names of holidays, stay.
 * `rebuild needed`: the rollups contain business time counted by other hours, until `reporting rebuild`.
 */
export async function adoptHours(db: Database, hours: BusinessHours): Promise<'same' | 'adopted' | 'rebuild needed'> {
  if (!(await changesBy(db, hours)).is_any) return 'same';
  return inTransaction(db, async (tx) => {
    // Changes that arrive meanwhile are rolled up afterwards, by the new hours.
    await holdSteps(tx);
    const changes = await changesBy(tx, hours);
    if (!changes.is_any) return 'same';
    await write(tx, hours);
    const isRebuildNeeded = changes.is_past && !(await isWarehouseEmpty(tx));
    if (!isRebuildNeeded && changes.is_current) {
      await query(tx, 'update ops.rollup_state set meaning = ops.rollup_meaning()', []);
    }
    return isRebuildNeeded ? 'rebuild needed' : 'adopted';
  });
}

interface Changes {
  readonly is_any: boolean;
  /** True if the change affects more than future holidays, which no rolled-up time depends on. */
  readonly is_past: boolean;
  /** Whether the rollups were made with the definitions as they were before the change. */
  readonly is_current: boolean;
}

async function changesBy(db: Database | Transaction, hours: BusinessHours): Promise<Changes> {
  const [changes] = await query<Changes>(
    db,
    sql`
      with held as (select s.* from reporting.params p join reporting.schedules s on s.schedule_id = p.schedule_id),
      spans as (
        select isodow, opens, closes, count(*) from (
          select isodow, opens, closes from ${spansOf(hours)}
          union all
          select b.isodow, b.opens, b.closes from reporting.business_hours b join held using (schedule_id)
        ) either group by 1, 2, 3 having count(*) = 1
      ),
      days as (
        select holiday_date from (
          select holiday_date from ${holidaysOf(hours)}
          union all
          select x.holiday_date from reporting.holidays x join held using (schedule_id)
        ) either group by 1 having count(*) = 1
      ),
      found as (
        select held.time_zone <> ${hours.timeZone} or exists (select from spans) as is_week,
          exists (select from days) as is_holiday,
          exists (select from days where holiday_date <= (now() at time zone ${hours.timeZone})::date) as is_past_holiday
        from held
      )
      select is_week or is_holiday as is_any, is_week or is_past_holiday as is_past,
        meaning is not distinct from ops.rollup_meaning() as is_current
      from found cross join ops.rollup_state`,
  );
  if (!changes) throw new Error('reporting.params names no schedule');
  return changes;
}

async function write(tx: Transaction, hours: BusinessHours): Promise<void> {
  const schedule = sql`(select schedule_id from reporting.params)`;
  await query(
    tx,
    sql`update reporting.schedules set time_zone = ${hours.timeZone} where schedule_id = ${schedule} and time_zone <> ${hours.timeZone}`,
  );
  await query(tx, sql`delete from reporting.business_hours where schedule_id = ${schedule}`);
  await query(
    tx,
    sql`insert into reporting.business_hours (schedule_id, isodow, opens, closes)
        select ${schedule}, isodow, opens, closes from ${spansOf(hours)}`,
  );
  await query(
    tx,
    sql`delete from reporting.holidays x where schedule_id = ${schedule}
        and not exists (select from ${holidaysOf(hours)} where w.holiday_date = x.holiday_date)`,
  );
  await query(
    tx,
    sql`insert into reporting.holidays (schedule_id, holiday_date) select ${schedule}, holiday_date from ${holidaysOf(hours)}
        on conflict do nothing`,
  );
}

function spansOf({ week }: BusinessHours) {
  const spans = weekdays.flatMap((day, at) => joined(week[day]).map((span) => ({ ...span, isodow: at + 1 })));
  const texts = relation('t', spans, {
    isodow: 'integer',
    opens: ['text', ({ from }) => timeOf(from)],
    closes: ['text', ({ to }) => timeOf(to)],
  });
  return sql`(select isodow, opens::time, closes::time from ${texts}) w`;
}

function holidaysOf({ holidays }: BusinessHours) {
  return relation(
    'w',
    [...holidays].map((day) => ({ holiday_date: day })),
    { holiday_date: 'date' },
  );
}

/** Spans without overlaps, because `reporting.open_seconds` adds them up. */
function joined(spans: readonly Opening[]): Opening[] {
  const whole: Opening[] = [];
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = whole.at(-1);
    if (last && span.from <= last.to) whole[whole.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
    else whole.push(span);
  }
  return whole;
}

/** A local time from minutes since midnight. `24:00` is the end of the day. */
function timeOf(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');
}
