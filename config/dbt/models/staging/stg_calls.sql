select
  call_id,
  started_at,
  date_key,
  number_key,
  contact_key,
  queue_key,
  huntgroup_key,
  answered_user_key,
  placed_user_key,
  case when is_internal then 'internal' else coalesce(direction, 'unknown') end as direction,
  outcome,
  is_business_hours,
  talk_seconds,
  wait_seconds,
  wait_basis,
  answer_wait_seconds,
  ring_seconds,
  menu_seconds,
  transferred_count
from {{ source('trunkline', 'fct_call') }}
where started_at is not null
