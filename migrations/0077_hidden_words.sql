-- It reads with its owner's rights. While texts are hidden, no row of params remains, and no text is compared: each hit would tell
-- a word of it.
create or replace function reporting.search(words text, most integer default 100) returns table (
  kind text, happened_at timestamptz, number text, line text, call_id text, transcript_id bigint, conversation_id bigint,
  message_id bigint, rank real, excerpt text
) language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with wanted as materialized (select websearch_to_tsquery('simple', words) as query from reporting.params where is_text_shown),
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
    select h.*, m.number, m.line, to_tsvector('simple', left(coalesce(m.body, ''), 10000)), m.body
    from hits h join warehouse.sms_messages m on m.conversation_id = h.conversation_id and m.message_id = h.message_id
  )
  select s.kind, s.happened_at, s.number, s.line, s.call_id, s.transcript_id, s.conversation_id, s.message_id, ts_rank(s.words, w.query),
    ts_headline('simple', s.full_text, w.query, 'MaxWords=30, MinWords=10, StartSel=**, StopSel=**')
  from shown s cross join wanted w
  order by s.happened_at desc
$$;
comment on function reporting.search is 'Calls and texts in which words were said or written, newest first: select * from reporting.search(''refund -card "next week"''). Finds nothing unless reporting.params.is_text_shown.';
comment on column reporting.params.is_text_shown is 'Whether the views show what people wrote and said, and what the analysis wrote of it, and whether reporting.search finds it. They do not unless somebody sets this. Names and numbers of the parties are always shown.';
