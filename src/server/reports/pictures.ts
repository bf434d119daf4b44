import { type Database, query, sql } from '../../db/database.ts';
import { countOf, quantity } from '../../ops/format.ts';
import { type Column, type Figures, formatValue } from './charts.ts';
import { type Measure, type Picture, wholeOf } from './figures.ts';
import {
  type Condition,
  calls,
  charged,
  followed,
  inbound,
  inboundTexts,
  missed,
  planned,
  type RowSet,
  type RowTable,
  replies,
  rowsFrom,
  texts,
  transcripts,
  turns,
} from './rows.ts';

const everything = sql`true`;
const rows = (title: string, table: RowTable, where: Condition = everything): RowSet => ({ title, table, where });

/** The name of a column, the title of its page of rows, the rows, and their total: a column of totals, or SQL. */
type Counted = readonly [name: string, title: string, where: Condition, total?: string | Condition];

/** Columns that count rows of a table. */
function counts<Key extends string>(table: RowTable, columns: Readonly<Record<Key, Counted>>): Record<Key, Measure> {
  const measures = Object.entries<Counted>(columns).map(([key, [name, title, where, total]]) => {
    const sum = typeof total === 'string' ? sql`sum(r.${sql.ref(total)})` : total;
    return [key, { key, name, unit: 'count', set: rows(title, table, where), ...(sum && { total: sum }) }] as const;
  });
  return Object.fromEntries(measures) as Record<Key, Measure>;
}

const isIn = sql`r.direction = 'inbound'`;
const isOut = sql`r.direction = 'outbound'`;
const external = counts(calls, {
  inbound_calls: ['Calls in', 'Calls in', isIn, sql`sum(r.call_count) filter (where ${isIn})`],
  outbound_calls: ['Calls out', 'Calls out', isOut, sql`sum(r.call_count) filter (where ${isOut})`],
});
const textsIn = counts(inboundTexts, {
  inbound_texts: ['Texts in', 'Texts in', sql`r.direction = 'in'`, 'inbound_count'],
});
const textsOut = counts(texts, {
  outbound_texts: ['Texts out', 'Texts out', sql`r.direction = 'out'`, 'outbound_count'],
});

const volume: Picture = {
  name: 'volume',
  title: 'Volume',
  emptiness: 'No external call and no text in this time.',
  rising: 'calls',
  measures: [
    { ...external.inbound_calls, tone: 'main', headline: {} },
    { ...external.outbound_calls, tone: 'second', headline: {} },
    { ...textsIn.inbound_texts, tone: 'main', headline: {}, isFinal: true },
    { ...textsOut.outbound_texts, tone: 'second', headline: {}, isFinal: true },
  ],
  charts: [
    { kind: 'stack', title: 'Calls', keys: ['inbound_calls', 'outbound_calls'] },
    { kind: 'stack', title: 'Texts', keys: ['inbound_texts', 'outbound_texts'] },
  ],
  sentence(figures) {
    const sum = (things: string) => wholeOf(figures, `inbound_${things}`) + wholeOf(figures, `outbound_${things}`);
    return `${countOf(sum('calls'), 'call')} and ${countOf(sum('texts'), 'text')}.`;
  },
  note: () => 'Calls among the account’s own extensions are left out.',
};

const isAnswered = sql`r.outcome = 'answered'`;
const isShort = sql`r.outcome = 'short_abandoned'`;
const isUnknownWait = sql`r.outcome = 'answered' and r.answer_wait_seconds is null`;
const inTime = sql`(select service_level_seconds from reporting.params)`;
const isOpen = sql`r.is_business_hours`;
const isOpenAnswerable = sql`r.is_business_hours and r.outcome <> 'short_abandoned'
  and not (r.outcome in ('abandoned', 'missed') and r.reached = 'menu')`;
const openAnswerable = sql`sum(r.answerable_count - r.menu_count) filter (where ${isOpen})`;
const openAnswered = sql`sum(r.answered_count) filter (where ${isOpen})`;
const share = (part: number, whole: number) => (whole > 0 ? Math.round((10_000 * part) / whole) / 100 : null);

