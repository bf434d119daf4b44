import { quantity } from '../../words.ts';
import { type Column, type Picture, sumOf } from '../picture.ts';
import { readDays } from '../read.ts';

const columns: readonly Column[] = [
  { key: 'missed', name: 'Missed', unit: 'count' },
  { key: 'returned_by_call', name: 'Called back', unit: 'count' },
  { key: 'returned_by_text', name: 'Texted back', unit: 'count' },
  { key: 'caller_got_through', name: 'Caller got through later', unit: 'count' },
  { key: 'not_returned', name: 'Not returned', unit: 'count' },
];

export const missed: Picture = {
  name: 'missed',
  title: 'Missed calls',
  emptiness: 'No inbound call was missed in this time.',
  read: (db, period) =>
    readDays(
      db,
      period,
      columns,
      `select d.day as local_date, coalesce(sum(missed_count), 0) as missed,
         coalesce(sum(called_back_count + outbound_call_count), 0) as returned_by_call, coalesce(sum(text_count), 0) as returned_by_text,
         coalesce(sum(caller_got_through_count), 0) as caller_got_through, coalesce(sum(unreturned_count), 0) as not_returned
       from days d
         left join reporting.callbacks b on b.local_date = d.day and b.local_date > reporting.local_day(now()) - $1
       group by 1`,
    ),
  show(figures) {
    const total = sumOf(figures, 'missed');
    const open = sumOf(figures, 'not_returned');
    return {
      sentence: sentenceOf(total, open),
      charts: [
        {
          kind: 'stack',
          series: [
            { key: 'not_returned', tone: 'bad' },
            { key: 'caller_got_through', tone: 'fair' },
            { key: 'returned_by_text', tone: 'second' },
            { key: 'returned_by_call', tone: 'good' },
          ],
        },
      ],
      note: 'Mailbox calls are among them. Calls without a caller’s number cannot be returned and are left out.',
    };
  },
};

function sentenceOf(total: number, open: number): string {
  if (total === 1) return open === 0 ? 'The one missed call was returned.' : 'The one missed call was not returned.';
  if (open === 0) return `All ${quantity(total)} missed calls were returned.`;
  return `${quantity(open)} of ${quantity(total)} missed calls ${open === 1 ? 'was' : 'were'} not returned.`;
}
