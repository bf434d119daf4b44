import { countOf } from '../../words.ts';
import { type Column, type Picture, sumOf } from '../picture.ts';
import { readDays } from '../read.ts';

const columns: readonly Column[] = [
  { key: 'inbound_calls', name: 'Calls in', unit: 'count' },
  { key: 'outbound_calls', name: 'Calls out', unit: 'count' },
  { key: 'inbound_texts', name: 'Texts in', unit: 'count' },
  { key: 'outbound_texts', name: 'Texts out', unit: 'count' },
];

export const volume: Picture = {
  name: 'volume',
  title: 'Volume',
  emptiness: 'No external call and no text in this time.',
  read: (db, period) =>
    readDays(
      db,
      period,
      columns,
      `select d.day as local_date,
         coalesce(c.inbound, 0) as inbound_calls, coalesce(c.outbound, 0) as outbound_calls,
         coalesce(t.inbound, 0) as inbound_texts, coalesce(t.outbound, 0) as outbound_texts
       from days d
         left join (
           select local_date, sum(call_count) filter (where direction = 'inbound') as inbound,
             sum(call_count) filter (where direction = 'outbound') as outbound
           from reporting.call_daily where local_date > reporting.local_day(now()) - $1 group by 1
         ) c on c.local_date = d.day
         left join (
           select local_date, sum(inbound_count) as inbound, sum(outbound_count) as outbound
           from reporting.sms_daily where local_date > reporting.local_day(now()) - $1 group by 1
         ) t on t.local_date = d.day`,
    ),
  show(figures) {
    const calls = sumOf(figures, 'inbound_calls') + sumOf(figures, 'outbound_calls');
    const texts = sumOf(figures, 'inbound_texts') + sumOf(figures, 'outbound_texts');
    return {
      sentence: `${countOf(calls, 'call')} and ${countOf(texts, 'text')}.`,
      charts: [
        {
          title: 'Calls',
          kind: 'stack',
          series: [
            { key: 'inbound_calls', tone: 'main' },
            { key: 'outbound_calls', tone: 'second' },
          ],
        },
        {
          title: 'Texts',
          kind: 'stack',
          series: [
            { key: 'inbound_texts', tone: 'main' },
            { key: 'outbound_texts', tone: 'second' },
          ],
        },
      ],
      note: 'Calls among the account’s own extensions are left out.',
    };
  },
};
