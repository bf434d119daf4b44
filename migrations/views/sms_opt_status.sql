-- One row per line and number that opted out or in, or may have opted out, by the verdicts that the send gates use: keywords of carriers
-- (STOP, START), texts that may ask not to be texted, decisions of people, and sends that the service skipped because they had opted out. A
-- number that opted out in another way is missing until a rule texts it: the service has no list. Texts that the service has deleted are
-- left out here, but rules still obey them. Rules do not text a number that opted out, except on a line on which it opted in later. They
-- never text a number whose status is unsure.
create view reporting.sms_opt_status as
select distinct on (line, number)
  line, -- The account's line; empty for a manual decision on a number without an opt-out text.
  number, -- The other party; in a group, the sender of the text.
  -- opt_out; unsure: a text may ask not to be texted and needs a decision (trunkline opt-outs); opt_in; clear: a person decided that it was
  -- no opt-out. If a START and a STOP have the same second, the STOP counts.
  kind as opt_status,
  -- Time of the first text with this status since the last START, or when the service or the person decided; for opt_in and clear, the
  -- latest. A number skipped by the service had opted out earlier.
  changed_at as decided_at,
  -- inbound_word: warehouse.sms_messages.opt_out_verdict of a text; service_skip: the service skipped a send; person: a manual decision.
  case source when 'text' then 'inbound_word' when 'service' then 'service_skip' else 'person' end as evidence
from (
  select c.*, max(changed_at) filter (where kind = 'opt_in') over each as opted_in_at,
    max(changed_at) filter (where source = 'person') over each as person_at
  from (
    select line, number, changed_at, seen_at, kind, source from ops.opt_out_changes where line <> '' and not is_deleted
    union all
    -- A decision for all lines has a row for each line to which the number has written, or a single row without a line.
    select coalesce(l.line, ''), d.number, d.decided_at, d.decided_at, d.decision, d.source
    from ops.opt_outs d left join lateral (
      select distinct o.line from ops.opt_out_changes o where o.number = d.number and o.line <> '' and not o.is_deleted) l on true
    where d.line = ''
  ) c
  window each as (partition by line, number)
) said
where case when source = 'person' then changed_at = person_at else kind <> 'unsure' or seen_at > coalesce(person_at, '-infinity') end
  and (kind not in ('opt_out', 'unsure') or changed_at >= coalesce(opted_in_at, '-infinity'))
-- The first text or skip since the last START decides, so that a second STOP does not move the time.
order by line, number, array_position(array['opt_out', 'unsure'], kind), case when kind in ('opt_out', 'unsure') then changed_at end,
  changed_at desc;
