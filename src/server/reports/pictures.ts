import type { RawBuilder } from 'kysely';
import { type Database, query, sql } from '../../db/database.ts';
import { countOf, quantity } from '../../ops/format.ts';
import { type ReportingStatus, readReporting } from '../../ops/snapshot/reporting.ts';
import { type Part, part, readWithTimeout } from '../../ops/snapshot.ts';
import { onConnection, type Parameters } from '../answering.ts';
import { type Chart, type Column, type Day, type Figures, formatValue, type Series, valuesOf } from './charts.ts';
import { type Choice, choiceOf, finishedPart, periodBefore } from './choice.ts';
import { type Headline, ofDays, type Picture, type Rising, readDays, sumOf } from './figures.ts';
import { type Freshness, type Option, readFreshness, readOptions } from './freshness.ts';
import { followed, type RowSet, rowSets, rowsFrom } from './rows.ts';

/**
 * External calls by `local_date` and `direction`: the totals by hour for all and for a number, the calls themselves for other filters.
 * A choice with an agent alone has `call_count` alone, from the totals of agents.
 */
function callDays(choice: Choice): RawBuilder<unknown> {
  const { number, queue, agent } = choice.filters;
  if (agent !== undefined && number === undefined && queue === undefined) {
    return sql`select local_date, direction, sum(handled_count) as call_count from reporting.agent_hourly
      where user_key = ${agent} and direction <> 'internal' and ${ofDays(choice)} group by 1, 2`;
  }
  if (agent === undefined && queue === undefined) {
    const sums = ['call', 'answered', 'short_abandoned', 'answerable', 'answered_in_time', 'answer_wait_unknown'].map(
      (name) => sql`sum(${sql.ref(`${name}_count`)}) as ${sql.ref(`${name}_count`)}`,
    );
    return sql`select local_date, direction, ${sql.join(sums)},
        sum(answerable_count - menu_count) filter (where is_business_hours) as open_answerable_count,
        sum(answered_count) filter (where is_business_hours) as open_answered_count
      from reporting.call_hourly
      where direction <> 'internal' and ${ofDays(choice)} and ${number === undefined ? sql`true` : sql`number_key = ${number}`} group by 1, 2`;
  }
  const calls: RowSet = { ...rowSets.inbound_calls, where: sql`true` };
  const counts = Object.entries({
    answered_count: rowSets.answered,
    short_abandoned_count: rowSets.short_abandoned,
    answerable_count: rowSets.answerable,
    answered_in_time_count: rowSets.answered_in_time,
    answer_wait_unknown_count: rowSets.wait_unknown,
    open_answerable_count: rowSets.answerable_open,
    open_answered_count: rowSets.answered_open,
  }).map(([name, { where }]) => sql`count(*) filter (where ${where}) as ${sql.ref(name)}`);
  return sql`select r.local_date, r.direction, count(*) as call_count, ${sql.join(counts)} ${rowsFrom(calls, choice)} group by 1, 2`;
}

/** Texts of ours by `local_date`: the totals by day, or those that an agent sent. */
function textsOut(choice: Choice): RawBuilder<unknown> {
  return choice.filters.agent === undefined
    ? sql`select local_date, sum(outbound_count) as outbound from reporting.sms_daily where ${ofDays(choice)} and ${ofLine(choice)} group by 1`
    : sql`select r.local_date, count(*) as outbound ${rowsFrom(rowSets.outbound_texts, choice)} group by 1`;
}

function ofLine({ filters: { number } }: Choice): RawBuilder<unknown> {
  return number === undefined ? sql`true` : sql`line = ${number}`;
}

/** A chart with a series for each column, in its tone. */
function chart(kind: Chart['kind'], tones: Readonly<Record<string, Series['tone']>>, title?: string): Chart {
  const series = Object.entries(tones).map(([key, tone]) => ({ key, tone }));
  return { kind, series, ...(title !== undefined && { title }) };
}

const volumeColumns: readonly Column[] = [
  { key: 'inbound_calls', name: 'Calls in', unit: 'count', rows: 'set=inbound_calls' },
  { key: 'outbound_calls', name: 'Calls out', unit: 'count', rows: 'set=outbound_calls' },
  { key: 'inbound_texts', name: 'Texts in', unit: 'count', rows: 'set=inbound_texts', isFinal: true },
  { key: 'outbound_texts', name: 'Texts out', unit: 'count', rows: 'set=outbound_texts', isFinal: true },
];