const inboundCalls = counts(inbound, {
  all_inbound: ['Inbound calls', 'Inbound calls', everything, 'call_count'],
  short_abandoned: ['Given up at once', 'Calls given up at once', isShort, 'short_abandoned_count'],
  answerable: ['All others', 'Calls that could be answered', sql`not (${isShort})`, 'answerable_count'],
  answered: ['Answered', 'Answered calls', isAnswered, 'answered_count'],
  answered_in_time: [
    'Answered in time',
    'Calls answered in time',
    sql`r.answer_wait_seconds <= ${inTime}`,
    'answered_in_time_count',
  ],
  wait_unknown: [
    'Answered after an unknown wait',
    'Calls answered after an unknown wait',
    isUnknownWait,
    'answer_wait_unknown_count',
  ],
  open_answerable: [
    'In business hours, past the menu',
    'Calls in business hours that left the menu',
    isOpenAnswerable,
    openAnswerable,
  ],
  open_answered: [
    'Of these, answered',
    'Calls answered in business hours',
    sql`${isOpen} and ${isAnswered}`,
    openAnswered,
  ],
});

const serviceLevel: Picture = {
  name: 'service-level',
  title: 'Service level',
  emptiness: 'No inbound call in this time.',
  rising: 'calls',
  measures: [
    ...Object.values(inboundCalls),
    {
      ...{ key: 'open_answered_pct', name: 'Of these, answered', unit: 'percent', rows: 'set=open_answered' },
      headline: { name: 'Answered in business hours, past the menu', more: 'good' },
      derive: (value) => share(value('open_answered'), value('open_answerable')),
    },
    {
      ...{ key: 'answered_pct', name: 'Answered at all', unit: 'percent', rows: 'set=answered', tone: 'second' },
      headline: { name: 'Answered', more: 'good' },
      derive: (value) => share(value('answered'), value('answerable')),
    },
    {
      ...{ key: 'answered_in_time_pct', name: 'Answered in time', unit: 'percent', rows: 'set=answered_in_time' },
      ...{ tone: 'main', headline: { more: 'good' } },
      derive: (value) => share(value('answered_in_time'), value('answerable') - value('wait_unknown')),
    },
    {
      ...{ key: 'in_time_within_seconds', name: 'In time means within', unit: 'seconds', rows: '' },
      ...{ set: rows('', inbound), of: sql`max(${inTime})`, total: sql`max(${inTime})` },
    },
  ],
  charts: [{ kind: 'lines' }],
  sentence(figures) {
    const told = (key: string) => (figures.whole[key] == null ? 'none' : `${Math.round(wholeOf(figures, key))}\u00a0%`);
    return `${told('answered_in_time_pct')} of inbound calls were answered within ${wholeOf(figures, 'in_time_within_seconds')} seconds, ${told('answered_pct')} at all. In business hours, of those that left the menu: ${told('open_answered_pct')}.`;
  },
  note: () =>
    'By call; fct_queue_visit has a row for each of its queues. Callers who gave up at once do not count, nor do calls answered after an unknown wait; mailbox and missed calls count against it.',
};

const unreturned = 'Missed calls that were not returned';
const isOpenFor = (reason: string) => sql`r.is_unreturned and r.reason = ${reason}`;
const returnedBy = (...ways: readonly string[]) => sql`r.returned_by in (${sql.join(ways)})`;
const byCall = returnedBy('called_back', 'outbound_call');

const misses = counts(missed, {
  missed: ['Missed', 'Missed calls', everything],
  returned_by_call: ['Called back', 'Missed calls that were called back', byCall],
  returned_by_text: ['Texted back', 'Missed calls that a user texted', returnedBy('text')],
  caller_got_through: [
    'Caller got through later',
    'Missed calls whose caller got through later',
    returnedBy('caller_got_through'),
  ],
  not_returned: ['Not returned', unreturned, sql`r.is_unreturned`],
  needs_call_back: ['Need a call-back', 'Missed calls that need a call-back', sql`r.needs_call_back`],
  waiting: ['Customers waiting', 'Customers who wait for a call, by their newest missed call', sql`r.is_waiting`],
  not_returned_closed: ['Not returned, while closed', `${unreturned}, that came while closed`, isOpenFor('closed')],
  not_returned_menu: ['Not returned, menu only', `${unreturned}, whose caller never left the menu`, isOpenFor('menu')],
  not_returned_silent: [
    'Not returned, mailbox without a message',
    `${unreturned}, with a mailbox and no message`,
    isOpenFor('mailbox_without_message'),
  ],
  texted_by_rule: [
    'Not returned, texted by a rule',
    'Missed calls that only a rule texted',
    returnedBy('automatic_text'),
  ],
  texted_by_unknown: [
    'Not returned, texted by an unknown sender',
    'Missed calls that only an unknown sender texted',
    returnedBy('text_by_unknown'),
  ],
});
const headline = (measure: Measure, name: string): Measure => ({ ...measure, headline: { name, more: 'bad' } });

