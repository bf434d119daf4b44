import { sql } from '../../db/database.ts';
import { span } from '../../ops/format.ts';
import { outcomeWords } from '../records/words.ts';
import {
  type Condition,
  column,
  count,
  csvOnly,
  localTime,
  type RowColumn,
  type RowSource,
  utcTime,
} from '../row-list.ts';
import { type Choice, type Filter, filterNames } from './choice.ts';

/** A kind of rows: the relation `r`, and how filters apply to it. */
interface RowTable {
  readonly relation: Condition;
  /** Instant that decides on which day a row counts; indexed. */
  readonly moment: Condition;
  readonly key: Condition;
  readonly where: Condition;
  /** The condition of a filter, or in words why these rows cannot follow it. */
  readonly filters: Readonly<Record<Filter, string | ((value: string) => Condition)>>;
  /** Relations for names, joined to the rows of one page only. */
  readonly joins?: Condition;
  readonly columns: readonly RowColumn[];
}

/** The rows behind a figure. */
export interface RowSet {
  readonly title: string;
  readonly table: RowTable;
  readonly where: Condition;
}

// Looked up call by call, so that a page of rows ends early; as a join, some of the plans take many times that.
const byQueue = (queue: string) =>
  sql`(select true from reporting.fct_queue_visit v where v.call_id = r.call_id and v.queue_key = ${queue} limit 1)`;
const byAgent = (agent: string) =>
  sql`(select true from reporting.fct_call_agent a where a.call_id = r.call_id and a.user_key = ${agent} and a.role in ('answered', 'placed') limit 1)`;
const byLine = (line: string) => sql`r.line = ${line}`;

const wasNobody = 'a call that nobody answered belongs to no agent';
const hasNoQueue = 'texts go through no queue';

const zone = sql`(select time_zone from reporting.params)`;
type RowLink = NonNullable<RowColumn['link']>;

/** The time opens the page of the call or thread that a row is about. */
const times = (moment: Condition, link: RowLink): RowColumn[] => [
  { ...column('local_time', 'Time', localTime(moment, zone)), link },
  csvOnly(column('at', 'Instant', utcTime(moment))),
];
const callPage: RowLink = ({ call_id }) => `/calls/${call_id}`;

/** In the form that commands take: `line/number`, and `line/number/a,b` for a group. Of `r` and the conversation `c`. */
const thread = csvOnly(
  column('thread', 'Thread', sql`concat_ws('/', r.line, c.number, nullif(c.participants_key, ''))`),
);
/** Erased persons have no page. */
const threadPage: RowLink = ({ thread, message_id: id }) => {
  if (!thread || !/^\d+\/\d+(\/[\d,]+)?$/.test(thread)) return undefined;
  return id ? `/threads/${thread}?text=${id}#text-${id}` : `/threads/${thread}`;
};

/** What the page says for a word of the views; the CSV keeps the word. */
const words: Readonly<Record<string, string>> = {
  ...outcomeWords,
  ...{ no: 'no', called_back: 'called back, by the service', outbound_call: 'called back', text: 'texted back' },
  ...{ caller_got_through: 'the caller got through later', closed: 'closed', menu: 'hung up in the menu' },
  ...{ mailbox_without_message: 'mailbox, no message', mailbox: 'mailbox', queue: 'in a queue', rang: 'rang' },
  ...{ 'no, only automatic_text': 'no, a rule texted', 'no, only text_by_unknown': 'no, an unknown sender texted' },
};
const inWords = (each: RowColumn): RowColumn => ({ ...each, show: (value) => words[value] ?? value });

const calls: RowTable = {
  relation: sql`reporting.fct_call`,
  moment: sql`r.started_at`,
  key: sql`r.call_id`,
  where: sql`not r.is_internal`,
  filters: {
    number: (number) => sql`r.number_key = ${number}`,
    queue: byQueue,
    agent: byAgent,
  },
  joins: sql`left join reporting.dim_queue q on q.queue_key = coalesce(r.queue_key, r.huntgroup_key)
    left join reporting.dim_user u on u.user_key = coalesce(r.answered_user_key, r.placed_user_key)`,
  columns: [
    ...times(sql`r.started_at`, callPage),
    column('direction', 'Direction'),
    inWords(column('outcome', 'Outcome')),
    column('external_number', 'Other party'),
    column('other_name', 'Name', sql`case when r.direction = 'outbound' then r.called_name else r.caller_name end`),
    column('account_number', 'Our number'),
    column('queue_name', 'Queue', sql`q.queue_name`),
    column('agent_name', 'Agent', sql`u.user_name`),
    count('wait_seconds', 'Wait s'),
    count('talk_seconds', 'Talk s'),
    csvOnly(column('call_id', 'Call')),
  ],
};

