import { sql } from '../../db/database.ts';
import { span } from '../../ops/format.ts';
import { outcomeWords } from '../records/words.ts';
import {
  type Condition,
  column,
  contactName,
  count,
  csvOnly,
  localTime,
  otherParty,
  type RowColumn,
  type RowSource,
  utcTime,
} from '../row-list.ts';
import { type Choice, callBackFilters, type Filter, filterNames } from './choice.ts';

export type { Condition };

/** A kind of rows: the relation `r`, and how filters apply to it. */
export interface RowTable {
  readonly relation: Condition;
  /** The indexed time that decides on which day a row counts. */
  readonly moment: Condition;
  readonly key: Condition;
  readonly where: Condition;
  /** The condition of a filter, or a sentence saying why these rows ignore it. */
  readonly filters: Readonly<Record<Filter, string | ((value: string) => Condition)>>;
  /** Relations that provide names. Only joined to the rows of one page. */
  readonly joins?: Condition;
  readonly columns: readonly RowColumn[];
  /** Their local day. Default: a column `local_date`. */
  readonly day?: Condition;
  /**
   * Totals `r` by `local_date` with the same counts, as a relation with a where clause, if they support the filters.
   */
  readonly totals?: (filters: Choice['filters']) => Condition | undefined;
}

/** The rows behind a figure. */
export interface RowSet {
  readonly title: string;
  readonly table: RowTable;
  readonly where: Condition;
}

// Looked up for each call, so that a page of rows ends early. As a join, some plans take many times longer.
const byQueue = (queue: string) =>
  sql`(select true from reporting.fct_queue_visit v where v.call_id = r.call_id and v.queue_key = ${queue} limit 1)`;
const byAgent = (agent: string) =>
  sql`(select true from reporting.fct_call_agent a where a.call_id = r.call_id and a.user_key = ${agent} and a.role in ('answered', 'placed') limit 1)`;
const byLine = (line: string) => sql`r.line = ${line}`;

const isCallBack = (reached: string) => callBackFilters.some((each) => each === reached);

const isNumber = (number: string | undefined) => (number === undefined ? sql`true` : sql`r.number_key = ${number}`);
const isLine = (line: string | undefined) => (line === undefined ? sql`true` : byLine(line));

const wasNobody = 'a call that nobody answered belongs to no agent';
const hasNoQueue = 'texts go through no queue';
const hasNoWay = 'texts come from no menu, queue or mailbox';

const zone = sql`(select time_zone from reporting.params)`;
type RowLink = NonNullable<RowColumn['link']>;

/** The time links to the page of the row's call or thread. */
const times = (moment: Condition, link: RowLink): RowColumn[] => [
  { ...column('local_time', 'Time', localTime(moment, zone)), link },
  csvOnly(column('at', 'Instant', utcTime(moment))),
];
const callPage: RowLink = ({ call_id }) => `/calls/${call_id}`;

/**
 * In the form that commands accept: `line/number`, and `line/number/a,b` for a group. Uses `r` and the conversation
 * `c`.
 */
const thread = csvOnly(
  column('thread', 'Thread', sql`concat_ws('/', r.line, c.number, nullif(c.participants_key, ''))`),
);
/** Erased persons have no page. */
const threadPage: RowLink = ({ thread, message_id: id }) => {
  if (!thread || !/^\d+\/\d+(\/[\d,]+)?$/.test(thread)) return undefined;
  return id ? `/threads/${thread}?text=${id}#text-${id}` : `/threads/${thread}`;
};

/** How the page shows a word of the views. The CSV keeps the word. */
const words: Readonly<Record<string, string>> = {
  ...outcomeWords,
  ...{ no: 'no', called_back: 'called back, by the service', outbound_call: 'called back', text: 'texted back' },
  ...{ caller_got_through: 'the caller got through later', closed: 'closed', menu: 'hung up in the menu' },
  ...{ mailbox_without_message: 'mailbox, no message', mailbox: 'mailbox', queue: 'in a queue', rang: 'rang' },
  ...{ 'no, only automatic_text': 'no, a rule texted', 'no, only text_by_unknown': 'no, an unknown sender texted' },
};
const inWords = (each: RowColumn): RowColumn => ({ ...each, show: (value) => words[value] ?? value });

