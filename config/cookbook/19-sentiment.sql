-- Sentiment
-- How do customers sound on the telephone, as the service's analysis judges it?
-- says: {round(100.0 * sum(negative) / nullif(sum(analysed), 0)) as negative_pct} of {sum(analysed)} analysed [recording|recordings] sound negative, {round(100.0 * sum(positive) / nullif(sum(analysed), 0)) as positive_pct} positive.
-- figure: Sound negative: {round(100.0 * sum(negative) / nullif(sum(analysed), 0), 1) as negative_pct}, more is bad
-- draw: shares x=local_date y=negative:bad,other:worse,neutral:plain,positive:good
-- Other: further words of the account's own vocabulary.
with counted as (
  select local_date, lower(call_sentiment) as sentiment, count(*) as recordings
  from reporting.fct_transcript
  where call_sentiment <> ''
    and call_started_at >= reporting.day_start(coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29))
    and call_started_at < reporting.day_start(coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now())) + 1)
  group by local_date, call_sentiment
)
select local_date, sum(recordings)::bigint as analysed, coalesce(sum(recordings) filter (where sentiment = 'negative'), 0)::bigint as negative,
  coalesce(sum(recordings) filter (where sentiment = 'neutral'), 0)::bigint as neutral, coalesce(sum(recordings) filter (where sentiment = 'positive'), 0)::bigint as positive,
  coalesce(sum(recordings) filter (where sentiment not in ('negative', 'neutral', 'positive')), 0)::bigint as other
from counted
group by 1
order by 1;
