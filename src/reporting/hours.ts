import { hash } from 'node:crypto';
import { type Database, inTransaction, query, relation, sql, type Transaction } from '../db/database.ts';
import { addDays, type BusinessHours, type Calendars, openingsOn } from '../rules/business-hours.ts';
import type { TimeRange } from '../shared/time-range.ts';
import { markEverything } from './rebuild.ts';
import { holdSteps } from './rollups/steps.ts';

/** The first day whose hours are stored: no call or text is older. */
const firstDay = '2000-01-01';
/** For how many years after this one hours are stored: no process runs longer. */
const yearsAhead = 2;

/** The first day whose hours aren't stored any more. */
const endDay = () => `${new Date().getUTCFullYear() + yearsAhead + 1}-01-01`;

/** When a schedule is open in all these years. */
function openingsOf(schedule: string, hours: BusinessHours) {
  const end = endDay();
  const openings: ({ readonly schedule: string } & TimeRange<Date>)[] = [];
  for (let day = firstDay; day < end; day = addDays(day, 1)) {
    openings.push(...openingsOn(hours, day).map((opening) => ({ schedule, ...opening })));
  }
  return openings;
}

/**
 * Has the reports count business time by these hours. `recounted`: hours that have passed differ, so everything held
 * was marked to be counted again.
 */
export async function adoptHours(db: Database, hours: Calendars): Promise<'same' | 'adopted' | 'recounted'> {
  const inUse = hashOf(hours);
  const held = await query(db, sql`select from ops.rollup_state where hours_hash = ${inUse}`);
  if (held.length > 0) return 'same';
  const wanted = wantedBy(hours);
  return inTransaction(db, async (tx) => {
    // Changes that arrive meanwhile are rolled up afterwards, by the new hours.
    await holdSteps(tx);
    const changes = await changesBy(tx, wanted);
    await query(tx, sql`update ops.rollup_state set hours_hash = ${inUse}`);
    if (changes === 'none') return 'same';
    for (const table of ['schedules', 'schedule_lines', 'open_hours'] as const) {
      await query(tx, sql`delete from ${sql.table(`reporting.${table}`)}`);
      await query(tx, sql`insert into ${sql.table(`reporting.${table}`)} select * from ${wanted[table]}`);
    }
    return changes === 'past' && (await markEverything(tx)) ? 'recounted' : 'adopted';
  });
}

/** Changes with the calendars, each year, and with Node's list of time zones. */
function hashOf(hours: Calendars): string {
  const written = JSON.stringify(hours, (_, value) => (value instanceof Map ? [...value] : value));
  return hash('sha256', `${endDay()} ${process.versions.tz} ${written}`);
}

type Wanted = ReturnType<typeof wantedBy>;

/** What the tables should hold. The hours of all lines that no office names have the name ''. */
function wantedBy(hours: Calendars) {
  const schedules = [{ ...hours, name: '' }, ...hours.offices];
  const lines = hours.offices.flatMap((office) => office.lines.map((line) => ({ line, schedule: office.name })));
  const openings = schedules.flatMap((each) => openingsOf(each.name, each));
  return {
    schedules: relation('s', schedules, {
      schedule: ['text', ({ name }) => name],
      time_zone: ['text', ({ timeZone }) => timeZone],
    }),
    schedule_lines: relation('l', lines, { line: 'text', schedule: 'text' }),
    open_hours: relation('o', openings, {
      schedule: 'text',
      opens_at: ['timestamptz', ({ from }) => from],
      closes_at: ['timestamptz', ({ to }) => to],
    }),
  };
}

/**
 * Which of the hours in use change: none, only future ones, or also past ones, in which there may be calls and texts.
 */
async function changesBy(tx: Transaction, wanted: Wanted): Promise<'none' | 'future' | 'past'> {
  const differing = (table: keyof Wanted) => {
    const [held, given] = [sql`select * from ${sql.table(`reporting.${table}`)}`, sql`select * from ${wanted[table]}`];
    return sql`((${given} except ${held}) union all (${held} except ${given})) differing`;
  };
  const [changes] = await query(
    tx,
    sql<{ changes: 'none' | 'future' | 'past' }>`
      select case
          when exists (select from ${differing('schedules')}) or exists (select from ${differing('schedule_lines')})
            or min(opens_at) <= now() then 'past'
          when min(opens_at) is null then 'none'
          else 'future'
        end as changes
      from ${differing('open_hours')}`,
  );
  return changes?.changes ?? 'none';
}