const volume: Picture = {
  name: 'volume',
  title: 'Volume',
  emptiness: 'No external call and no text in this time.',
  rising: 'calls',
  read: (db, choice) =>
    readDays(
      db,
      choice,
      volumeColumns,
      sql`select d.day as local_date,
         coalesce(c.inbound, 0) as inbound_calls, coalesce(c.outbound, 0) as outbound_calls,
         coalesce(i.inbound, 0) as inbound_texts, coalesce(o.outbound, 0) as outbound_texts
       from days d
         left join (
           select local_date, sum(call_count) filter (where direction = 'inbound') as inbound,
             sum(call_count) filter (where direction = 'outbound') as outbound
           from (${callDays(choice)}) calls group by 1
         ) c on c.local_date = d.day
         left join (
           select local_date, sum(inbound_count) as inbound from reporting.sms_daily where ${ofDays(choice)} and ${ofLine(choice)} group by 1
         ) i on i.local_date = d.day
         left join (${textsOut(choice)}) o on o.local_date = d.day`,
    ),
  headlines: (figures) =>
    volumeColumns.map(({ key, rows = '', ...column }) => ({ ...column, rows, value: sumOf(figures, key) })),
  show(figures) {
    const calls = sumOf(figures, 'inbound_calls') + sumOf(figures, 'outbound_calls');
    const texts = sumOf(figures, 'inbound_texts') + sumOf(figures, 'outbound_texts');
    return {
      sentence: `${countOf(calls, 'call')} and ${countOf(texts, 'text')}.`,
      charts: [
        chart('stack', { inbound_calls: 'main', outbound_calls: 'second' }, 'Calls'),
        chart('stack', { inbound_texts: 'main', outbound_texts: 'second' }, 'Texts'),
      ],
      note: 'Calls among the account’s own extensions are left out.',
    };
  },
};

const serviceLevelColumns: readonly Column[] = [
  { key: 'calls', name: 'Inbound calls', unit: 'count', rows: 'set=all_inbound' },
  { key: 'short_abandoned', name: 'Given up at once', unit: 'count', rows: 'set=short_abandoned' },
  { key: 'answerable', name: 'All others', unit: 'count', rows: 'set=answerable' },
  { key: 'answered', name: 'Answered', unit: 'count', rows: 'set=answered' },
  { key: 'answered_in_time', name: 'Answered in time', unit: 'count', rows: 'set=answered_in_time' },
  { key: 'answered_in_time_pct', name: 'Answered in time', unit: 'percent', rows: 'set=answered_in_time' },
  { key: 'answered_pct', name: 'Answered at all', unit: 'percent', rows: 'set=answered' },
  { key: 'open_answerable', name: 'In business hours, past the menu', unit: 'count', rows: 'set=answerable_open' },
  { key: 'open_answered', name: 'Of these, answered', unit: 'count', rows: 'set=answered_open' },
  { key: 'wait_unknown', name: 'Answered after an unknown wait', unit: 'count', rows: 'set=wait_unknown' },
  { key: 'in_time_within_seconds', name: 'In time means within', unit: 'seconds' },
];

