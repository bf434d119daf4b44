-- Where an event may mean a group, the groups of its line are looked through, which are few among its conversations.
create index sms_conversations_groups on warehouse.sms_conversations (line) where participants_key <> '';