export const calls: RowTable = {
  relation: sql`reporting.fct_call`,
  moment: sql`r.started_at`,
  key: sql`r.call_id`,
  where: sql`not r.is_internal`,
  filters: {
    number: (number) => sql`r.number_key = ${number}`,
    queue: byQueue,
    agent: byAgent,
    reached: (reached) =>
      isCallBack(reached)
        ? sql`(select m.${sql.ref(reached)} from reporting.missed_calls m where m.call_id = r.call_id)`
        : sql`r.reached = ${reached}`,
  },
  joins: sql`left join reporting.dim_queue q on q.queue_key = coalesce(r.queue_key, r.huntgroup_key)
    left join reporting.dim_user u on u.user_key = coalesce(r.answered_user_key, r.placed_user_key)`,
  columns: [
    ...times(sql`r.started_at`, callPage),
    column('direction', 'Direction'),
    inWords(column('outcome', 'Outcome')),
    column('external_number', 'Other party'),
    column(
      'other_name',
      'Name',
      sql`coalesce(${contactName(sql`r.external_number`)}, case when r.direction = 'outbound' then r.called_name else r.caller_name end)`,
    ),
    column('account_number', 'Our number'),
    column('queue_name', 'Queue', sql`q.queue_name`),
    column('agent_name', 'Agent', sql`u.user_name`),
    count('wait_seconds', 'Wait s'),
    count('talk_seconds', 'Talk s'),
    csvOnly(column('call_id', 'Call')),
  ],
  totals({ number, queue, agent, reached }) {
    if (queue !== undefined || reached !== undefined || (agent !== undefined && number !== undefined)) return undefined;
    const ofAgent = sql`(select local_date, direction, handled_count as call_count from reporting.agent_hourly where user_key = ${agent})`;
    return agent === undefined ? sql`reporting.call_hourly r where ${isNumber(number)}` : sql`${ofAgent} r where true`;
  },
};

/** Calls that may have been answered by nobody. Filtering by agent would drop these, and every share would be 100 %. */
export const inbound: RowTable = {
  ...calls,
  where: sql`not r.is_internal and r.direction = 'inbound'`,
  filters: { ...calls.filters, agent: wasNobody },
  totals: ({ number, queue, reached }) =>
    queue === undefined && reached === undefined
      ? sql`reporting.call_hourly r where r.direction = 'inbound' and ${isNumber(number)}`
      : undefined,
};