/** Calls of which nobody answered some: an agent's filter would leave these out and make every share 100 %. */
const inbound: RowTable = {
  ...calls,
  where: sql`not r.is_internal and r.direction = 'inbound'`,
  filters: { ...calls.filters, agent: wasNobody },
};

const missed: RowTable = {
  relation: sql`reporting.missed_calls`,
  moment: sql`r.started_at`,
  key: sql`r.call_id`,
  where: sql`r.outcome <> 'short_abandoned'`,
  filters: { number: (number) => sql`r.number_key = ${number}`, queue: byQueue, agent: wasNobody },
  columns: [
    ...times(sql`r.started_at`, callPage),
    inWords(column('outcome', 'Outcome')),
    inWords(column('reason', 'Reason')),
    column('external_number', 'Caller'),
    column('caller_name', 'Name'),
    column('account_number', 'Our number'),
    count('wait_seconds', 'Wait s'),
    inWords(
      column(
        'returned',
        'Returned',
        sql`case when r.is_unreturned then coalesce('no, only ' || r.returned_by, 'no') else r.returned_by end`,
      ),
    ),
    { ...count('minutes_to_return', 'After'), show: (minutes) => span(Number(minutes) * 60) },
    csvOnly(column('call_id', 'Call')),
  ],
};

const texts: RowTable = {
  relation: sql`reporting.fct_sms_message`,
  moment: sql`r.sent_at`,
  key: sql`r.message_id`,
  where: sql`true`,
  filters: {
    number: byLine,
    queue: hasNoQueue,
    agent: (agent) => sql`r.user_key = ${agent} and r.sender_kind = 'user'`,
  },
  joins: sql`left join warehouse.sms_conversations c on c.conversation_id = r.conversation_id`,
  columns: [
    ...times(sql`r.sent_at`, threadPage),
    column('direction', 'Direction'),
    column('number', 'Other party'),
    column('line', 'Our line'),
    column('sender_kind', 'Sent by'),
    column('agent_name', 'User', sql`r.sent_by_name`),
    column('delivery_class', 'Delivery'),
    { ...column('body', 'Text'), isText: true },
    csvOnly(column('message_id', 'Message')),
    thread,
  ],
};

const turns: RowTable = {
  relation: sql`reporting.fct_sms_turn`,
  moment: sql`r.turn_started_at`,
  key: sql`(r.conversation_id, r.turn_number)`,
  where: sql`true`,
  filters: { number: byLine, queue: hasNoQueue, agent: 'a turn without a reply belongs to no agent' },
  joins: sql`left join warehouse.sms_conversations c on c.conversation_id = r.conversation_id
    left join reporting.dim_user u on u.user_key = r.user_key`,
  columns: [
    ...times(sql`r.turn_started_at`, threadPage),
    column('number', 'Other party', sql`c.number`),
    column('line', 'Our line'),
    count('inbound_count', 'Texts in'),
    column('first_reply_kind', 'First reply'),
    column('agent_name', 'Replied by', sql`u.user_name`),
    count('user_reply_seconds', 'After s', sql`round(r.user_reply_seconds)`),
    count('user_reply_business_seconds', 'Business s', sql`round(r.user_reply_business_seconds)`),
    csvOnly(count('conversation_id', 'Conversation')),
    csvOnly(count('turn_number', 'Turn')),
    thread,
  ],
};

const replies: RowTable = {
  ...turns,
  filters: { ...turns.filters, agent: (agent) => sql`r.user_key = ${agent}` },
};

