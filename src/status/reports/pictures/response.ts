import { quantity } from '../../words.ts';
import { type Column, type Picture, sumOf, valuesOf } from '../picture.ts';
import { readDays } from '../read.ts';
import { told } from '../told.ts';

const columns: readonly Column[] = [
  { key: 'turns', name: 'Customers’ turns', unit: 'count' },
  { key: 'replied', name: 'Replied by a person', unit: 'count' },
  { key: 'half_seconds', name: 'Half within', unit: 'seconds' },
  { key: 'ninetieth_seconds', name: 'Nine of ten within', unit: 'seconds' },
  { key: 'half_business_seconds', name: 'Half within, business time', unit: 'seconds' },
];

/** Percentiles do not add up over lines, so they are taken from the turns themselves. */
export const response: Picture = {
  name: 'response-time',
  title: 'Response to texts',
  emptiness: 'No customer texted in this time.',
  read: (db, period) =>
    readDays(
      db,
      period,
      columns,
      `select reporting.local_day(turn_started_at) as local_date, count(*) as turns, count(user_reply_seconds) as replied,
         percentile_cont(0.5) within group (order by user_reply_seconds) as half_seconds,
         percentile_cont(0.9) within group (order by user_reply_seconds) as ninetieth_seconds,
         percentile_cont(0.5) within group (order by user_reply_business_seconds) as half_business_seconds
       from reporting.sms_turns
       where turn_started_at >= reporting.day_start(reporting.local_day(now()) - $1 + 1)
       group by 1`,
    ),
  show(figures) {
    const typical = middle(valuesOf(figures, 'half_seconds'));
    return {
      sentence:
        typical === undefined
          ? 'No person has replied yet.'
          : `On a usual day, half of the replies came within ${told(typical, 'seconds')}.`,
      charts: [
        {
          kind: 'span',
          series: [
            { key: 'ninetieth_seconds', tone: 'second' },
            { key: 'half_seconds', tone: 'main' },
          ],
          dashed: { key: 'half_business_seconds', tone: 'good' },
        },
      ],
      note: `${quantity(sumOf(figures, 'replied'))} of ${quantity(sumOf(figures, 'turns'))} turns were replied to by a person; automatic replies do not count. Each step of the scale is several times the one below.`,
    };
  },
};

function middle(values: readonly (number | null)[]): number | undefined {
  const sorted = values.filter((value) => value !== null).toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}