export const missed: RowTable = {
  relation: sql`reporting.missed_calls`,
  moment: sql`r.started_at`,
  key: sql`r.call_id`,
  where: sql`r.outcome <> 'short_abandoned'`,
  filters: {
    number: (number) => sql`r.number_key = ${number}`,
    queue: byQueue,
    agent: wasNobody,
    reached: (reached) => (isCallBack(reached) ? sql`r.${sql.ref(reached)}` : sql`r.reached = ${reached}`),
  },
  columns: [
    ...times(sql`r.started_at`, callPage),
    inWords(column('outcome', 'Outcome')),
    inWords(column('reason', 'Reason')),
    column('external_number', 'Caller'),
    column('caller_name', 'Name', sql`coalesce(${contactName(sql`r.external_number`)}, r.caller_name)`),
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

export const texts: RowTable = {
  relation: sql`reporting.fct_sms_message`,
  moment: sql`r.sent_at`,
  key: sql`r.message_id`,
  where: sql`true`,
  filters: {
    number: byLine,
    queue: hasNoQueue,
    agent: (agent) => sql`r.user_key = ${agent} and r.sender_kind = 'user'`,
    reached: hasNoWay,
  },
  joins: sql`left join warehouse.sms_conversations c on c.conversation_id = r.conversation_id`,
  columns: [
    ...times(sql`r.sent_at`, threadPage),
    column('direction', 'Direction'),
    ...otherParty('number', 'Other party'),
    column('line', 'Our line'),
    column('sender_kind', 'Sent by'),
    column('agent_name', 'User', sql`r.sent_by_name`),
    column('delivery_class', 'Delivery'),
    { ...column('body', 'Text'), isText: true },
    csvOnly(column('message_id', 'Message')),
    thread,
  ],
  totals: ({ number, agent }) => (agent === undefined ? sql`reporting.sms_daily r where ${isLine(number)}` : undefined),
};

export const inboundTexts: RowTable = {
  ...texts,
  filters: { ...texts.filters, agent: 'texts come in to a line, not to an agent' },
};

export const turns: RowTable = {
  relation: sql`reporting.fct_sms_turn`,
  moment: sql`r.turn_started_at`,
  key: sql`(r.conversation_id, r.turn_number)`,
  where: sql`true`,
  filters: {
    number: byLine,
    queue: hasNoQueue,
    agent: 'a turn without a reply belongs to no agent',
    reached: hasNoWay,
  },
  joins: sql`left join warehouse.sms_conversations c on c.conversation_id = r.conversation_id
    left join reporting.dim_user u on u.user_key = r.user_key`,
  columns: [
    ...times(sql`r.turn_started_at`, threadPage),
    ...otherParty('number', 'Other party', sql`c.number`),
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

export const replies: RowTable = {
  ...turns,
  filters: { ...turns.filters, agent: (agent) => sql`r.user_key = ${agent}` },
};

export const transcripts: RowTable = {
  relation: sql`reporting.fct_transcript`,
  moment: sql`r.call_started_at`,
  key: sql`r.transcript_id`,
  where: sql`r.call_sentiment <> ''`,
  filters: {
    number: (number) =>
      sql`(select true from reporting.fct_call c where c.call_id = r.call_id and c.number_key = ${number})`,
    queue: byQueue,
    agent: (agent) => sql`r.user_key = ${agent}`,
    reached: 'analyses are of talks and messages, however the caller came',
  },
  joins: sql`left join reporting.fct_call c on c.call_id = r.call_id`,
  columns: [
    ...times(sql`r.call_started_at`, callPage),
    ...otherParty('external_number', 'Other party', sql`c.external_number`),
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

/** Sends by the day on which they left, or were due to leave. */
export const charged: RowTable = {
  relation: sql`ops.sends`,
  moment: sql`coalesce(r.dispatched_at, r.reserved_at)`,
  key: sql`r.send_id`,
  where: sql`r.reserved_at is not null`,
  filters: { number: byLine, queue: rulesHaveNoQueue, agent: rulesHaveNoAgent, reached: hasNoWay },
  columns: [
    ...times(sql`coalesce(r.dispatched_at, r.reserved_at, r.planned_at)`, threadPage),
    column('rule', 'Rule'),
    ...otherParty('number', 'To'),
    column('line', 'From'),
    column('mode', 'Mode'),
    column('state', 'State'),
    column('reason', 'Reason'),
    count('segments', 'Segments', sql`r.units`),
    count('charged_usd', 'Charged $', sql`round(r.settled_micros / 1000000.0, 6)`),
    csvOnly(column('send_id', 'Send', sql`r.send_id::text`)),
    // Rules don't text groups.
    { ...thread, value: sql`r.line || '/' || r.number` },
    csvOnly(column('message_id', 'Message')),
  ],
  day: sql`reporting.local_day(coalesce(r.dispatched_at, r.reserved_at))`,
  totals: ({ number }) => sql`reporting.sms_daily r where ${isLine(number)}`,
};

/** Sends by the day on which the rule planned them. The totals of rules have no line. */
export const planned: RowTable = {
  ...charged,
  moment: sql`r.planned_at`,
  where: sql`true`,
  day: sql`reporting.local_day(r.planned_at)`,
  totals: ({ number }) => (number === undefined ? sql`reporting.rule_outcomes r where true` : undefined),
};

/** The filters of a choice that apply to rows. Figures and rows use the same ones. */
export function followed({ filters }: RowTable, choice: Choice): Choice {
  const kept = filterNames.filter((name) => typeof filters[name] !== 'string' && choice.filters[name] !== undefined);
  return { ...choice, filters: Object.fromEntries(kept.map((name) => [name, choice.filters[name]])) };
}

/** The local day of totals `r` is within the choice. */
export const ofDays = ({ from, to }: Choice): Condition => sql`r.local_date between ${from}::date and ${to}::date`;

/** The rows `r` of a table, as a from and a where clause. */
export function rowsFrom(table: RowTable, choice: Choice): Condition {
  const conditions = filterNames.flatMap((name) => {
    const [condition, value] = [table.filters[name], choice.filters[name]];
    return value === undefined || typeof condition === 'string' ? [] : [condition(value)];
  });
  // Compares instants, not days, so that an index on them can be used.
  const begin = sql`${table.moment} >= reporting.day_start(${choice.from}::date)`;
  const end = sql`${table.moment} < reporting.day_start(${choice.to}::date + 1)`;
  return sql`from ${table.relation} r where ${sql.join([begin, end, table.where, ...conditions], sql` and `)}`;
}

/** The rows of a set, newest first. */
export function rowSource({ table, where }: RowSet, choice: Choice): RowSource {
  const { columns, moment, key, joins } = table;
  return {
    columns,
    joins,
    from: sql`${rowsFrom(table, choice)} and ${where}`,
    order: sql`order by ${moment} desc, ${key} desc`,
  };
}
