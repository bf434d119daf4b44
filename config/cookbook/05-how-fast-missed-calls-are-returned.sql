-- How are missed calls returned, and how long does it take?
select date_trunc('week', local_date)::date as week_start_date, sum(missed_count) as missed,
  sum(called_back_count + outbound_call_count) as by_call, sum(text_count) as by_text, sum(caller_got_through_count) as caller_got_through,
  sum(unreturned_count) as not_returned, sum(automatic_text_count) as only_texted_by_a_rule, sum(text_by_unknown_count) as only_texted_by_unknown,
  round(100.0 * sum(returned_count) / sum(missed_count), 1) as returned_pct
from reporting.callbacks
where local_date > reporting.local_day(now()) - 56
group by 1
order by 1;
