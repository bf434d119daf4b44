import { type Column, type Figures, type Picture, sumOf } from '../picture.ts';
import { readDays } from '../read.ts';

const columns: readonly Column[] = [
  { key: 'calls', name: 'Inbound calls', unit: 'count' },
  { key: 'short_abandoned', name: 'Given up at once', unit: 'count' },
  { key: 'answered', name: 'Answered', unit: 'count' },
  { key: 'answered_in_time', name: 'Answered in time', unit: 'count' },
  { key: 'answered_in_time_pct', name: 'Answered in time', unit: 'percent' },
  { key: 'answered_pct', name: 'Answered at all', unit: 'percent' },
  { key: 'in_time_within_seconds', name: 'In time means within', unit: 'seconds' },
];

export const serviceLevel: Picture = {
  name: 'service-level',
  title: 'Service level',
  emptiness: 'No inbound call in this time.',
  read: (db, period) =>
    readDays(
      db,
      period,
      columns,
      `select c.local_date, c.call_count as calls, c.short_abandoned_count as short_abandoned, c.answered_count as answered,
         c.answered_in_time_count as answered_in_time, c.service_level_pct as answered_in_time_pct,
         c.answer_rate_without_short_pct as answered_pct, p.service_level_seconds as in_time_within_seconds
       from reporting.call_daily c cross join reporting.params p
       where c.direction = 'inbound' and c.local_date > reporting.local_day(now()) - $1`,
    ),
  show(figures) {
    const meant = sumOf(figures, 'calls') - sumOf(figures, 'short_abandoned');
    const seconds = thresholdOf(figures);
    return {
      sentence: `${share(sumOf(figures, 'answered_in_time'), meant)} of inbound calls were answered within ${seconds} seconds, ${share(sumOf(figures, 'answered'), meant)} at all.`,
      charts: [
        {
          kind: 'lines',
          series: [
            { key: 'answered_pct', tone: 'second' },
            { key: 'answered_in_time_pct', tone: 'main' },
          ],
        },
      ],
      note: 'Callers who gave up at once do not count; mailbox and missed calls count against it.',
    };
  },
};

function thresholdOf({ columns: held, days }: Figures): number {
  const at = held.findIndex(({ key }) => key === 'in_time_within_seconds');
  return days.findLast(({ values }) => values[at] != null)?.values[at] ?? 0;
}

function share(part: number, whole: number): string {
  return whole > 0 ? `${Math.round((100 * part) / whole)}\u00a0%` : 'none';
}
