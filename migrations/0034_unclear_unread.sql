-- Texts of which the service does not say whether they are read are counted each minute, where a line counts more unread
-- than are held; a service that always says so has none.
create index sms_messages_unclear on warehouse.sms_messages (line)
  where direction = 'in' and is_read is null and deleted_at is null;