const missedCalls: Picture = {
  name: 'missed',
  title: 'Missed calls',
  emptiness: 'No inbound call was missed in this time.',
  rising: 'returns',
  measures: [
    misses.missed,
    { ...misses.returned_by_call, tone: 'good' },
    { ...misses.returned_by_text, tone: 'second' },
    { ...misses.caller_got_through, tone: 'fair' },
    { ...headline(misses.not_returned, 'Missed, not returned'), tone: 'bad' },
    headline(misses.waiting, 'Of these, customers who wait for a call'),
    headline(misses.not_returned_closed, 'Of these, came while closed'),
    headline(misses.not_returned_menu, 'Of these, menu only'),
    headline(misses.not_returned_silent, 'Of these, mailbox without a message'),
    misses.needs_call_back,
    misses.texted_by_rule,
    misses.texted_by_unknown,
  ],
  charts: [{ kind: 'stack', keys: ['not_returned', 'caller_got_through', 'returned_by_text', 'returned_by_call'] }],
  sentence(figures) {
    const [total, open] = [wholeOf(figures, 'missed'), wholeOf(figures, 'not_returned')];
    const texted = wholeOf(figures, 'texted_by_rule');
    return `${missedSentence(total, open)}${texted > 0 ? ` A rule texted ${quantity(texted)} of these.` : ''}`;
  },
  note: () =>
    'A text that failed, that a rule sent, or whose sender is unknown, does not return a call. Mailbox calls are among them. Callers who gave up at once, and calls without a caller’s number, are left out. Closed is outside business hours. Which calls need a call-back is said by the rules file.',
};

function missedSentence(total: number, open: number): string {
  if (total === 1) return open === 0 ? 'The one missed call was returned.' : 'The one missed call was not returned.';
  if (open === 0) return `All ${quantity(total)} missed calls were returned.`;
  return `${quantity(open)} of ${quantity(total)} missed calls ${open === 1 ? 'was' : 'were'} not returned.`;
}

const replied = rows('Turns that a person replied to', replies, sql`r.user_reply_seconds is not null`);
/** Percentiles of lines or days can't be combined, so they are computed from the turns. */
const percentile = (part: number, column: string) => ({
  ...({ unit: 'seconds', set: replied, rows: 'set=replied' } as const),
  of: sql`percentile_cont(${part}::float8) within group (order by r.${sql.ref(column)})`,
});
const half = percentile(0.5, 'user_reply_seconds');
const ninetieth = percentile(0.9, 'user_reply_seconds');
const halfBusiness = percentile(0.5, 'user_reply_business_seconds');

const response: Picture = {
  name: 'response-time',
  title: 'Response to texts',
  emptiness: 'No customer texted in this time.',
  rising: 'nothing',
  measures: [
    counts(turns, { turns: ['Customers’ turns', 'Customers’ turns', everything] }).turns,
    { key: 'replied', name: 'Replied by a person', unit: 'count', set: replied },
    { ...ninetieth, key: 'ninetieth_seconds', name: 'Nine of ten within', tone: 'second' },
    {
      ...{ ...half, key: 'half_seconds', name: 'Half within', tone: 'main' },
      headline: { name: 'Half of replies within', more: 'bad' },
    },
    {
      ...{ ...halfBusiness, key: 'half_business_seconds', name: 'Half within, business time' },
      ...{ tone: 'good', isDashed: true },
    },
  ],
  charts: [{ kind: 'lengths' }],
  sentence({ whole: { half_seconds: seconds } }) {
    return seconds == null
      ? 'No person has replied yet.'
      : `Half of the replies of people came within ${formatValue(seconds, 'seconds')}.`;
  },
  note: (figures) =>
    `${quantity(wholeOf(figures, 'replied'))} of ${quantity(wholeOf(figures, 'turns'))} turns were replied to by a person; automatic replies do not count. Business time is measured where business hours lie between text and reply. Each step of the scale is several times the one below.`,
};

