import type { Account } from './account.ts';
import { day } from './clock.ts';
import { grouped, type Report, total } from './rows.ts';

/** What was compared with the service, by UTC day, as the comments of `completeness` define it. */
export function completenessReport({ comparedHours, scenes }: Account): Report {
  const end = Math.floor(Math.max(...scenes) / day) * day + 10 * day;
  const days = grouped(
    [...comparedHours.entries()].filter(([begin]) => begin < end),
    ([begin]) => [Math.floor(begin / day) * day],
  );
  return {
    view: 'reporting.completeness',
    key: ['stream', 'utc_date'],
    beside: ['least_recently_checked_at', 'difference'],
    // The last days are compared as time goes by.
    where: `utc_date < '${new Date(end).toISOString().slice(0, 10)}'`,
    rows: days.map(({ key: [begin], items }) => {
      const isProven = ({ reported, held }: { reported: number; held: number }) => reported === held;
      const proven = items.filter(([, each]) => isProven(each)).length;
      return {
        ...{
          stream: 'calls',
          utc_date: new Date(begin).toISOString().slice(0, 10),
          hour_count: 24,
          proven_hour_count: proven,
        },
        reported_count: total(items.map(([, { reported }]) => reported)),
        held_count: total(items.map(([, { held }]) => held)),
        ...{ unannounced_count: null, unannounced_share: null, is_complete: proven === 24 },
      };
    }),
  };
}
