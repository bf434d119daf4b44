/** What a dashboard asks when somebody opens it: `{agent}`, `{number}`, `{line}` and `{queue}` stand for busy ones. */
export interface Question {
  readonly view: string;
  readonly about: string;
  readonly text: string;
}

const since = (days: number) => `local_date > reporting.local_day(now()) - ${days}`;
const month = since(30);

const asked: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  call_hourly: {
    '7 days by day': `select local_date, direction, sum(call_count), sum(answered_count) from reporting.call_hourly where ${since(7)} group by 1, 2`,
    '90 days by day': `select local_date, sum(call_count), sum(answered_in_time_count) from reporting.call_hourly where ${since(90)} and direction = 'inbound' group by 1`,
    '30 days by hour of the week': `select extract(isodow from local_date), local_hour, sum(call_count) from reporting.call_hourly where ${month} and direction = 'inbound' group by 1, 2`,
    '30 days by number': `select account_number, sum(call_count), sum(answered_count) from reporting.call_hourly where ${month} group by 1 order by 2 desc`,
    'one number, 90 days': `select local_date, sum(call_count) from reporting.call_hourly where ${since(90)} and account_number = {line} group by 1`,
  },
  agent_hourly: {
    '30 days by agent': `select user_name, handled, talked from (select user_key, sum(handled_count) as handled, sum(talk_seconds) as talked from reporting.agent_hourly where ${month} group by 1) a join reporting.dim_user using (user_key) order by 2 desc`,
    'one agent, 90 days': `select local_date, sum(handled_count) from reporting.agent_hourly where ${since(90)} and user_key = {agent} group by 1`,
    'one agent by hour of the week, 30 days': `select extract(isodow from local_date), local_hour, sum(rang_count), sum(answered_count) from reporting.agent_hourly where ${month} and user_key = {agent} group by 1, 2`,
  },
  fct_queue_visit: {
    'percentiles, 7 days': `select queue_key, count(*), percentile_cont(array[0.5, 0.9]) within group (order by wait_seconds) filter (where outcome = 'answered') from reporting.fct_queue_visit where ${since(7)} group by 1`,
    'one queue by hour of the week, 30 days': `select extract(isodow from local_date), local_hour, count(*), count(*) filter (where outcome = 'answered') from reporting.fct_queue_visit where ${month} and queue_key = 'queue:' || {queue} group by 1, 2`,
  },
  fct_call: {
    'newest 100': 'select * from reporting.fct_call order by started_at desc limit 100',
    'one caller':
      'select * from reporting.fct_call where external_number = {number} order by started_at desc limit 100',
    'a day by queue, with names': `select q.queue_name, c.outcome, count(*) from reporting.fct_call c join reporting.dim_queue q on q.queue_key = c.queue_key where c.started_at >= now() - interval '1 day' group by 1, 2`,
    'one day, missed on one number': `select * from reporting.fct_call where started_at >= now() - interval '1 day' and outcome = 'missed' and account_number = {line} limit 100`,
  },
  fct_call_agent: {
    'a day of one agent': `select * from reporting.fct_call_agent where started_at >= now() - interval '1 day' and user_key = {agent} limit 100`,
  },
  missed_calls: {
    'not returned, 7 days': `select * from reporting.missed_calls where started_at >= now() - interval '7 days' and is_unreturned order by started_at desc limit 200`,
    'not returned, 30 days, count': `select outcome, count(*) from reporting.missed_calls where started_at >= now() - interval '30 days' and is_unreturned group by 1`,
    'percentiles, 30 days': `select percentile_cont(array[0.5, 0.9]) within group (order by minutes_to_return) from reporting.missed_calls where started_at >= now() - interval '30 days'`,
    'by day, 30 days': `select local_date, count(*), count(*) filter (where is_unreturned) from reporting.missed_calls where started_at >= now() - interval '30 days' group by 1`,
  },
  fct_sms_message: {
    'newest 100': 'select * from reporting.fct_sms_message order by sent_at desc limit 100',
    'one number': 'select * from reporting.fct_sms_message where number = {number} order by sent_at desc limit 100',
    'failures of a day': `select * from reporting.fct_sms_message where sent_at >= now() - interval '1 day' and delivery_class = 'failed' limit 100`,
  },
  sms_daily: {
    '7 days': `select * from reporting.sms_daily where ${since(7)}`,
    '90 days by day': `select local_date, sum(inbound_count), sum(outbound_count) from reporting.sms_daily where ${since(90)} group by 1 order by 1`,
    'one line, 90 days': `select * from reporting.sms_daily where ${since(90)} and line = {line} order by local_date`,
    'failures, 30 days': `select f.class, f.status, f.error, sum(f.texts) from reporting.sms_daily s cross join jsonb_to_recordset(s.failures) f (class text, status text, error text, texts integer) where ${month} group by 1, 2, 3`,
  },
  fct_sms_turn: {
    'newest waiting, 7 days': `select * from reporting.fct_sms_turn where is_waiting and turn_started_at >= now() - interval '7 days' order by turn_started_at desc limit 100`,
    'waiting, 7 days': `select line, count(*) from reporting.fct_sms_turn where is_waiting and turn_started_at >= now() - interval '7 days' group by 1`,
    'percentiles, 7 days': `select percentile_cont(0.5) within group (order by user_reply_seconds), percentile_cont(0.9) within group (order by user_reply_seconds) from reporting.fct_sms_turn where turn_started_at >= now() - interval '7 days'`,
    'percentiles, 30 days': `select percentile_cont(0.5) within group (order by user_reply_seconds), percentile_cont(0.9) within group (order by user_reply_seconds) from reporting.fct_sms_turn where turn_started_at >= now() - interval '30 days'`,
  },
  sms_opt_status: {
    'who opted out': `select * from reporting.sms_opt_status where opt_status = 'opt_out' order by decided_at desc limit 100`,
    'one number': 'select * from reporting.sms_opt_status where number = {number}',
  },
  fct_transcript: {
    'newest 100': `select * from reporting.fct_transcript where call_started_at >= now() - interval '7 days' order by call_started_at desc limit 100`,
    'complaints of a day': `select * from reporting.fct_transcript where call_started_at >= now() - interval '1 day' and call_purpose = 'Complaint' limit 100`,
    'satisfaction by agent, 30 days': `select user_key, avg(csat_score), count(csat_score) from reporting.fct_transcript where call_started_at >= now() - interval '30 days' group by 1`,
    'sentiment by day, 30 days': `select local_date, call_sentiment, count(*) from reporting.fct_transcript where call_started_at >= now() - interval '30 days' group by 1, 2`,
  },
  fct_action: {
    'followed up, 7 days': `select followed_up_by, count(*) from reporting.fct_action where call_started_at >= now() - interval '7 days' group by 1`,
    'urgent and open, 7 days': `select * from reporting.fct_action where is_open and call_started_at >= now() - interval '7 days' and is_urgent limit 100`,
    'open, 7 days, newest': `select * from reporting.fct_action where is_open and call_started_at >= now() - interval '7 days' order by call_started_at desc limit 100`,
  },
  rule_outcomes: { 'as it is': 'select * from reporting.rule_outcomes limit 100' },
  completeness: { '30 days': `select * from reporting.completeness where utc_date > current_date - 30` },
  dim_user: { all: 'select * from reporting.dim_user' },
  dim_queue: { all: 'select * from reporting.dim_queue' },
  dim_contact: { 'one number': 'select * from reporting.dim_contact where number = {number}' },
  data_quality: { 'as it is': 'select * from reporting.data_quality' },
  search: {
    'a rare word': `select * from reporting.search('warranty', 50)`,
    'an order number': `select * from reporting.search('order "A1718"', 50)`,
    'words of every fifth call': `select * from reporting.search('unreachable OR discount card', 50)`,
    'a word in every tenth text': `select * from reporting.search('refund', 50)`,
  },
};

/** Every question, over the views that `held` has; a dashboard cannot ask what a release does not have. */
export function questionsOf(held: ReadonlySet<string>): readonly Question[] {
  return Object.entries(asked).flatMap(([view, questions]) =>
    held.has(view) ? Object.entries(questions).map(([about, text]) => ({ view, about, text })) : [],
  );
}

/** Views that no question opens. */
export function unasked(views: readonly string[]): readonly string[] {
  return views.filter((view) => !asked[view]);
}
