import { type Database, inTransaction, query, relation, sql, type Transaction } from '../db/database.ts';
import { type BusinessHours, type Calendars, type Opening, specialHours, weekdays } from '../shared/business-hours.ts';
import { isWarehouseEmpty } from './params.ts';
import { holdSteps } from './rollups/steps.ts';

/**
 * Uses business hours as the schedule that `reporting.params` names, and those of offices as the schedules of their names. Other
 * schedules, and the names of holidays, stay. `rebuild needed`: the rollups contain business time counted by other hours, until
 * `reporting rebuild`.
 */
export async function adoptHours(db: Database, hours: Calendars): Promise<'same' | 'adopted' | 'rebuild needed'> {
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
  /** True if the change affects more than days to come, which no rolled-up time depends on. */
  readonly is_past: boolean;
  /** Whether the rollups were made with the definitions as they were before the change. */
  readonly is_current: boolean;
}

async function changesBy(db: Database | Transaction, hours: Calendars): Promise<Changes> {
  const wanted = wantedBy(hours);
  const today = sql`(now() at time zone ${hours.timeZone})::date`;
  const [changes] = await query<Changes>(
    db,
    sql`
      with held as (${heldSchedules}),
      wanted as (select * from ${wanted.schedules}),
      differing as (
        select name, null::date as day from (
          select name, time_zone from wanted
          union all select name, time_zone from held where name in (select name from wanted)
        ) zones group by name, time_zone having count(*) = 1
        union all
        select name, null from (
          select name, isodow, opens::time, closes::time from ${wanted.week}
          union all
          select h.name, b.isodow, b.opens, b.closes from reporting.business_hours b join held h using (schedule_id)
          where h.name in (select name from wanted)
        ) week group by name, isodow, opens, closes having count(*) = 1
        union all
        select name, day from (
          select name, day, opens::time, closes::time from ${wanted.days}
          union all
          select h.name, x.holiday_date, null, null from reporting.holidays x join held h using (schedule_id)
          where h.name in (select name from wanted)
          union all
          select h.name, x.on_date, x.opens, x.closes from reporting.special_hours x join held h using (schedule_id)
          where h.name in (select name from wanted)
        ) days group by name, day, opens, closes having count(*) = 1
        union all
        select '', null from (
          select line, name from ${wanted.lines}
          union all
          select l.line, h.name from reporting.schedule_lines l join held h using (schedule_id)
        ) lines group by line, name having count(*) = 1
      )
      select exists (select from differing) as is_any,
        exists (select from differing where day is null or day <= ${today}) as is_past,
        meaning is not distinct from ops.rollup_meaning() as is_current
      from ops.rollup_state`,
  );
  if (!changes) throw new Error('ops.rollup_state has no row');
  return changes;
}

/** The schedule in use has the name '', as `business_hours` has none. */
const heldSchedules = sql`
  select s.schedule_id, s.time_zone, case when s.schedule_id = p.schedule_id then '' else s.name end as name
  from reporting.schedules s cross join reporting.params p`;

async function write(tx: Transaction, hours: Calendars): Promise<void> {
  const wanted = wantedBy(hours);
  const withId = sql`join (${heldSchedules}) held using (name)`;
  const isWanted = sql`schedule_id in (select schedule_id from ${wanted.schedules} ${withId})`;
  await query(
    tx,
    sql`insert into reporting.schedules (schedule_id, name, time_zone)
        select (select max(schedule_id) from reporting.schedules) + row_number() over (), name, time_zone from ${wanted.schedules}
        where name not in (select name from (${heldSchedules}) held)`,
  );
  await query(
    tx,
    sql`update reporting.schedules s set time_zone = w.time_zone
        from (select held.schedule_id, w.time_zone from ${wanted.schedules} join (${heldSchedules}) held using (name)) w
        where s.schedule_id = w.schedule_id and s.time_zone <> w.time_zone`,
  );
  await query(tx, sql`delete from reporting.business_hours where ${isWanted}`);
  await query(
    tx,
    sql`insert into reporting.business_hours (schedule_id, isodow, opens, closes)
        select schedule_id, isodow, opens::time, closes::time from ${wanted.week} ${withId}`,
  );
  const closed = sql`(select schedule_id, day from ${wanted.days} ${withId} where opens is null)`;
  await query(
    tx,
    sql`delete from reporting.holidays where ${isWanted} and (schedule_id, holiday_date) not in ${closed}`,
  );
  await query(
    tx,
    sql`insert into reporting.holidays (schedule_id, holiday_date) select * from ${closed} closed on conflict do nothing`,
  );
  await query(tx, sql`delete from reporting.special_hours where ${isWanted}`);
  await query(
    tx,
    sql`insert into reporting.special_hours (schedule_id, on_date, opens, closes)
        select schedule_id, day, opens::time, closes::time from ${wanted.days} ${withId} where opens is not null`,
  );
  await query(tx, sql`delete from reporting.schedule_lines`);
  await query(
    tx,
    sql`insert into reporting.schedule_lines (line, schedule_id) select line, schedule_id from ${wanted.lines} ${withId}`,
  );
}

/** What the tables should hold, by the name of the schedule. A day without hours is closed. */
function wantedBy(hours: Calendars) {
  const schedules = [{ ...hours, name: '', lines: [] }, ...hours.offices];
  const spanColumns = {
    opens: ['text', ({ from }: Partial<Opening>) => (from === undefined ? null : timeOf(from))],
    closes: ['text', ({ to }: Partial<Opening>) => (to === undefined ? null : timeOf(to))],
  } as const;
  const week = schedules.flatMap(({ name, week }) =>
    weekdays.flatMap((day, at) => joined(week[day]).map((span) => ({ ...span, name, isodow: at + 1 }))),
  );
  const days = schedules.flatMap((schedule) =>
    specialDates(schedule).flatMap((day) => {
      const spans = joined(specialHours(schedule, day) ?? []);
      return spans.length > 0
        ? spans.map((span) => ({ ...span, name: schedule.name, day }))
        : [{ name: schedule.name, day }];
    }),
  );
  return {
    schedules: relation('w', schedules, { name: 'text', time_zone: ['text', ({ timeZone }) => timeZone] }),
    week: relation('w', week, { name: 'text', isodow: 'integer', ...spanColumns }),
    days: relation('w', days as ({ name: string; day: string } & Partial<Opening>)[], {
      name: 'text',
      day: 'date',
      ...spanColumns,
    }),
    lines: relation(
      'w',
      schedules.flatMap(({ name, lines }) => lines.map((line) => ({ name, line }))),
      { name: 'text', line: 'text' },
    ),
  };
}

/** The first year for which days of every year are written down. */
const firstYear = 2000;

/** All special dates; those of every year until the year after next. */
function specialDates({ days }: BusinessHours): string[] {
  const years = Array.from({ length: new Date().getUTCFullYear() + 3 - firstYear }, (_, at) => String(firstYear + at));
  const dates = [...days.keys()].flatMap((day) => (day.length === 5 ? years.map((year) => `${year}-${day}`) : [day]));
  return [...new Set(dates)].filter((date) => new Date(`${date}T00:00Z`).toJSON()?.startsWith(date));
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
