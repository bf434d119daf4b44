import { countOf, quantity } from '../../words.ts';
import { type Column, type Figures, type Picture, sumOf } from '../picture.ts';
import { readDays } from '../read.ts';
import { told } from '../told.ts';

const columns: readonly Column[] = [
  { key: 'sent', name: 'Sent', unit: 'count' },
  { key: 'would_send', name: 'Dry-run would send', unit: 'count' },
  { key: 'kept_back', name: 'Kept back by a gate', unit: 'count' },
  { key: 'segments', name: 'Segments', unit: 'count' },
  { key: 'cost_usd', name: 'Charged', unit: 'dollars' },
  { key: 'set_aside_usd', name: 'Not known, at most', unit: 'dollars' },
  { key: 'price_not_reported', name: 'Sent, price not reported', unit: 'count' },
  { key: 'outcome_unknown', name: 'Outcome not known yet', unit: 'count' },
];

/** From the ledger of sends, which alone knows prices: the service reports none for what people send. */
export const cost: Picture = {
  name: 'cost',
  title: 'Automatic texts and their cost',
  emptiness: 'No rule has written a text in this time. What texts from the portal cost is not reported by the service.',
  read: (db, period) =>
    readDays(
      db,
      period,
      columns,
      `select d.day as local_date, coalesce(c.sent, 0) as sent, coalesce(r.would_send, 0) as would_send, coalesce(r.kept_back, 0) as kept_back,
         coalesce(c.segments, 0) as segments, coalesce(c.cost_usd, 0) as cost_usd, coalesce(c.set_aside_usd, 0) as set_aside_usd,
         coalesce(c.price_not_reported, 0) as price_not_reported, coalesce(c.outcome_unknown, 0) as outcome_unknown
       from days d
         left join (
           select local_date, sum(sent_count) as sent, sum(segment_count) as segments, sum(charged_usd) as cost_usd,
             sum(unpriced_set_aside_usd + open_set_aside_usd) as set_aside_usd, sum(unpriced_count) as price_not_reported,
             sum(open_count) as outcome_unknown
           from reporting.sms_cost_daily where local_date > reporting.local_day(now()) - $1 group by 1
         ) c on c.local_date = d.day
         left join (
           select local_date, sum(would_send_count) as would_send, sum(blocked_count) as kept_back
           from reporting.rule_outcomes where local_date > reporting.local_day(now()) - $1 group by 1
         ) r on r.local_date = d.day`,
    ),
  show(figures) {
    return {
      sentence: sentenceOf(figures),
      charts: [
        {
          title: 'Texts',
          kind: 'stack',
          series: [
            { key: 'sent', tone: 'main' },
            { key: 'would_send', tone: 'second' },
            { key: 'kept_back', tone: 'plain' },
          ],
        },
        {
          title: 'Dollars',
          kind: 'stack',
          series: [
            { key: 'cost_usd', tone: 'main' },
            { key: 'set_aside_usd', tone: 'fair' },
          ],
        },
      ],
      note: noteOf(figures),
    };
  },
};

function sentenceOf(figures: Figures): string {
  const [sent, would] = [sumOf(figures, 'sent'), sumOf(figures, 'would_send')];
  const priced = sent - sumOf(figures, 'price_not_reported');
  const texts = priced === sent ? countOf(sent, 'text') : `${quantity(priced)} of ${countOf(sent, 'text')}`;
  const charged = `${told(sumOf(figures, 'cost_usd'), 'dollars')} for ${texts} that rules sent`;
  if (would === 0) return sent === 0 ? 'No rule sent a text.' : `${charged}.`;
  return sent === 0
    ? `No text was sent; in dry-run, rules would have sent ${quantity(would)}.`
    : `${charged}; in dry-run, they would have sent ${quantity(would)} more.`;
}

function noteOf(figures: Figures): string {
  const [unpriced, unknown] = [sumOf(figures, 'price_not_reported'), sumOf(figures, 'outcome_unknown')];
  return [
    'What texts from the portal cost is not reported by the service.',
    ...(unpriced > 0 ? [`Of ${quantity(unpriced)} sent, the price was not reported.`] : []),
    ...(unknown > 0 ? [`Of ${quantity(unknown)}, it is not known yet whether they were sent.`] : []),
  ].join(' ');
}
