-- A send names its line in the form that the service lists, which need not be the one that lines are compared by.
alter table warehouse.sms_lines add column listed_as text;
comment on column warehouse.sms_lines.listed_as is 'The number as the service lists it, and takes it as the sender of a text.';
