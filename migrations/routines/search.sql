-- The newest texts that match, newest first.
-- A common word is found soon by scanning the newest texts; a rare one has few matches in the index. Only the rows of the result
-- are ranked.
-- The language is part of the statement, because the planner must recognize the expression of the index.
create or replace function ops.newest_texts(query tsquery, most integer) returns table (conversation_id bigint, message_id bigint, sent_at timestamptz)
language plpgsql stable set random_page_cost = 1.1 as $$
declare
  has_words text := format('to_tsvector(%L::regconfig, left(coalesce(m.body, ''''), 10000)) @@ $1 and m.deleted_at is null', ops.search_language());
  upper_at timestamptz := 'infinity';
  lower_at timestamptz := coalesce(
    (select m.sent_at from warehouse.sms_messages m where m.sent_at is not null order by m.sent_at desc offset 2000 limit 1), '-infinity');
  span interval := '8 days';
  found_count integer := 0;
  met_count integer;
begin
  if numnode(query) = 0 then return; end if;
  return query execute format('
    select m.conversation_id, m.message_id, m.sent_at from warehouse.sms_messages m
    where m.sent_at > $2 and %s
    order by m.sent_at desc limit $3', has_words) using query, lower_at, most;
  get diagnostics found_count = row_count;
  while found_count < most or most is null loop
    exit when lower_at = '-infinity';
    upper_at := lower_at;
    lower_at := case when span > interval '10 years' then '-infinity' else upper_at - span end;
    span := span * 8;
    -- Materialized: with the limit inside, the planner would scan back through time, expecting matches soon.
    return query execute format('
      with matches as materialized (
        select m.conversation_id, m.message_id, m.sent_at from warehouse.sms_messages m
        where %s and m.sent_at > $2 and m.sent_at <= $3
      )
      select * from matches x order by x.sent_at desc limit $4', has_words)
      using query, lower_at, upper_at, most - found_count;
    get diagnostics met_count = row_count;
    found_count := found_count + met_count;
  end loop;
end $$;

-- The matching transcripts of the newest calls, newest first.
create or replace function ops.newest_transcripts(query tsquery, most integer) returns table (transcript_id bigint, call_id text, call_started_at timestamptz)
language plpgsql stable set plan_cache_mode = force_custom_plan set random_page_cost = 1.1 as $$
declare
  upper_at timestamptz := 'infinity';
  lower_at timestamptz;
  reach integer;
  found_count integer := 0;
  met_count integer;
begin
  if numnode(query) = 0 then return; end if;
  foreach reach in array array[2000, 10000] loop
    exit when found_count >= most or upper_at = '-infinity';
    lower_at := coalesce(
      (select a.call_started_at from rollups.transcript_agents a order by a.call_started_at desc offset reach limit 1), '-infinity');
    return query
      select a.transcript_id, a.call_id, a.call_started_at
      from rollups.transcript_agents a join warehouse.transcript_bodies b on b.transcript_id = a.transcript_id
      where b.words @@ query and a.call_started_at > lower_at and a.call_started_at <= upper_at
      order by a.call_started_at desc limit most - found_count;
    get diagnostics met_count = row_count;
    found_count := found_count + met_count;
    upper_at := lower_at;
  end loop;
  if found_count >= most or upper_at = '-infinity' then return; end if;
  return query
    with matches as materialized (select b.transcript_id from warehouse.transcript_bodies b where b.words @@ query)
    select a.transcript_id, a.call_id, a.call_started_at
    from matches m join rollups.transcript_agents a on a.transcript_id = m.transcript_id
    where a.call_started_at <= upper_at
    order by a.call_started_at desc limit most - found_count;
end $$;

-- Calls and texts in which words were said or written, newest first: select * from reporting.search('refund -card "next week"'). In the
-- language of SEARCH_LANGUAGE, other forms of the words are found too. Finds nothing unless reporting.params.is_text_shown.
create or replace function reporting.search(words text, most integer default 100) returns table (kind text, happened_at timestamptz, number text, line text, call_id text, transcript_id bigint, conversation_id bigint, message_id bigint, rank real, excerpt text)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off as $$
  -- Runs with its owner's rights. While texts are hidden, it compares none, since each hit would reveal a word.
  with wanted as materialized (
    select s.language::regconfig as language, websearch_to_tsquery(s.language::regconfig, words) as query
    from reporting.params cross join ops.search_state s
    where is_text_shown
  ),
  hits as materialized (
    select * from (
      select 'call' as kind, t.call_started_at as happened_at, t.call_id, t.transcript_id, null::bigint as conversation_id, null::bigint as message_id
      from wanted w cross join lateral ops.newest_transcripts(w.query, most) t
      union all
      select 'text', t.sent_at, null, null, t.conversation_id, t.message_id
      from wanted w cross join lateral ops.newest_texts(w.query, most) t
    ) either order by happened_at desc limit most
  ),
  shown as (
    select h.*, c.external_number as number, c.account_number as line, b.words, b.full_text
    from hits h
      join warehouse.calls c on c.call_id = h.call_id
      join warehouse.transcript_bodies b on b.transcript_id = h.transcript_id
    union all
    select h.*, m.number, m.line, to_tsvector(w.language, left(coalesce(m.body, ''), 10000)), m.body
    from wanted w
      cross join hits h
      join warehouse.sms_messages m on m.conversation_id = h.conversation_id and m.message_id = h.message_id
  )
  select s.kind, s.happened_at, s.number, s.line, s.call_id, s.transcript_id, s.conversation_id, s.message_id, ts_rank(s.words, w.query),
    ts_headline(w.language, s.full_text, w.query, 'MaxWords=30, MinWords=10, StartSel=**, StopSel=**')
  from shown s cross join wanted w
  order by s.happened_at desc
$$;