const serviceLevel: Picture = {
  name: 'service-level',
  title: 'Service level',
  emptiness: 'No inbound call in this time.',
  rising: 'calls',
  read: (db, choice) =>
    readDays(
      db,
      choice,
      serviceLevelColumns,
      sql`select c.local_date, c.call_count as calls, c.short_abandoned_count as short_abandoned, c.answerable_count as answerable,
         c.answered_count as answered, c.answered_in_time_count as answered_in_time,
         round(100.0 * c.answered_in_time_count / nullif(c.answerable_count - c.answer_wait_unknown_count, 0), 2) as answered_in_time_pct,
         round(100.0 * c.answered_count / nullif(c.answerable_count, 0), 2) as answered_pct,
         coalesce(c.open_answerable_count, 0) as open_answerable, coalesce(c.open_answered_count, 0) as open_answered,
         c.answer_wait_unknown_count as wait_unknown, p.service_level_seconds as in_time_within_seconds
       from (${callDays(followed(rowSets.answered, choice))}) c cross join reporting.params p
       where c.direction = 'inbound'`,
    ),
  headlines(figures) {
    const { inTime, answered, open } = sharesOf(figures);
    return [
      {
        name: 'Answered in business hours, past the menu',
        value: open,
        unit: 'percent',
        rows: 'set=answered_open',
        more: 'good',
      },
      { name: 'Answered', value: answered, unit: 'percent', rows: 'set=answered', more: 'good' },
      { name: 'Answered in time', value: inTime, unit: 'percent', rows: 'set=answered_in_time', more: 'good' },
    ];
  },
  show(figures) {
    const { inTime, answered, open } = sharesOf(figures);
    const seconds = valuesOf(figures, 'in_time_within_seconds').findLast((value) => value !== null);
    const told = (value: number | null) => (value === null ? 'none' : `${Math.round(value)}\u00a0%`);
    return {
      sentence: `${told(inTime)} of inbound calls were answered within ${seconds ?? 0} seconds, ${told(answered)} at all. In business hours, of those that left the menu: ${told(open)}.`,
      charts: [chart('lines', { answered_pct: 'second', answered_in_time_pct: 'main' })],
      note: 'By call; queue_daily counts a call in each of its queues. Callers who gave up at once do not count, nor do calls answered after an unknown wait; mailbox and missed calls count against it.',
    };
  },
};

/** The shares of the whole period; null when there is nothing that they are shares of. */
function sharesOf(figures: Figures): Readonly<Record<'inTime' | 'answered' | 'open', number | null>> {
  const answerable = sumOf(figures, 'answerable');
  const share = (key: string, whole: number) => (whole > 0 ? (100 * sumOf(figures, key)) / whole : null);
  return {
    inTime: share('answered_in_time', answerable - sumOf(figures, 'wait_unknown')),
    answered: share('answered', answerable),
    open: share('open_answered', sumOf(figures, 'open_answerable')),
  };
}

const missedColumns = [
  { key: 'missed', name: 'Missed', unit: 'count', rows: 'set=missed' },
  { key: 'returned_by_call', name: 'Called back', unit: 'count', rows: 'set=returned_by_call' },
  { key: 'returned_by_text', name: 'Texted back', unit: 'count', rows: 'set=returned_by_text' },
  { key: 'caller_got_through', name: 'Caller got through later', unit: 'count', rows: 'set=caller_got_through' },
  { key: 'not_returned', name: 'Not returned', unit: 'count', rows: 'set=not_returned' },
  { key: 'not_returned_closed', name: 'Not returned, while closed', unit: 'count', rows: 'set=not_returned_closed' },
  { key: 'not_returned_menu', name: 'Not returned, menu only', unit: 'count', rows: 'set=not_returned_menu' },
  {
    key: 'not_returned_silent',
    name: 'Not returned, mailbox without a message',
    unit: 'count',
    rows: 'set=not_returned_silent',
  },
  { key: 'not_returned_waiting', name: 'Not returned, waited', unit: 'count', rows: 'set=not_returned_waiting' },
  { key: 'texted_by_rule', name: 'Not returned, texted by a rule', unit: 'count', rows: 'set=texted_by_rule' },
  {
    key: 'texted_by_unknown',
    name: 'Not returned, texted by an unknown sender',
    unit: 'count',
    rows: 'set=texted_by_unknown',
  },
] as const satisfies readonly Column[];

