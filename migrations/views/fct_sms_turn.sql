-- One row per turn of a text conversation: a customer texted, and we had to reply. Reactions of phones (Liked “…”) are left out. Use it for
-- percentiles of response times, which cannot be summed. Filter on turn_started_at, which is indexed.
create view reporting.fct_sms_turn as
select
  t.conversation_id, -- The conversation; with turn_number the key.
  t.turn_number, -- Number of the turn within the conversation, from 1. Outbound texts before the customer's first belong to none.
  t.line, -- The account's line.
  c.number, -- The other party; of a group, the first participant.
  t.turn_started_at, -- The customer's first text of the turn: one that follows a text of ours, or a pause longer than the session gap.
  (t.turn_started_at at time zone p.time_zone)::date as local_date, -- Local day on which the turn began.
  -- The first user to reply, possibly after an automatic reply; NULL = no user did. first_reply_kind says who replied first. See dim_user.
  t.first_user_reply_by as user_key,
  t.inbound_count, -- Texts of the customer in the turn.
  -- Who sent the first reply: user; automatic: a rule of the ledger; unknown: the service names no user and the ledger did not send it.
  -- NULL = no reply. Scheduled texts count when they are sent, blocked and failed ones never: these end no turn.
  t.first_reply_kind,
  t.reply_seconds, -- From the turn's first text to the first reply, by the calendar.
  -- From the turn's first text to the first reply of a user within its session, by the calendar. An automatic reply does not end the wait.
  t.user_reply_seconds,
  t.is_business_hours, -- Whether the schedule of the line was open at turn_started_at.
  -- From the turn's first text to the first reply by a user, business time only. NULL if there is no reply, or if the schedule was closed
  -- all the time between text and reply. So medians include only turns with some business time.
  t.user_reply_business_seconds,
  -- Whether the customer waits for a reply: nobody replied to the newest turn, and the conversation is not known to be resolved since. The
  -- service sends no event for that and cannot be asked: it is only known from answers to our own requests.
  t.is_last and t.first_reply_at is null and c.deleted_at is null and (c.is_resolved is not true or c.resolved_at < c.last_inbound_at) as is_waiting,
  u.user_name as assigned_name, -- Whom the conversation is assigned to, as last observed; NULL = nobody, or never observed.
  -- When the row last changed, for incremental imports; is_waiting and assigned_name do not change it.
  t.changed_at
from rollups.sms_turns t
  cross join reporting.params p
  left join warehouse.sms_conversations c on c.conversation_id = t.conversation_id
  left join reporting.dim_user u on u.user_key = c.assigned_user_id and c.is_assignment_known;