const transcripts: RowTable = {
  relation: sql`reporting.fct_transcript`,
  moment: sql`r.call_started_at`,
  key: sql`r.transcript_id`,
  where: sql`r.call_sentiment <> ''`,
  filters: {
    number: (number) =>
      sql`(select true from reporting.fct_call c where c.call_id = r.call_id and c.number_key = ${number})`,
    queue: byQueue,
    agent: (agent) => sql`r.user_key = ${agent}`,
  },
  joins: sql`left join reporting.fct_call c on c.call_id = r.call_id`,
  columns: [
    ...times(sql`r.call_started_at`, callPage),
    column('external_number', 'Other party', sql`c.external_number`),
    column('agent_name', 'Agent'),
    column('call_sentiment', 'Sentiment'),
    count('csat_score', 'Satisfaction'),
    column('call_purpose', 'Purpose'),
    { ...column('short_summary', 'Summary'), isText: true },
    csvOnly(column('call_id', 'Call')),
  ],
};

const rulesHaveNoQueue = 'texts of rules go through no queue';
const rulesHaveNoAgent = 'rules send them, not agents';

/** Sends by the day on which they went out, or were to. */
const charged: RowTable = {
  relation: sql`ops.sends`,
  moment: sql`coalesce(r.dispatched_at, r.reserved_at)`,
  key: sql`r.send_id`,
  where: sql`r.reserved_at is not null`,
  filters: { number: byLine, queue: rulesHaveNoQueue, agent: rulesHaveNoAgent },
  columns: [
    ...times(sql`coalesce(r.dispatched_at, r.reserved_at, r.planned_at)`, threadPage),
    column('rule', 'Rule'),
    column('number', 'To'),
    column('line', 'From'),
    column('mode', 'Mode'),
    column('state', 'State'),
    column('reason', 'Reason'),
    count('segments', 'Segments', sql`r.units`),
    count('charged_usd', 'Charged $', sql`round(r.settled_micros / 1000000.0, 6)`),
    csvOnly(column('send_id', 'Send', sql`r.send_id::text`)),
    // Rules text no groups.
    { ...thread, value: sql`r.line || '/' || r.number` },
    csvOnly(column('message_id', 'Message')),
  ],
};

/** Sends by the day on which the rule planned them. */
const planned: RowTable = { ...charged, moment: sql`r.planned_at`, where: sql`true` };

const set = (title: string, table: RowTable, where = sql`true`): RowSet => ({ title, table, where });
const returnedBy = (...ways: readonly string[]) => sql`r.returned_by in (${sql.join(ways)})`;
const notReturned = (which: string, reason: Condition) =>
  set(`Missed calls that were not returned, ${which}`, missed, sql`r.is_unreturned and ${reason}`);
const isUnclear = sql`r.state in ('RESERVED', 'DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN')`;

