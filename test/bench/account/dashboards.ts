/** What a dashboard asks when somebody opens it: `{agent}`, `{number}`, `{line}` and `{queue}` stand for busy ones. */
export interface Question {
  readonly view: string;
  readonly about: string;
  readonly text: string;
}

const since = (days: number) => `local_date > reporting.local_day(now()) - ${days}`;
const month = since(30);

const asked: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  call_interval: {
    'today by quarter of an hour': `select bucket_local, sum(call_count) from reporting.call_interval where bucket_at >= now() - interval '1 day' group by 1 order by 1`,
  },
  call_daily: {
    '7 days': `select * from reporting.call_daily where ${since(7)} order by local_date`,
    '90 days, inbound': `select local_date, call_count, service_level_pct from reporting.call_daily where ${since(90)} and direction = 'inbound' order by 1`,
    'a year by month': `select date_trunc('month', local_date), sum(call_count), sum(answered_count) from reporting.call_daily where ${since(365)} group by 1 order by 1`,
  },
  call_heatmap: {
    '30 days': `select isodow, local_hour, sum(call_count) from reporting.call_heatmap where ${month} and direction = 'inbound' group by 1, 2`,
    '90 days': `select isodow, local_hour, sum(call_count) from reporting.call_heatmap where ${since(90)} and direction = 'inbound' group by 1, 2`,
  },
  number_daily: {
    '30 days by number': `select account_number, sum(call_count), sum(answered_count) from reporting.number_daily where ${month} group by 1 order by 2 desc`,
    'one number, 90 days': `select * from reporting.number_daily where ${since(90)} and account_number = {line} order by local_date`,
  },
  group_daily: {
    '7 days by queue': `select endpoint, sum(call_count), sum(answered_in_time_count) from reporting.group_daily where ${since(7)} and kind = 'queue' group by 1`,
    'one queue, 90 days': `select * from reporting.group_daily where ${since(90)} and kind = 'queue' and endpoint = {queue} order by local_date`,
  },
  queue_daily: {
    '30 days by queue': `select queue_key, sum(visit_count), sum(answered_in_time_count) from reporting.queue_daily where ${month} group by 1`,
  },
  fct_queue_visit: {
    'percentiles, 7 days': `select queue_key, count(*), percentile_cont(array[0.5, 0.9]) within group (order by wait_seconds) filter (where outcome = 'answered') from reporting.fct_queue_visit where ${since(7)} group by 1`,
    'one queue by hour of the week, 30 days': `select local_isodow, local_hour, count(*), count(*) filter (where outcome = 'answered') from reporting.fct_queue_visit where ${month} and queue_key = 'queue:' || {queue} group by 1, 2`,
  },
  agent_daily: {
    '30 days by agent': `select user_name, sum(handled_count), sum(talk_seconds) from reporting.agent_daily where ${month} group by 1 order by 2 desc`,
    'one agent, 90 days': `select * from reporting.agent_daily where ${since(90)} and user_id = {agent} order by local_date`,
    '90 days by agent': `select user_name, sum(handled_count), sum(talk_seconds) from reporting.agent_daily where ${since(90)} group by 1 order by 2 desc`,
  },
  agent_hourly: {
    'one agent by hour of the week, 30 days': `select isodow, local_hour, sum(rang_count), sum(answered_count) from reporting.agent_hourly where ${month} and user_id = {agent} group by 1, 2`,
  },
  number_hourly: {
    'one number by hour of the week, 30 days': `select isodow, local_hour, sum(call_count), sum(answered_count) from reporting.number_hourly where ${month} and number_key = {line} group by 1, 2`,
  },
  caller_calls: {
    'yesterday, 7 days': `select count(distinct contact_key), count(*) filter (where is_first_time), count(*) filter (where is_repeat), count(*) filter (where is_resolved) from reporting.caller_calls(reporting.local_day(now()) - 1, reporting.local_day(now()) - 1)`,
  },
  concurrent_calls: {
    '7 days': `select local_date, max(peak_count) from reporting.concurrent_calls(reporting.local_day(now()) - 6, reporting.local_day(now())) group by 1`,
  },
  agent_monthly: {
    'a year by month': `select month_start_date, sum(handled_count), sum(talk_seconds) from reporting.agent_monthly where month_start_date > current_date - 365 group by 1 order by 1`,
    'one agent, a year': `select * from reporting.agent_monthly where month_start_date > current_date - 365 and user_id = {agent} order by 1`,
  },
  agent_totals: {
    '365 days by agent': `select user_name, sum(handled_count), sum(talk_seconds) from reporting.agent_totals(reporting.local_day(now()) - 364, reporting.local_day(now())) group by 1 order by 2 desc`,
  },
  fct_call: {
    'newest 100': 'select * from reporting.fct_call order by started_at desc limit 100',
    'one caller':
      'select * from reporting.fct_call where external_number = {number} order by started_at desc limit 100',
    'a day by queue, with names': `select q.queue_name, c.outcome, count(*) from reporting.fct_call c join reporting.dim_queue q on q.queue_key = c.queue_key where c.started_at >= now() - interval '1 day' group by 1, 2`,
    'one day, missed on one number': `select * from reporting.fct_call where started_at >= now() - interval '1 day' and outcome = 'missed' and account_number = {line} limit 100`,
  },
  fct_call_attribution: {
    'a day of one agent': `select * from reporting.fct_call_attribution where started_at >= now() - interval '1 day' and user_id = {agent} limit 100`,
  },
  missed_calls: {
    'not returned, 7 days': `select * from reporting.missed_calls where started_at >= now() - interval '7 days' and is_unreturned order by started_at desc limit 200`,
    'not returned, 30 days, count': `select outcome, count(*) from reporting.missed_calls where started_at >= now() - interval '30 days' and is_unreturned group by 1`,
    'percentiles, 30 days': `select percentile_cont(array[0.5, 0.9]) within group (order by minutes_to_return) from reporting.missed_calls where started_at >= now() - interval '30 days'`,
  },
  callbacks: {
    '7 days': `select * from reporting.callbacks where ${since(7)}`,
    '30 days by day': `select local_date, sum(missed_count), sum(returned_count), sum(unreturned_count) from reporting.callbacks where ${month} group by 1 order by 1`,
    '90 days by day': `select local_date, sum(missed_count), sum(returned_count), sum(unreturned_count) from reporting.callbacks where ${since(90)} group by 1 order by 1`,
  },
  repeat_callers: { 'as it is': 'select * from reporting.repeat_callers order by inbound_count desc limit 50' },
  transfers: {
    '7 days': `select * from reporting.transfers where started_at >= now() - interval '7 days' order by started_at desc limit 200`,
  },
  voicemails: {
    'not returned, 7 days': `select * from reporting.voicemails where started_at >= now() - interval '7 days' and is_unreturned order by started_at desc limit 200`,
    'percentiles, 30 days': `select count(*), percentile_cont(array[0.5, 0.9]) within group (order by minutes_to_return) from reporting.voicemails where started_at >= now() - interval '30 days'`,
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
  },
  sms_failures: {
    '30 days': `select delivery_error, sum(message_count) from reporting.sms_failures where ${month} group by 1 order by 2 desc`,
  },
  sms_response_daily: {
    '90 days': `select * from reporting.sms_response_daily where ${since(90)} order by local_date`,
  },
  fct_sms_turn: {
    'percentiles, 7 days': `select percentile_cont(0.5) within group (order by user_reply_seconds), percentile_cont(0.9) within group (order by user_reply_seconds) from reporting.fct_sms_turn where turn_started_at >= now() - interval '7 days'`,
    'percentiles, 30 days': `select percentile_cont(0.5) within group (order by user_reply_seconds), percentile_cont(0.9) within group (order by user_reply_seconds) from reporting.fct_sms_turn where turn_started_at >= now() - interval '30 days'`,
  },
  sms_unanswered: {
    'newest 100, 7 days': `select * from reporting.sms_unanswered where waiting_since_at >= now() - interval '7 days' order by waiting_since_at desc limit 100`,
    'longest waiting, 3 days': `select * from reporting.sms_unanswered where waiting_since_at >= now() - interval '3 days' order by waiting_since_at limit 100`,
    'count, 7 days': `select line, count(*) from reporting.sms_unanswered where waiting_since_at >= now() - interval '7 days' group by 1`,
  },
  sms_cost_daily: { '90 days': `select * from reporting.sms_cost_daily where ${since(90)}` },
  sms_opt_status: {
    'who opted out': 'select * from reporting.sms_opt_status where is_opted_out order by decided_at desc limit 100',
    'one number': 'select * from reporting.sms_opt_status where number = {number}',
  },
  conversation_state: {
    'newest 100': 'select * from reporting.conversation_state order by last_message_at desc nulls last limit 100',
    'one number': 'select * from reporting.conversation_state where number = {number}',
  },
  fct_transcript: {
    'newest 100': `select * from reporting.fct_transcript where call_started_at >= now() - interval '7 days' order by call_started_at desc limit 100`,
    'complaints of a day': `select * from reporting.fct_transcript where call_started_at >= now() - interval '1 day' and call_purpose = 'Complaint' limit 100`,
  },
  quality_daily: {
    '30 days by agent': `select agent_name, sum(csat_sum)::float8 / nullif(sum(csat_count), 0), sum(csat_count) from reporting.quality_daily where ${month} group by 1 order by 3 desc`,
    'one agent, 90 days': `select * from reporting.quality_daily where ${since(90)} and agent_user_id = {agent} order by local_date`,
    '90 days by day': `select local_date, sum(csat_sum)::float8 / nullif(sum(csat_count), 0) from reporting.quality_daily where ${since(90)} group by 1 order by 1`,
  },
  sentiment_daily: {
    '30 days by day': `select local_date, call_sentiment, sum(transcript_count) from reporting.sentiment_daily where ${month} group by 1, 2`,
    '90 days by day': `select local_date, call_sentiment, sum(transcript_count) from reporting.sentiment_daily where ${since(90)} group by 1, 2`,
  },
  fct_action: {
    'followed up, 7 days': `select followed_up_by, count(*) from reporting.fct_action where call_started_at >= now() - interval '7 days' group by 1`,
  },
  action_backlog: {
    'urgent and open, 7 days': `select * from reporting.action_backlog where call_started_at >= now() - interval '7 days' and is_urgent limit 100`,
    'open, 7 days, newest': `select * from reporting.action_backlog where call_started_at >= now() - interval '7 days' order by call_started_at desc limit 100`,
  },
  kpi_scores: {
    'a day of one agent': `select * from reporting.kpi_scores where call_started_at >= now() - interval '1 day' and agent_user_id = {agent}`,
    'a day by measure': `select kpi_name, avg(kpi_value), count(kpi_value) from reporting.kpi_scores where call_started_at >= now() - interval '1 day' group by 1`,
  },
  kpi_daily: {
    '7 days by measure': `select kpi_name, sum(score_sum)::float8 / nullif(sum(score_count), 0), sum(score_count) from reporting.kpi_daily where ${since(7)} group by 1`,
    '90 days by day': `select local_date, kpi_name, sum(score_sum)::float8 / nullif(sum(score_count), 0) from reporting.kpi_daily where ${since(90)} group by 1, 2`,
  },
  kpi_pivot: {
    'a day': `select * from reporting.kpi_pivot where call_started_at >= now() - interval '1 day' limit 200`,
  },
  customer_timeline: {
    'one number':
      'select * from reporting.customer_timeline where number = {number} order by happened_at desc limit 100',
  },
  rule_blocks: { 'as it is': 'select * from reporting.rule_blocks limit 100' },
  rule_outcomes: { 'as it is': 'select * from reporting.rule_outcomes limit 100' },
  completeness: { '30 days': `select * from reporting.completeness where utc_date > current_date - 30` },
  dim_user: { all: 'select * from reporting.dim_user' },
  dim_queue: { all: 'select * from reporting.dim_queue' },
  dim_number: { all: 'select * from reporting.dim_number' },
  dim_line: { all: 'select * from reporting.dim_line' },
  dim_contact: { 'one number': 'select * from reporting.dim_contact where contact_key = {number}' },
  dim_endpoint: { all: 'select * from reporting.dim_endpoint' },
  dim_date: {
    'this year': `select * from reporting.dim_date where local_date between current_date - 365 and current_date`,
  },
  data_freshness: { 'as it is': 'select * from reporting.data_freshness' },
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
