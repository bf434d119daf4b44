import { quantity } from '../../words.ts';
import { type Column, type Picture, sumOf } from '../picture.ts';
import { readDays } from '../read.ts';
import { told } from '../told.ts';

const columns: readonly Column[] = [
  { key: 'sent', name: 'Sent by rules', unit: 'count' },
  { key: 'segments', name: 'Segments', unit: 'count' },
  { key: 'cost_usd', name: 'Charged', unit: 'dollars' },
  { key: 'price_not_reported', name: 'Sent, price not reported', unit: 'count' },
  { key: 'outcome_unknown', name: 'Outcome not known yet', unit: 'count' },
];

/** From the ledger of sends, which alone knows prices: the service reports none for what people send. */
export const cost: Picture = {
  name: 'cost',
  title: 'Cost of automatic texts',
  emptiness: 'No rule has sent a text in this time. What texts from the portal cost is not reported by the service.',
  read: (db, period) =>
    readDays(
      db,
      period,
      columns,
      `select reporting.local_day(planned_at) as local_date, count(*) filter (where state = 'SENT') as sent,
         coalesce(sum(units) filter (where state = 'SENT'), 0) as segments,
         coalesce(sum(settled_micros) filter (where state = 'SENT'), 0) / 1000000.0 as cost_usd,
         count(*) filter (where state = 'SENT' and settled_micros is null) as price_not_reported,
         count(*) filter (where state in ('DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN')) as outcome_unknown
       from ops.sends
       where mode = 'live' and planned_at >= reporting.day_start(reporting.local_day(now()) - $1 + 1)
       group by 1`,
    ),
  show(figures) {
    const unpriced = sumOf(figures, 'price_not_reported');
    const unknown = sumOf(figures, 'outcome_unknown');
    return {
      sentence: `${told(sumOf(figures, 'cost_usd'), 'dollars')} for ${quantity(sumOf(figures, 'sent'))} texts that rules sent.`,
      charts: [{ kind: 'stack', series: [{ key: 'cost_usd', tone: 'main' }] }],
      note: [
        'What texts from the portal cost is not reported by the service.',
        ...(unpriced > 0 ? [`Of ${quantity(unpriced)} sent, the price was not reported.`] : []),
        ...(unknown > 0 ? [`Of ${quantity(unknown)}, it is not known yet whether they were sent.`] : []),
      ].join(' '),
    };
  },
};
