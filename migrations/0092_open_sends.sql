-- A send whose outcome is unknown kept every later reply out of its thread, for a day, or until somebody settled it. After its
-- third scheduled read (five minutes) it does so no longer: a later reply answers another text and is another message, and the
-- search for the earlier one leaves out what another send has become or may have become.
drop index ops.sends_open;
create unique index sends_open on ops.sends (line, number, mode)
  where state in ('PLANNED', 'HELD', 'RESERVED', 'DISPATCHED') or (state = 'UNKNOWN' and looks_count < 3);
comment on column ops.sends.mode is 'live, or dry-run: everything but the effect. At most one send of a thread is under way in each; one whose outcome is unknown counts for its first three scheduled reads.';

-- What other sends have only reserved makes a send wait; what they have spent denies it.
create index sends_reserved on ops.sends (budget_date) where reserved_micros > 0 and state not in ('SENT', 'NEEDS_HUMAN');
comment on column ops.sends.tries is 'Requests that left and provably had no effect; refusals for too many requests (429) are not counted.';
comment on column ops.sends.reason is 'Why it is in this state, as a word and sometimes a detail: gate:…, dry_run, or what the service said. Of HELD what it waits for: gate:quiet_hours, gate:budget_… (other sends under way have reserved the rest), gate:newer_inbound (rules have not been tried on a newer text yet).';
comment on column ops.send_control.paused_by is 'operator, or ledger when three sends within ten minutes had an unknown outcome; a pause by the ledger ends when the outcome of all of them is known.';
