select
  conversation_id || '/' || turn_number as turn_key,
  conversation_id,
  turn_started_at,
  date_key,
  line_key,
  user_key,
  is_session_start,
  first_reply_kind,
  reply_seconds,
  user_reply_seconds,
  is_business_hours,
  user_reply_business_seconds
from {{ source('trunkline', 'fct_sms_turn') }}
