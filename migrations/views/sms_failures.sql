create view reporting.sms_failures as
select local_date, reporting.date_key(local_date) as date_key, line as line_key, line, delivery_class, delivery_status, delivery_error, message_count, number_count, first_at, last_at
from rollups.sms_failure_rollup;

comment on view reporting.sms_failures is 'One row is a local day, line and the carrier''s own words, with the texts that failed, were blocked, or got a word that is not mapped.';
comment on column reporting.sms_failures.local_date is 'Local day.';
comment on column reporting.sms_failures.date_key is 'The same as yyyymmdd; see dim_date.';
comment on column reporting.sms_failures.line_key is 'The account''s line; see dim_line.';
comment on column reporting.sms_failures.line is 'The account''s line.';
comment on column reporting.sms_failures.delivery_class is 'failed, blocked or unmapped.';
comment on column reporting.sms_failures.delivery_status is 'The carrier''s word; NULL where it reported none.';
comment on column reporting.sms_failures.delivery_error is 'The carrier''s detail; NULL where it gave none.';
comment on column reporting.sms_failures.message_count is 'Texts.';
comment on column reporting.sms_failures.number_count is 'Different numbers.';
comment on column reporting.sms_failures.first_at is 'First of them.';
comment on column reporting.sms_failures.last_at is 'Last of them.';