/** More colours would be hard to distinguish. All further words are counted together. */
const maxWords = 4;
const otherWord = 'other';

type Tone = NonNullable<Column['tone']>;

/**
 * Words with a fixed colour and position in the stack, from bottom to top. Others are placed between neutral and
 * positive.
 */
const tones = new Map<string, Tone>([
  ['negative', 'bad'],
  ['neutral', 'plain'],
  ['positive', 'good'],
]);
const places = ['negative', 'neutral', undefined, 'positive'];
const otherTones: readonly Tone[] = ['main', 'second', 'fair', 'plain'];
const analysed = rows('Analysed recordings', transcripts);
const word = sql`lower(r.call_sentiment)`;

/** The most frequent words of the account's own vocabulary, which isn't specified. */
const sentiment: Picture = {
  name: 'sentiment',
  title: 'Sentiment of calls',
  emptiness: 'No call of this time was analysed.',
  rising: 'calls',
  async measures(db: Database, choice) {
    const found = await query<{ word: string }>(
      db,
      sql`select ${word} as word ${rowsFrom(transcripts, followed(transcripts, choice))}
        group by 1 order by count(*) desc, 1 limit ${maxWords + 1}`,
    );
    const place = (each: string) => places.indexOf(tones.has(each) ? each : undefined);
    const words = found
      .slice(0, maxWords)
      .map((row) => row.word)
      .toSorted((a, b) => place(a) - place(b));
    const others = words.filter((each) => !tones.has(each));
    const of = (kind: 'word' | 'except', these: readonly string[]) => ({
      ...({
        unit: 'count',
        set: narrowed(analysed, kind === 'word' ? these : [], kind === 'word' ? [] : these),
      } as const),
      rows: ['set=analysed', ...these.map((each) => `${kind}=${encodeURIComponent(each)}`)].join('&'),
    });
    const keys = keysOf(words);
    const measures = words.map(
      (each, at): Measure => ({
        ...{ ...of('word', [each]), key: keys[at] ?? '', name: capital(each) },
        tone: tones.get(each) ?? otherTones[others.indexOf(each)] ?? 'plain',
      }),
    );
    if (found.length <= maxWords) return measures;
    return [...measures, { ...of('except', words), key: otherWord, name: capital(otherWord), tone: 'worse' }];
  },
  charts: [{ kind: 'shares' }],
  sentence(figures) {
    const sums = figures.columns.map(({ key, name }) => ({ name, sum: wholeOf(figures, key) }));
    const total = sums.reduce((all, { sum }) => all + sum, 0);
    const parts = sums
      .toSorted((a, b) => b.sum - a.sum)
      .slice(0, 3)
      .map(({ name, sum }) => `${Math.round((100 * sum) / total)}\u00a0% ${name.toLowerCase()}`);
    return `Of ${countOf(total, 'analysed recording')}, ${parts.join(', ')}.`;
  },
  note: () => 'As the service’s analysis judges it, in the account’s own words; shares of each day.',
};

/** The set `analysed`, restricted to one of these sentiments, or to none of them. */
export function narrowed(set: RowSet, only: readonly string[], except: readonly string[]): RowSet {
  if (set.table !== transcripts || only.length + except.length === 0) return set;
  const where = only.length > 0 ? sql`${word} = any(${only})` : sql`not (${word} = any(${except}))`;
  return { ...set, title: only.length > 0 ? `${set.title}: ${only.join(', ')}` : `${set.title}: other`, where };
}

/** Unique column names, short enough for Postgres in any script. */
function keysOf(words: readonly string[]): string[] {
  const taken = new Set([otherWord]);
  return words.map((each) => {
    const plain = each.replace(/[^\p{L}\p{N}]+/gu, '_').slice(0, 12) || 'unnamed';
    let key = plain;
    for (let nth = 2; taken.has(key); nth += 1) key = `${plain}_${nth}`;
    taken.add(key);
    return key;
  });
}

function capital(each: string): string {
  return each.charAt(0).toUpperCase() + each.slice(1);
}