/** Every set of rows that a figure opens, by its name in the URL. The definitions are those of the views and rollups. */
export const rowSets = {
  inbound_calls: set('Calls in', calls, sql`r.direction = 'inbound'`),
  outbound_calls: set('Calls out', calls, sql`r.direction = 'outbound'`),
  all_inbound: set('Inbound calls', inbound),
  short_abandoned: set('Calls given up at once', inbound, sql`r.outcome = 'short_abandoned'`),
  answerable: set('Calls that could be answered', inbound, sql`r.outcome <> 'short_abandoned'`),
  answered: set('Answered calls', inbound, sql`r.outcome = 'answered'`),
  answerable_open: set(
    'Calls in business hours that left the menu',
    inbound,
    sql`r.is_business_hours and r.outcome <> 'short_abandoned' and not (r.outcome in ('abandoned', 'missed') and r.reached = 'menu')`,
  ),
  answered_open: set('Calls answered in business hours', inbound, sql`r.is_business_hours and r.outcome = 'answered'`),
  answered_in_time: set(
    'Calls answered in time',
    inbound,
    sql`r.answer_wait_seconds <= (select service_level_seconds from reporting.params)`,
  ),
  wait_unknown: set(
    'Calls answered after an unknown wait',
    inbound,
    sql`r.outcome = 'answered' and r.answer_wait_seconds is null`,
  ),
  missed: set('Missed calls', missed),
  returned_by_call: set('Missed calls that were called back', missed, returnedBy('called_back', 'outbound_call')),
  returned_by_text: set('Missed calls that a user texted', missed, returnedBy('text')),
  caller_got_through: set('Missed calls whose caller got through later', missed, returnedBy('caller_got_through')),
  not_returned: set('Missed calls that were not returned', missed, sql`r.is_unreturned`),
  not_returned_closed: notReturned('that came while closed', sql`r.reason = 'closed'`),
  not_returned_menu: notReturned('whose caller never left the menu', sql`r.reason = 'menu'`),
  not_returned_silent: notReturned('with a mailbox and no message', sql`r.reason = 'mailbox_without_message'`),
  not_returned_waiting: notReturned(
    'whose caller waited or left a message in business hours',
    sql`r.reason not in ('closed', 'menu', 'mailbox_without_message')`,
  ),
  texted_by_rule: set('Missed calls that only a rule texted', missed, returnedBy('automatic_text')),
  texted_by_unknown: set('Missed calls that only an unknown sender texted', missed, returnedBy('text_by_unknown')),
  inbound_texts: set(
    'Texts in',
    { ...texts, filters: { ...texts.filters, agent: 'texts come in to a line, not to an agent' } },
    sql`r.direction = 'in'`,
  ),
  outbound_texts: set('Texts out', texts, sql`r.direction = 'out'`),
  turns: set('Customers’ turns', turns),
  replied: set('Turns that a person replied to', replies, sql`r.user_reply_seconds is not null`),
  analysed: set('Analysed recordings', transcripts),
  sent: set('Texts that rules sent', charged, sql`r.state = 'SENT'`),
  would_send: set('Texts that dry-run would have sent', planned, sql`r.state = 'DENIED' and r.reason = 'dry_run'`),
  kept_back: set(
    'Texts that a gate kept back',
    planned,
    sql`(r.state = 'DENIED' and r.reason is distinct from 'dry_run' or r.state = 'EXPIRED')`,
  ),
  price_not_reported: set(
    'Texts whose price was not reported',
    charged,
    sql`r.state = 'SENT' and r.settled_micros is null`,
  ),
  price_unknown: set(
    'Texts whose price or outcome is not known',
    charged,
    sql`(r.state = 'SENT' and r.settled_micros is null or ${isUnclear})`,
  ),
  outcome_unknown: set('Texts whose outcome is not known yet', charged, isUnclear),
} satisfies Record<string, RowSet>;

export function rowSetOf(name: unknown): RowSet | undefined {
  return typeof name === 'string' && Object.hasOwn(rowSets, name) ? rowSets[name as keyof typeof rowSets] : undefined;
}

/** The filters of a choice that a set follows; figures and rows are read with the same. */
export function followed(set: RowSet, choice: Choice): Choice {
  const kept = filterNames.filter((name) => typeof set.table.filters[name] !== 'string');
  const filters = kept.flatMap((name) => (choice.filters[name] === undefined ? [] : [[name, choice.filters[name]]]));
  return { ...choice, filters: Object.fromEntries(filters) };
}

/** The rows `r` of a set, as a from and a where clause. */
export function rowsFrom(set: RowSet, choice: Choice): Condition {
  const { table } = set;
  const conditions = filterNames.flatMap((name) => {
    const [condition, value] = [table.filters[name], choice.filters[name]];
    return value === undefined || typeof condition === 'string' ? [] : [condition(value)];
  });
  // Instants are compared, not days, so that an index on them serves.
  const begin = sql`${table.moment} >= reporting.day_start(${choice.from}::date)`;
  const end = sql`${table.moment} < reporting.day_start(${choice.to}::date + 1)`;
  const parts = [begin, end, table.where, set.where, ...conditions];
  return sql`from ${table.relation} r where ${sql.join(parts, sql` and `)}`;
}

/** The set `analysed`, narrowed by sentiments: one of these, or none of those. */
export function narrowed(set: RowSet, only: readonly string[], except: readonly string[]): RowSet {
  if (set.table !== transcripts || only.length + except.length === 0) return set;
  const word = sql`lower(r.call_sentiment)`;
  const where = only.length > 0 ? sql`${word} = any(${only})` : sql`not (${word} = any(${except}))`;
  return { ...set, title: only.length > 0 ? `${set.title}: ${only.join(', ')}` : `${set.title}: other`, where };
}

/** The rows of a set, newest first. */
export function rowSource(set: RowSet, choice: Choice): RowSource {
  const { columns, moment, key, joins } = set.table;
  return { columns, joins, from: rowsFrom(set, choice), order: sql`order by ${moment} desc, ${key} desc` };
}
