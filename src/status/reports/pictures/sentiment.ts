import { query } from '../../../warehouse/database.ts';
import { countOf } from '../../words.ts';
import { type Column, type Picture, sumOf, type Tone } from '../picture.ts';
import { readDays } from '../read.ts';

/** More words than these would be colours that nobody can tell apart; the others are one. */
const mostWords = 4;
const rest = 'other';

/** Words with a colour of their own, from the bottom to the top of a column; the account's other words stand between. */
const tones = new Map<string, Tone>([
  ['negative', 'bad'],
  ['neutral', 'plain'],
  ['positive', 'good'],
  [rest, 'worse'],
]);
const places = ['negative', 'neutral', undefined, 'positive', rest];
const otherTones: readonly Tone[] = ['main', 'second', 'fair', 'plain'];

/** The words are the account's own: they are taken as they come, the most frequent ones. */
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
    const words = inPlace(rows.slice(0, mostWords).map(({ word }) => word));
    if (words.length === 0) return readDays(db, period, [], 'select day as local_date from days');
    const keys = keysOf(words);
    const columns = words.map((word, at): Column => ({ key: keys[at] ?? '', name: capital(word), unit: 'count' }));
    const conditions = words.map((_, at) => `lower(call_sentiment) = ($2::text[])[${at + 1}]`);
    if (rows.length > mostWords) {
      columns.push({ key: rest, name: capital(rest), unit: 'count' });
      conditions.push('not (lower(call_sentiment) = any($2))');
    }
    const counts = columns.map(
      ({ key }, at) => `coalesce(sum(transcript_count) filter (where ${conditions[at]}), 0) as "${key}"`,
    );
    return readDays(
      db,
      period,
      columns,
      `select local_date, ${counts.join(', ')} from reporting.sentiment_daily
       where local_date > reporting.local_day(now()) - $1 group by 1`,
      [words],
    );
  },
  show(figures) {
    const sums = figures.columns.map(({ key, name }) => ({ name, sum: sumOf(figures, key) }));
    const total = sums.reduce((all, { sum }) => all + sum, 0);
    const parts = sums
      .toSorted((a, b) => b.sum - a.sum)
      .slice(0, 3)
      .map(({ name, sum }) => `${Math.round((100 * sum) / total)}\u00a0% ${name.toLowerCase()}`);
    const others = figures.columns.filter(({ key }) => !tones.has(key));
    const series = figures.columns.map((column) => ({
      key: column.key,
      tone: tones.get(column.key) ?? otherTones[others.indexOf(column)] ?? 'plain',
    }));
    return {
      sentence: `Of ${countOf(total, 'analysed recording')}, ${parts.join(', ')}.`,
      charts: [{ kind: 'stack', isShare: true, series }],
      note: 'As the service’s analysis judges it, in the account’s own words; shares of each day.',
    };
  },
};

function inPlace(words: readonly string[]): string[] {
  const place = (word: string) => places.indexOf(tones.has(word) ? word : undefined);
  return words.toSorted((a, b) => place(a) - place(b));
}

/** Names of columns, each once; short enough for Postgres in any script. */
function keysOf(words: readonly string[]): string[] {
  const taken = new Set([rest]);
  return words.map((word) => {
    const plain = word.replace(/[^\p{L}\p{N}]+/gu, '_').slice(0, 12) || 'unnamed';
    let key = plain;
    for (let nth = 2; taken.has(key); nth += 1) key = `${plain}_${nth}`;
    taken.add(key);
    return key;
  });
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