const missed: Picture = {
  name: 'missed',
  title: 'Missed calls',
  emptiness: 'No inbound call was missed in this time.',
  rising: 'returns',
  read(db, choice) {
    const counts = missedColumns.map(
      ({ key }) => sql`count(r.local_date) filter (where ${rowSets[key].where}) as ${sql.ref(key)}`,
    );
    return readDays(
      db,
      choice,
      missedColumns,
      sql`select d.day as local_date, ${sql.join(counts)}
        from days d left join (select r.* ${rowsFrom(rowSets.missed, choice)}) r on r.local_date = d.day group by 1`,
    );
  },
  headlines: (figures) => [
    missedHeadline(figures, 'not_returned', 'Missed, not returned'),
    missedHeadline(figures, 'not_returned_waiting', 'Of these, waited in business hours'),
    missedHeadline(figures, 'not_returned_closed', 'Of these, came while closed'),
    missedHeadline(figures, 'not_returned_menu', 'Of these, menu only'),
    missedHeadline(figures, 'not_returned_silent', 'Of these, mailbox without a message'),
  ],
  show(figures) {
    const total = sumOf(figures, 'missed');
    const open = sumOf(figures, 'not_returned');
    const texted = sumOf(figures, 'texted_by_rule');
    return {
      sentence: `${missedSentence(total, open)}${texted > 0 ? ` A rule texted ${quantity(texted)} of these.` : ''}`,
      charts: [
        chart('stack', {
          not_returned: 'bad',
          caller_got_through: 'fair',
          returned_by_text: 'second',
          returned_by_call: 'good',
        }),
      ],
      note: 'A text that failed, that a rule sent, or whose sender is unknown, does not return a call. Mailbox calls are among them. Callers who gave up at once, and calls without a caller’s number, are left out. Closed is outside business hours.',
    };
  },
};

function missedHeadline(figures: Figures, key: string, name: string): Headline {
  return { name, value: sumOf(figures, key), unit: 'count', rows: `set=${key}`, more: 'bad' };
}

function missedSentence(total: number, open: number): string {
  if (total === 1) return open === 0 ? 'The one missed call was returned.' : 'The one missed call was not returned.';
  if (open === 0) return `All ${quantity(total)} missed calls were returned.`;
  return `${quantity(open)} of ${quantity(total)} missed calls ${open === 1 ? 'was' : 'were'} not returned.`;
}

const responseColumns: readonly Column[] = [
  { key: 'turns', name: 'Customers’ turns', unit: 'count', rows: 'set=turns' },
  { key: 'replied', name: 'Replied by a person', unit: 'count', rows: 'set=replied' },
  { key: 'half_seconds', name: 'Half within', unit: 'seconds', rows: 'set=replied' },
  { key: 'ninetieth_seconds', name: 'Nine of ten within', unit: 'seconds', rows: 'set=replied' },
  { key: 'half_business_seconds', name: 'Half within, business time', unit: 'seconds', rows: 'set=replied' },
];

