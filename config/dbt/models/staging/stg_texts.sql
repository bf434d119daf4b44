select
  conversation_id || '/' || message_id as text_key,
  conversation_id,
  sent_at,
  date_key,
  line_key,
  contact_key,
  user_key,
  direction,
  sender_kind,
  delivery_class,
  body_length
from {{ source('trunkline', 'fct_sms_message') }}
where sent_at is not null
