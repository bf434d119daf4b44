-- Texts that failed
-- Why do texts fail, and on how much evidence does the failure rate stand?
-- says: {sum(texts)} [text|texts] failed or did not count as delivered; {max(whole_receipt_pct) as receipt_pct} of all have a final receipt.
-- draw: bars x=error y=texts:bad
select f.class, f.status, f.error, sum(f.texts) as texts,
  (select round(100.0 * sum(failed_count + delivered_count) / nullif(sum(outbound_count - blocked_count), 0), 1)
   from reporting.sms_daily
   where local_date between coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29)
    and coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now()))) as whole_receipt_pct
from reporting.sms_daily s
  cross join jsonb_to_recordset(s.failures) f (class text, status text, error text, texts integer)
where s.local_date between coalesce(nullif(current_setting('report.from', true), '')::date, reporting.local_day(now()) - 29)
    and coalesce(nullif(current_setting('report.to', true), '')::date, reporting.local_day(now()))
group by 1, 2, 3
order by texts desc, 1, 2, 3;