/** Percentiles of lines or days cannot be combined, so they are computed from the turns. */
const response: Picture = {
  name: 'response-time',
  title: 'Response to texts',
  emptiness: 'No customer texted in this time.',
  rising: 'nothing',
  async read(db, choice) {
    const replies = rowsFrom(rowSets.replied, choice);
    const half = sql`percentile_cont(0.5) within group (order by r.user_reply_seconds) as half_seconds`;
    const figures = await readDays(
      db,
      choice,
      responseColumns,
      sql`select t.local_date, t.turns, coalesce(p.replied, 0) as replied, p.half_seconds, p.ninetieth_seconds, p.half_business_seconds
        from (select r.local_date, count(*) as turns ${rowsFrom(rowSets.turns, choice)} group by 1) t
          left join (
            select r.local_date, count(*) as replied, ${half},
              percentile_cont(0.9) within group (order by r.user_reply_seconds) as ninetieth_seconds,
              percentile_cont(0.5) within group (order by r.user_reply_business_seconds) as half_business_seconds
            ${replies} group by 1
          ) p on p.local_date = t.local_date`,
    );
    const [whole] = await query<{ half_seconds: number | null }>(db, sql`select ${half} ${replies}`);
    return { ...figures, whole: { half_seconds: whole?.half_seconds ?? null } };
  },
  headlines: (figures) => [
    {
      name: 'Half of replies within',
      value: figures.whole?.half_seconds ?? null,
      unit: 'seconds',
      rows: 'set=replied',
      more: 'bad',
    },
  ],
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
      note: `${quantity(sumOf(figures, 'replied'))} of ${quantity(sumOf(figures, 'turns'))} turns were replied to by a person; automatic replies do not count. Business time is measured where business hours lie between text and reply. Each step of the scale is several times the one below.`,
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

/** Transcripts by `local_date` and `word`. */
function sentimentDays(choice: Choice): RawBuilder<unknown> {
  return sql`select r.local_date, lower(r.call_sentiment) as word, count(*) as transcript_count ${rowsFrom(rowSets.analysed, choice)} group by 1, 2`;
}

/** The most frequent words of the account's own vocabulary; it is not specified. */
const sentiment: Picture = {
  name: 'sentiment',
  title: 'Sentiment of calls',
  emptiness: 'No call of this time was analysed.',
  rising: 'calls',
  async read(db, choice) {
    const rows = await query<{ word: string }>(
      db,
      sql`select word from (${sentimentDays(choice)}) s group by 1 order by sum(transcript_count) desc, 1 limit ${maxWords + 1}`,
    );
    const words = inPlace(rows.slice(0, maxWords).map(({ word }) => word));
    if (words.length === 0) return readDays(db, choice, [], sql`select day as local_date from days`);
    const keys = keysOf(words);
    const rowsOf = (kind: 'word' | 'except', of: readonly string[]) =>
      ['set=analysed', ...of.map((word) => `${kind}=${encodeURIComponent(word)}`)].join('&');
    const columns = words.map(
      (word, at): Column => ({ key: keys[at] ?? '', name: capital(word), unit: 'count', rows: rowsOf('word', [word]) }),
    );
    const conditions = words.map((word) => sql`s.word = ${word}`);
    if (rows.length > maxWords) {
      columns.push({ key: otherWord, name: capital(otherWord), unit: 'count', rows: rowsOf('except', words) });
      conditions.push(sql`not (s.word = any(${words}))`);
    }
    const counts = columns.map(
      ({ key }, at) => sql`coalesce(sum(s.transcript_count) filter (where ${conditions[at]}), 0) as ${sql.ref(key)}`,
    );
    return readDays(
      db,
      choice,
      columns,
      sql`select s.local_date, ${sql.join(counts)} from (${sentimentDays(choice)}) s group by 1`,
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
  { key: 'sent', name: 'Sent', unit: 'count', rows: 'set=sent' },
  { key: 'would_send', name: 'Dry-run would send', unit: 'count', rows: 'set=would_send' },
  { key: 'kept_back', name: 'Kept back by a gate', unit: 'count', rows: 'set=kept_back' },
  { key: 'segments', name: 'Segments', unit: 'count', rows: 'set=sent' },
  { key: 'cost_usd', name: 'Charged', unit: 'dollars', rows: 'set=sent' },
  { key: 'set_aside_usd', name: 'Not known, at most', unit: 'dollars', rows: 'set=price_unknown' },
  { key: 'price_not_reported', name: 'Sent, price not reported', unit: 'count', rows: 'set=price_not_reported' },
  { key: 'outcome_unknown', name: 'Outcome not known yet', unit: 'count', rows: 'set=outcome_unknown' },
];

/** Planned texts by `local_date`: the totals of rules know no line, so that those of a line are counted. */
function plannedDays(choice: Choice): RawBuilder<unknown> {
  if (choice.filters.number === undefined) {
    return sql`select local_date, sum(would_send_count) as would_send, sum(blocked_count) as kept_back
      from reporting.rule_outcomes where ${ofDays(choice)} group by 1`;
  }
  const planned: RowSet = { ...rowSets.would_send, where: sql`true` };
  return sql`select reporting.local_day(r.planned_at) as local_date, count(*) filter (where ${rowSets.would_send.where}) as would_send,
      count(*) filter (where ${rowSets.kept_back.where}) as kept_back ${rowsFrom(planned, choice)} group by 1`;
}

/** From the ledger of sends: the service reports prices only for texts sent through the API. */
const cost: Picture = {
  name: 'cost',
  title: 'Automatic texts and their cost',
  emptiness: 'No rule has written a text in this time. What texts from the portal cost is not reported by the service.',
  rising: 'nothing',
  read: (db, choice) =>
    readDays(
      db,
      choice,
      costColumns,
      sql`select d.day as local_date, coalesce(c.sent, 0) as sent, coalesce(r.would_send, 0) as would_send, coalesce(r.kept_back, 0) as kept_back,
         coalesce(c.segments, 0) as segments, coalesce(c.cost_usd, 0) as cost_usd, coalesce(c.set_aside_usd, 0) as set_aside_usd,
         coalesce(c.price_not_reported, 0) as price_not_reported, coalesce(c.outcome_unknown, 0) as outcome_unknown
       from days d
         left join (
           select local_date, sum(rule_sent_count) as sent, sum(rule_segment_count) as segments, sum(charged_usd) as cost_usd,
             sum(unpriced_set_aside_usd + open_set_aside_usd) as set_aside_usd, sum(unpriced_count) as price_not_reported,
             sum(open_count) as outcome_unknown
           from reporting.sms_daily where ${ofDays(choice)} and ${ofLine(choice)} group by 1
         ) c on c.local_date = d.day
         left join (${plannedDays(choice)}) r on r.local_date = d.day`,
    ),
  show(figures) {
    return {
      sentence: costSentence(figures),
      charts: [
        chart('stack', { sent: 'main', would_send: 'second', kept_back: 'plain' }, 'Texts'),
        chart('stack', { cost_usd: 'main', set_aside_usd: 'fair' }, 'Dollars'),
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
  /** Of the whole period, of its days that are over, and of as many days before; the latter two are undefined where none is over. */
  readonly headlines?: Readonly<Record<'now' | 'over' | 'before', readonly Headline[] | undefined>>;
}

/** What a page of the reports is read with: one connection, and the choice of its address. */
export interface Reading {
  readonly db: Database;
  readonly choice: Choice;
  /** By the clock of the database. */
  readonly takenAt: Date;
  /** Of the local days. */
  readonly timeZone: string;
  /** The local day now. */
  readonly today: string;
}

export interface Report extends Omit<Reading, 'db'> {
  readonly freshness: Part<Freshness>;
  readonly options: Part<readonly Option[]>;
  /** How late the figures are, and what they lack. */
  readonly lateness: Part<ReportingStatus>;
  readonly drawn: readonly Drawn[];
}

/** Reads with one connection for the choice of an address. Rejects with `DatabaseUnavailable`, `BadAddress` and nothing else. */
export function reading<T>(db: Database, parameters: Parameters, read: (reading: Reading) => Promise<T>): Promise<T> {
  return onConnection(db, async (connection) => {
    const [now] = await query<Pick<Reading, 'takenAt' | 'timeZone' | 'today'>>(
      connection,
      sql`select clock_timestamp() as "takenAt", time_zone as "timeZone", reporting.local_day(now())::text as today from reporting.params`,
    );
    if (!now) throw new Error('reporting.params has no row');
    return await read({ db: connection, choice: choiceOf(parameters, now.today), ...now });
  });
}

/** Reads pictures one after the other, each statement for a few seconds at most; `isCompared`: with their headlines. */
export async function readReport(
  { db, ...of }: Reading,
  which: readonly Picture[] = pictures,
  isCompared = true,
): Promise<Report> {
  const { choice, today } = of;
  const ask = <T>(read: (db: Database) => Promise<T>) => part(() => readWithTimeout(db, read));
  const freshness = await ask((tx) => readFreshness(tx, choice));
  const options = await ask(readOptions);
  const lateness = await ask(readReporting);
  const over = finishedPart(choice, today);
  const drawn: Drawn[] = [];
  for (const picture of which) {
    const figures = await ask(async (tx) =>
      withStates(await picture.read(tx, choice), picture.rising, freshness, today),
    );
    const { headlines } = picture;
    if (!isCompared || !headlines || figures.state !== 'known') {
      drawn.push({ picture, figures });
      continue;
    }
    const others = await ask(async (tx) => ({
      over: over && headlines(over === choice ? figures.value : await picture.read(tx, over)),
      before: over && headlines(await picture.read(tx, periodBefore(over))),
    }));
    const compared = others.state === 'known' ? others.value : { over: undefined, before: undefined };
    drawn.push({ picture, figures, headlines: { now: headlines(figures.value), ...compared } });
  }
  return { ...of, freshness, options, lateness, drawn };
}

/** Says of each day whether it is not over, or still rises. */
function withStates(figures: Figures, rising: Rising, freshness: Part<Freshness>, today: string): Figures {
  const known = freshness.state === 'known' ? freshness.value : undefined;
  const incomplete = new Set(rising === 'nothing' ? [] : known?.incompleteDays);
  const days = figures.days.map((day): Day => {
    if (day.date === today) return { ...day, state: 'open' };
    const isRising = incomplete.has(day.date) || (rising === 'returns' && known && day.date >= known.returnsFrom);
    return isRising ? { ...day, state: 'rising' } : day;
  });
  return { ...figures, days };
}
