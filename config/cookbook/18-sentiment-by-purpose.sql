-- What do unhappy customers call about?
select call_purpose, count(*) as transcripts, count(*) filter (where lower(call_sentiment) = 'negative') as negative,
  round(100.0 * count(*) filter (where lower(call_sentiment) = 'negative') / nullif(count(call_sentiment), 0), 1) as negative_pct
from reporting.fct_transcript
where call_started_at >= reporting.day_start(reporting.local_day(now()) - 6)
group by 1
order by negative desc, 1;
