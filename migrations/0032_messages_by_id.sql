-- A receipt may name a text by nothing but its id. Ids grow with time as the table does, so a summary of each stretch of
-- it finds one, and costs a write almost nothing.
create index sms_messages_id on warehouse.sms_messages using brin (message_id int8_minmax_multi_ops)
  with (autosummarize = on, pages_per_range = 32);
