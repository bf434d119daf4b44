-- A text to a group reaches all of its members. It returned the call of the one alone whose number the group goes by.
create index sms_conversations_members on warehouse.sms_conversations using gin (participants) where participants_key <> '';

insert into ops.rollup_recounts (kind, bucket_at)
select distinct 'texts', ops.quarter_of(m.sent_at)
from warehouse.sms_conversations c join warehouse.sms_messages m on m.conversation_id = c.conversation_id
where c.participants_key <> '' and m.direction = 'out' and m.sent_at is not null;
