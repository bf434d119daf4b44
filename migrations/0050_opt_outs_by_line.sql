-- An opt-out belongs to the line that it was sent to: a START takes it back for its own line alone.
alter table ops.opt_outs add column line text not null default '';
alter table ops.opt_outs drop constraint opt_outs_pkey, add primary key (number, line);
insert into ops.opt_outs (number, line, opted_out_at)
  select distinct s.number, s.line, o.opted_out_at from ops.opt_outs o join ops.sends s using (number)
  where s.state = 'SKIPPED' and s.reason ~ '\mopted_out\M'
  on conflict do nothing;
delete from ops.opt_outs o using ops.opt_outs known where o.line = '' and known.number = o.number and known.line <> '';
comment on column ops.opt_outs.number is 'The number, normalised.';
comment on column ops.opt_outs.line is 'The line that it was skipped on; empty = not known, and so each of them.';
comment on column ops.opt_outs.opted_out_at is 'When the service last said so; a later START on that line takes it back there.';
