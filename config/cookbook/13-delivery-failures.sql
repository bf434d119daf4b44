-- Why do texts fail, and on how much evidence does the failure rate stand?
select f.class, f.status, f.error, sum(f.texts) as texts,
  (select round(100.0 * sum(failed_count + delivered_count) / nullif(sum(outbound_count - blocked_count), 0), 1)
   from reporting.sms_daily where local_date > reporting.local_day(now()) - 30) as receipt_coverage_pct
from reporting.sms_daily s
  cross join jsonb_to_recordset(s.failures) f (class text, status text, error text, texts integer)
where s.local_date > reporting.local_day(now()) - 30
group by 1, 2, 3
order by texts desc, 1, 2, 3;
