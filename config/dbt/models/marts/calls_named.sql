{{ config(materialized='view') }}

select
  c.*,
  d.local_date,
  d.iso_year,
  d.iso_week,
  d.fiscal_year,
  d.is_business_day,
  n.number_name,
  q.queue_name,
  h.queue_name as huntgroup_name,
  a.user_name as answered_by,
  p.user_name as placed_by
from {{ ref('stg_calls') }} c
  join {{ source('trunkline', 'dim_date') }} d on d.date_key = c.date_key
  join {{ source('trunkline', 'dim_number') }} n on n.number_key = c.number_key
  left join {{ source('trunkline', 'dim_queue') }} q on q.queue_key = c.queue_key
  left join {{ source('trunkline', 'dim_queue') }} h on h.queue_key = c.huntgroup_key
  left join {{ source('trunkline', 'dim_user') }} a on a.user_key = c.answered_user_key
  left join {{ source('trunkline', 'dim_user') }} p on p.user_key = c.placed_user_key
