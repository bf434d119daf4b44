import { query } from '../../../warehouse/database.ts';
import { quantity } from '../../words.ts';
import { type Column, type Picture, sumOf, type Tone } from '../picture.ts';
import { readDays } from '../read.ts';

/** More words than these would be colours that nobody can tell apart. */
const mostWords = 4;
const rest = 'other';

const toneOf: Readonly<Record<string, Tone>> = { positive: 'good', neutral: 'plain', negative: 'bad', [rest]: 'worse' };
const otherTones: readonly Tone[] = ['main', 'second', 'fair', 'plain'];

/** The words are the account's own: they are taken as they come, the most frequent first. */
export const sentiment: Picture = {
  name: 'sentiment',
  title: 'Sentiment of calls',
  emptiness: 'No call of this time was analysed.',
  async read(db, period) {
    const rows = await query<{ word: string }>(
      db,
      `select lower(call_sentiment) as word from reporting.sentiment_daily where local_date > reporting.local_day(now()) - $1::integer
       group by 1 order by sum(transcript_count) desc, 1 limit ${mostWords + 1}`,
      [period],
    );
    const words = rows.map(({ word }) => word);
    const shown = words.length > mostWords ? [...words.slice(0, mostWords), rest] : words;
    const columns: Column[] = shown.map((word) => ({ key: keyOf(word), name: capital(word), unit: 'count' }));
    const counts = columns.map(({ key }, at) => {
      const isIn =
        shown[at] === rest
          ? `not (lower(call_sentiment) = any($2))`
          : `lower(call_sentiment) = ($2::text[])[${at + 1}]`;
      return `coalesce(sum(transcript_count) filter (where ${isIn}), 0) as "${key}"`;
    });
    if (columns.length === 0) return readDays(db, period, [], 'select day as local_date from days');
    return readDays(
      db,
      period,
      columns,
      `select local_date, ${counts.join(', ')} from reporting.sentiment_daily
       where local_date > reporting.local_day(now()) - $1 group by 1`,
      [words.slice(0, mostWords)],
    );
  },
  show(figures) {
    const sums = figures.columns.map((column) => ({ column, sum: sumOf(figures, column.key) }));
    const total = sums.reduce((all, { sum }) => all + sum, 0);
    const parts = sums
      .slice(0, 3)
      .map(({ column, sum }) => `${Math.round((100 * sum) / total)}\u00a0% ${column.name.toLowerCase()}`);
    let next = 0;
    const series = figures.columns.map(({ key }) => {
      const known = toneOf[key];
      if (known) return { key, tone: known };
      next += 1;
      return { key, tone: otherTones[(next - 1) % otherTones.length] ?? 'plain' };
    });
    return {
      sentence: `Of ${quantity(total)} analysed recordings, ${parts.join(', ')}.`,
      charts: [{ kind: 'stack', isShare: true, series }],
      note: 'As the service’s analysis judges it, in the account’s own words; shares of each day.',
    };
  },
};

function keyOf(word: string): string {
  return word.replace(/[^a-z0-9]+/g, '_').slice(0, 40) || 'unnamed';
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
