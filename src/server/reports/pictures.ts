import { type Database, query, sql } from '../../db/database.ts';
import { countOf, quantity } from '../../ops/format.ts';
import { DatabaseUnavailable, type Part, part, readWithTimeout } from '../../ops/snapshot.ts';
import { type Column, type Figures, formatValue, type Series } from './charts.ts';
import { type Period, type Picture, readDays, sumOf } from './figures.ts';

const volumeColumns: readonly Column[] = [
  { key: 'inbound_calls', name: 'Calls in', unit: 'count' },
  { key: 'outbound_calls', name: 'Calls out', unit: 'count' },
  { key: 'inbound_texts', name: 'Texts in', unit: 'count' },
  { key: 'outbound_texts', name: 'Texts out', unit: 'count' },
];

const volume: Picture = {
  name: 'volume',
  title: 'Volume',
  emptiness: 'No external call and no text in this time.',
  read: (db, period) =>
    readDays(
      db,
      period,
      volumeColumns,
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

const serviceLevelColumns: readonly Column[] = [
  { key: 'calls', name: 'Inbound calls', unit: 'count' },
  { key: 'short_abandoned', name: 'Given up at once', unit: 'count' },
  { key: 'answered', name: 'Answered', unit: 'count' },
  { key: 'answered_in_time', name: 'Answered in time', unit: 'count' },
  { key: 'answered_in_time_pct', name: 'Answered in time', unit: 'percent' },
  { key: 'answered_pct', name: 'Answered at all', unit: 'percent' },
  { key: 'wait_unknown', name: 'Answered after an unknown wait', unit: 'count' },
  { key: 'in_time_within_seconds', name: 'In time means within', unit: 'seconds' },
];

const serviceLevel: Picture = {
  name: 'service-level',
  title: 'Service level',
  emptiness: 'No inbound call in this time.',
  read: (db, period) =>
    readDays(
      db,
      period,
      serviceLevelColumns,
      `select c.local_date, c.call_count as calls, c.short_abandoned_count as short_abandoned, c.answered_count as answered,
         c.answered_in_time_count as answered_in_time, c.service_level_pct as answered_in_time_pct,
         c.answer_rate_without_short_pct as answered_pct, c.answer_wait_unknown_count as wait_unknown,
         p.service_level_seconds as in_time_within_seconds
       from reporting.call_daily c cross join reporting.params p
       where c.direction = 'inbound' and c.local_date > reporting.local_day(now()) - $1`,
    ),
  show(figures) {
    const meant = sumOf(figures, 'calls') - sumOf(figures, 'short_abandoned');
    const seconds = thresholdOf(figures);
    return {
      sentence: `${share(sumOf(figures, 'answered_in_time'), meant - sumOf(figures, 'wait_unknown'))} of inbound calls were answered within ${seconds} seconds, ${share(sumOf(figures, 'answered'), meant)} at all.`,
      charts: [
        {
          kind: 'lines',
          series: [
            { key: 'answered_pct', tone: 'second' },
            { key: 'answered_in_time_pct', tone: 'main' },
          ],
        },
      ],
      note: 'Callers who gave up at once do not count, nor do calls answered after an unknown wait; mailbox and missed calls count against it.',
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

const missedColumns: readonly Column[] = [
  { key: 'missed', name: 'Missed', unit: 'count' },
  { key: 'returned_by_call', name: 'Called back', unit: 'count' },
  { key: 'returned_by_text', name: 'Texted back', unit: 'count' },
  { key: 'caller_got_through', name: 'Caller got through later', unit: 'count' },
  { key: 'not_returned', name: 'Not returned', unit: 'count' },
  { key: 'texted_by_rule', name: 'Not returned, texted by a rule', unit: 'count' },
  { key: 'texted_by_unknown', name: 'Not returned, texted by an unknown sender', unit: 'count' },
];

const missed: Picture = {
  name: 'missed',
  title: 'Missed calls',
  emptiness: 'No inbound call was missed in this time.',
  read: (db, period) =>
    readDays(
      db,
      period,
      missedColumns,
      `select d.day as local_date, coalesce(sum(missed_count), 0) as missed,
         coalesce(sum(called_back_count + outbound_call_count), 0) as returned_by_call, coalesce(sum(text_count), 0) as returned_by_text,
         coalesce(sum(caller_got_through_count), 0) as caller_got_through, coalesce(sum(unreturned_count), 0) as not_returned,
         coalesce(sum(automatic_text_count), 0) as texted_by_rule, coalesce(sum(text_by_unknown_count), 0) as texted_by_unknown
       from days d
         left join reporting.callbacks b on b.local_date = d.day and b.local_date > reporting.local_day(now()) - $1
       group by 1`,
    ),
  show(figures) {
    const total = sumOf(figures, 'missed');
    const open = sumOf(figures, 'not_returned');
    return {
      sentence: [missedSentence(total, open), textedSentence(sumOf(figures, 'texted_by_rule'))].join(' ').trim(),
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
      note: 'A text that a rule sent, or whose sender is unknown, does not return a call. Mailbox calls are among them. Calls without a caller’s number cannot be returned and are left out.',
    };
  },
};

function missedSentence(total: number, open: number): string {
  if (total === 1) return open === 0 ? 'The one missed call was returned.' : 'The one missed call was not returned.';
  if (open === 0) return `All ${quantity(total)} missed calls were returned.`;
  return `${quantity(open)} of ${quantity(total)} missed calls ${open === 1 ? 'was' : 'were'} not returned.`;
}

function textedSentence(texted: number): string {
  if (texted === 0) return '';
  return `A rule texted ${quantity(texted)} of these.`;
}

const responseColumns: readonly Column[] = [
  { key: 'turns', name: 'Customers’ turns', unit: 'count' },
  { key: 'replied', name: 'Replied by a person', unit: 'count' },
  { key: 'half_seconds', name: 'Half within', unit: 'seconds' },
  { key: 'ninetieth_seconds', name: 'Nine of ten within', unit: 'seconds' },
  { key: 'half_business_seconds', name: 'Half within, business time', unit: 'seconds' },
];

const responseTurns = `from reporting.fct_sms_turn where turn_started_at >= reporting.day_start(reporting.local_day(now()) - $1::integer + 1)`;

/** Percentiles of lines or days cannot be combined, so they are computed from the turns. */
const response: Picture = {
  name: 'response-time',
  title: 'Response to texts',
  emptiness: 'No customer texted in this time.',
  async read(db, period) {
    const figures = await readDays(
      db,
      period,
      responseColumns,
      `select reporting.local_day(turn_started_at) as local_date, count(*) as turns, count(user_reply_seconds) as replied,
         percentile_cont(0.5) within group (order by user_reply_seconds) as half_seconds,
         percentile_cont(0.9) within group (order by user_reply_seconds) as ninetieth_seconds,
         percentile_cont(0.5) within group (order by user_reply_business_seconds) as half_business_seconds
       ${responseTurns} group by 1`,
    );
    const [whole] = await query<{ half_seconds: number | null }>(
      db,
      `select percentile_cont(0.5) within group (order by user_reply_seconds) as half_seconds ${responseTurns}`,
      [period],
    );
    return { ...figures, whole: { half_seconds: whole?.half_seconds ?? null } };
  },
  show(figures) {
    const half = figures.whole?.half_seconds;
    return {
      sentence:
        half == null
          ? 'No person has replied yet.'
          : `Half of the replies of people came within ${formatValue(half, 'seconds')}.`,
      charts: [
        {
          kind: 'lengths',
          series: [
            { key: 'ninetieth_seconds', tone: 'second' },
            { key: 'half_seconds', tone: 'main' },
            { key: 'half_business_seconds', tone: 'good', isDashed: true },
          ],
        },
      ],
      note: `${quantity(sumOf(figures, 'replied'))} of ${quantity(sumOf(figures, 'turns'))} turns were replied to by a person; automatic replies do not count. Each step of the scale is several times the one below.`,
    };
  },
};

/** More colours would be hard to distinguish; all further words are counted as one. */
const maxWords = 4;
const otherWord = 'other';

/** Words with a fixed colour. */
const tones = new Map<string, Series['tone']>([
  ['negative', 'bad'],
  ['neutral', 'plain'],
  ['positive', 'good'],
  [otherWord, 'worse'],
]);
/** The order of the stack, from bottom to top. Undefined stands for words without a fixed colour. */
const places = ['negative', 'neutral', undefined, 'positive', otherWord];
const otherTones: readonly Series['tone'][] = ['main', 'second', 'fair', 'plain'];

/** The most frequent words of the account's own vocabulary; it is not specified. */
const sentiment: Picture = {
  name: 'sentiment',
  title: 'Sentiment of calls',
  emptiness: 'No call of this time was analysed.',
  async read(db, period) {
    const rows = await query<{ word: string }>(
      db,
      `select lower(call_sentiment) as word from reporting.sentiment_daily where local_date > reporting.local_day(now()) - $1::integer
       group by 1 order by sum(transcript_count) desc, 1 limit ${maxWords + 1}`,
      [period],
    );
    const words = inPlace(rows.slice(0, maxWords).map(({ word }) => word));
    if (words.length === 0) return readDays(db, period, [], 'select day as local_date from days');
    const keys = keysOf(words);
    const columns = words.map((word, at): Column => ({ key: keys[at] ?? '', name: capital(word), unit: 'count' }));
    const conditions = words.map((_, at) => `lower(call_sentiment) = ($2::text[])[${at + 1}]`);
    if (rows.length > maxWords) {
      columns.push({ key: otherWord, name: capital(otherWord), unit: 'count' });
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
      charts: [{ kind: 'shares', series }],
      note: 'As the service’s analysis judges it, in the account’s own words; shares of each day.',
    };
  },
};

function inPlace(words: readonly string[]): string[] {
  const place = (word: string) => places.indexOf(tones.has(word) ? word : undefined);
  return words.toSorted((a, b) => place(a) - place(b));
}

/** Unique column names, short enough for Postgres in any script. */
function keysOf(words: readonly string[]): string[] {
  const taken = new Set([otherWord]);
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

const costColumns: readonly Column[] = [
  { key: 'sent', name: 'Sent', unit: 'count' },
  { key: 'would_send', name: 'Dry-run would send', unit: 'count' },
  { key: 'kept_back', name: 'Kept back by a gate', unit: 'count' },
  { key: 'segments', name: 'Segments', unit: 'count' },
  { key: 'cost_usd', name: 'Charged', unit: 'dollars' },
  { key: 'set_aside_usd', name: 'Not known, at most', unit: 'dollars' },
  { key: 'price_not_reported', name: 'Sent, price not reported', unit: 'count' },
  { key: 'outcome_unknown', name: 'Outcome not known yet', unit: 'count' },
];

/** From the ledger of sends: the service reports prices only for texts sent through the API. */
const cost: Picture = {
  name: 'cost',
  title: 'Automatic texts and their cost',
  emptiness: 'No rule has written a text in this time. What texts from the portal cost is not reported by the service.',
  read: (db, period) =>
    readDays(
      db,
      period,
      costColumns,
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
      sentence: costSentence(figures),
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
      note: costNote(figures),
    };
  },
};

function costSentence(figures: Figures): string {
  const [sent, would] = [sumOf(figures, 'sent'), sumOf(figures, 'would_send')];
  const priced = sent - sumOf(figures, 'price_not_reported');
  const texts = priced === sent ? countOf(sent, 'text') : `${quantity(priced)} of ${countOf(sent, 'text')}`;
  const charged = `${formatValue(sumOf(figures, 'cost_usd'), 'dollars')} for ${texts} that rules sent`;
  if (would === 0) return sent === 0 ? 'No rule sent a text.' : `${charged}.`;
  return sent === 0
    ? `No text was sent; in dry-run, rules would have sent ${quantity(would)}.`
    : `${charged}; in dry-run, they would have sent ${quantity(would)} more.`;
}

function costNote(figures: Figures): string {
  const [unpriced, unknown] = [sumOf(figures, 'price_not_reported'), sumOf(figures, 'outcome_unknown')];
  return [
    'What texts from the portal cost is not reported by the service.',
    ...(unpriced > 0 ? [`Of ${quantity(unpriced)} sent, the price was not reported.`] : []),
    ...(unknown > 0 ? [`Of ${quantity(unknown)}, it is not known yet whether they were sent.`] : []),
  ].join(' ');
}

/** Every picture, in the order of the page. */
export const pictures: readonly Picture[] = [volume, serviceLevel, missed, response, sentiment, cost];

/** A picture and its figures. */
export interface Drawn {
  readonly picture: Picture;
  readonly figures: Part<Figures>;
}

export interface Report {
  readonly period: Period;
  /** By the clock of the database. */
  readonly takenAt: Date;
  /** Of the local days. */
  readonly timeZone: string;
  readonly drawn: readonly Drawn[];
}

/** Reads pictures one after the other on one connection. Rejects with `DatabaseUnavailable` and nothing else. */
export async function readReport(db: Database, period: Period, which: readonly Picture[] = pictures): Promise<Report> {
  try {
    return await db.connection().execute(async (connection) => {
      const [frame] = await query<{ now: Date; zone: string }>(
        connection,
        sql`select clock_timestamp() as now, time_zone as zone from reporting.params`,
      );
      const drawn: Drawn[] = [];
      for (const picture of which) {
        drawn.push({
          picture,
          figures: await part(() => readWithTimeout(connection, (tx) => picture.read(tx, period))),
        });
      }
      return { period, takenAt: frame?.now ?? new Date(), timeZone: frame?.zone ?? 'UTC', drawn };
    });
  } catch (cause) {
    throw new DatabaseUnavailable('Postgres does not answer: see that it runs and that DATABASE_URL is right.', {
      cause,
    });
  }
}
