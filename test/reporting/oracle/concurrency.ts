import type { Account } from './account.ts';
import { factsOf } from './calls.ts';
import { beginOf, dateAfter, dateAt, quarterOf, second, wallAt } from './clock.ts';
import { grouped, type Report } from './rows.ts';

/** How many calls are in progress at once, at every start of one and at every quarter of an hour, counted one by one. */
export function concurrencyReport(account: Account): Report {
  const { timeZone: zone } = account.definitions;
  const from = dateAt(account.scenes[0] ?? 0, zone);
  const to = dateAfter(from, 2);
  const [begin, end] = [beginOf(from, zone), beginOf(dateAfter(to, 1), zone)];
  const calls = factsOf(account)
    .filter(({ isInternal }) => !isInternal)
    .map(({ at, duration }) => ({ at, until: at + duration * second }));
  const moments = new Set(calls.map(({ at }) => at).filter((at) => begin <= at && at < end));
  for (let at = quarterOf(begin); at < end; at += 900 * second) moments.add(at);
  const counted = [...moments].map((moment) => {
    const { date, hour } = wallAt(moment, zone);
    return { moment, date, hour, count: calls.filter(({ at, until }) => at <= moment && moment < until).length };
  });
  return {
    view: 'reporting.concurrent_calls',
    from: `reporting.concurrent_calls('${from}', '${to}')`,
    key: ['local_date', 'local_hour'],
    rows: grouped(counted, ({ date, hour }) => [date, hour]).map(({ key: [local_date, local_hour], items }) => {
      const peak = Math.max(...items.map(({ count }) => count));
      const first = Math.min(...items.filter(({ count }) => count === peak).map(({ moment }) => moment));
      return { local_date, local_hour, peak_count: peak, peak_at: new Date(first) };
    }),
  };
}
