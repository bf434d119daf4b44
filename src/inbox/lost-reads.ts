import { sql } from '../db/database.ts';

/*
 * A text or call can end every process that reads it: it exhausts the memory, or hangs the event loop until the watchdog ends the
 * process. `lost_reads` of a target tells how it is read:
 *
 *   0  with others
 *   1  a suspect: its lease expired (SIGKILL, a crash), or the watchdog found it in work. Read apart from other targets
 *   2  is or was read with other suspects. Read alone next
 *   3  is read alone, or was and ended its process: set aside, and read alone again when its wait is over
 *   4… the same, once more
 *
 * A read that ends, however it ends, makes it 0, as `resync` does. A killed worker leaves all its reads to be suspects, and they are
 * read a few at a time, so that whatever ends the next process is soon alone. An expired lease does not prove that the target is to
 * blame, so its waits are short at first. The watchdog and an uncaught exception name the one target in work: that is proof.
 */

/** A target (`t` of ops.sync_targets) that is read only when its wait is over. */
export const isSetAside = sql`(t.lost_reads >= 3 and t.claimed_until <= now())`;

/** Whether the claim of a target (`t`) was left to expire: the process died, or Postgres was away. */
export const isAbandoned = sql`(t.claimed_until > '-infinity' and t.claimed_until <= now())`;

/** What happens to an abandoned target (`t`): SQL of assignments. */
export const loseRead = sql`lost_reads = greatest(t.lost_reads, 1), claimed_until = '-infinity', enqueued_at = '-infinity',
  attempts = case when t.lost_reads >= 3 then greatest(t.attempts, 1) else t.attempts end,
  last_error = case when t.lost_reads >= 3 then 'The process that read it ended before the read did.' else t.last_error end,
  due_at = case when t.lost_reads <= 2 then t.due_at when t.lost_reads = 3 then now() + interval '1 minute'
    when t.lost_reads = 4 then now() + interval '1 hour' else now() + interval '1 day' end`;

/** The `lost_reads` of a target (`t`) that is claimed as one of a relation `due`. */
export const claimedLostReads = sql`case when t.lost_reads = 0 then 0 when (select count(*) from due) > 1 then 2
  else least(greatest(t.lost_reads + 1, 3), 100) end`;

/**
 * A statement for the watchdog: records the targets that were in work ($1, an array of JSON objects) when the process hung or failed.
 * If they are those that it hung or failed in ($2), and one alone, that one is to blame: the second time it is set aside until
 * somebody asks for it, or for 30 days.
 */
export const noteLostReads = `
  with lost as (
    select kind, key, $2::boolean and jsonb_array_length($1::jsonb) = 1 as is_proven
    from jsonb_to_recordset($1::jsonb) as item (kind text, key text)
  )
  update ops.sync_targets t set
    lost_reads = case when is_proven and t.lost_reads > 0 then greatest(t.lost_reads, 3) else greatest(t.lost_reads, 1) end,
    claimed_until = '-infinity', enqueued_at = '-infinity',
    attempts = case when is_proven then greatest(t.attempts, 1) else t.attempts end,
    last_error = case when is_proven then 'Its read made the process hang or fail.' else t.last_error end,
    dirty_version = case when is_proven then greatest(t.dirty_version, t.clean_version + 1) else t.dirty_version end,
    due_at = case when is_proven and t.lost_reads > 0 then now() + interval '30 days' else t.due_at end
  from lost where t.kind = lost.kind and t.key = lost.key`;

/*
 * The evaluation of a trigger of the rules can do the same. One such end counts as three failures, and the second sets the event
 * aside for 30 days: `tries` is then higher than failures alone can make it. An idle thread has no event. It gets one that waits,
 * and meanwhile the thread is not evaluated as idle.
 */

/** An event (`e` of ops.rule_events) that was set aside. */
export const isEventSetAside = sql`e.tries > 5`;

/** A statement for the watchdog, with the parameters of `noteLostReads`: the trigger in work when the process hung or failed. */
export const noteLostTriggers = `
  with lost as (
    select kind, key from jsonb_to_recordset($1::jsonb) as item (kind text, key text)
    where $2::boolean and jsonb_array_length($1::jsonb) = 1
  ), counted as (
    update ops.rule_events e set tries = e.tries + 3,
      due_at = case when e.tries >= 3 then now() + interval '30 days' else e.due_at end
    from lost where e.kind = lost.kind and e.key = lost.key
  )
  insert into ops.rule_events (kind, key, happened_at, due_at, tries)
  select 'message_received', key, now(), now() + interval '30 days', 6 from lost where kind = 'thread_idle'`;