const isDryRun = sql`r.state = 'DENIED' and r.reason = 'dry_run'`;
const isKeptBack = sql`(r.state = 'DENIED' and r.reason is distinct from 'dry_run' or r.state = 'EXPIRED')`;
const isUnpriced = sql`r.state = 'SENT' and r.settled_micros is null`;
const isUnclear = sql`r.state in ('RESERVED', 'DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN')`;
const isPriceUnknown = sql`(${isUnpriced} or ${isUnclear})`;
const setAside = sql`sum(r.unpriced_set_aside_usd + r.open_set_aside_usd)`;

const sends = counts(charged, {
  sent: ['Sent', 'Texts that rules sent', sql`r.state = 'SENT'`, 'rule_sent_count'],
  set_aside_usd: ['Not known, at most', 'Texts whose price or outcome is not known', isPriceUnknown, setAside],
  price_not_reported: ['Sent, price not reported', 'Texts whose price was not reported', isUnpriced, 'unpriced_count'],
  outcome_unknown: ['Outcome not known yet', 'Texts whose outcome is not known yet', isUnclear, 'open_count'],
});
const plans = counts(planned, {
  would_send: ['Dry-run would send', 'Texts that dry-run would have sent', isDryRun, 'would_send_count'],
  kept_back: ['Kept back by a gate', 'Texts that a gate kept back', isKeptBack, 'blocked_count'],
});
const ofSent = { ...sends.sent, rows: 'set=sent' };

/** From the send ledger: the service only reports prices for texts sent through the API. */
const cost: Picture = {
  name: 'cost',
  title: 'Automatic texts and their cost',
  emptiness: 'No rule has written a text in this time. What texts from the portal cost is not reported by the service.',
  rising: 'nothing',
  measures: [
    { ...sends.sent, tone: 'main' },
    { ...plans.would_send, tone: 'second' },
    { ...plans.kept_back, tone: 'plain' },
    { ...ofSent, key: 'segments', name: 'Segments', total: sql`sum(r.rule_segment_count)` },
    { ...ofSent, key: 'cost_usd', name: 'Charged', unit: 'dollars', total: sql`sum(r.charged_usd)`, tone: 'main' },
    { ...sends.set_aside_usd, unit: 'dollars', tone: 'fair' },
    sends.price_not_reported,
    sends.outcome_unknown,
  ],
  charts: [
    { kind: 'stack', title: 'Texts', keys: ['sent', 'would_send', 'kept_back'] },
    { kind: 'stack', title: 'Dollars', keys: ['cost_usd', 'set_aside_usd'] },
  ],
  sentence: costSentence,
  note(figures) {
    const [unpriced, unknown] = [wholeOf(figures, 'price_not_reported'), wholeOf(figures, 'outcome_unknown')];
    return [
      'What texts from the portal cost is not reported by the service.',
      ...(unpriced > 0 ? [`Of ${quantity(unpriced)} sent, the price was not reported.`] : []),
      ...(unknown > 0 ? [`Of ${quantity(unknown)}, it is not known yet whether they were sent.`] : []),
    ].join(' ');
  },
};

function costSentence(figures: Figures): string {
  const [all, would] = [wholeOf(figures, 'sent'), wholeOf(figures, 'would_send')];
  const priced = all - wholeOf(figures, 'price_not_reported');
  const those = priced === all ? countOf(all, 'text') : `${quantity(priced)} of ${countOf(all, 'text')}`;
  const told = `${formatValue(wholeOf(figures, 'cost_usd'), 'dollars')} for ${those} that rules sent`;
  if (would === 0) return all === 0 ? 'No rule sent a text.' : `${told}.`;
  return all === 0
    ? `No text was sent; in dry-run, rules would have sent ${quantity(would)}.`
    : `${told}; in dry-run, they would have sent ${quantity(would)} more.`;
}

/** Every picture, in the order of the page. */
export const pictures: readonly Picture[] = [volume, serviceLevel, missedCalls, response, sentiment, cost];

/** The sets of rows that figures link to, by their name in the URL: the key of the first column that counts it. */
const sets = new Map([
  ['analysed', analysed] as const,
  ...pictures.flatMap(({ measures }) =>
    typeof measures === 'function'
      ? []
      : measures.flatMap(({ key, set, rows }) => (set && rows === undefined ? [[key, set] as const] : [])),
  ),
]);

export function rowSetOf(name: unknown): RowSet | undefined {
  return sets.get(String(name));
}
