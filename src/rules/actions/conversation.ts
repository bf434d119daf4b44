import type { RawBuilder } from 'kysely';
import type { ConversationState, ObjectId } from '../../api-client/client.ts';
import { type Database, query, sql, type Transaction } from '../../db/database.ts';
import type { Pair } from '../../shared/thread.ts';
import type { Assignee } from '../rule.ts';
import type { ClaimedAction } from './action-states.ts';

/* What actions read from the warehouse and write to it. */

/** The user to assign to, null for nobody; or why there is none, and whether the rule is wrong. */
export type FoundAssignee =
  | { readonly user: ObjectId | null }
  | { readonly missing: string; readonly isMistake: boolean };

/** Resolves an assignee of the rules file by the current user directory and call attribution. */
export async function findAssignee(
  db: Database | Transaction,
  to: Assignee,
  { line, trigger }: Pick<ClaimedAction, 'line' | 'trigger'>,
): Promise<FoundAssignee> {
  if (to.kind === 'user') return { user: to.userId };
  if (to.kind === 'nobody') return { user: null };
  if (to.kind === 'named') {
    const user = await firstUser(
      db,
      sql`
        select user_id as id from warehouse.users
        where deleted_at is null and lower(${to.name}) in (lower(username), lower(email), user_id::text)
        order by user_id::text = ${to.name}, user_id limit 1`,
    );
    return user === undefined ? { missing: `no user is called ${to.name}`, isMistake: true } : { user };
  }
  const agent = to.kind === 'agent' ? await firstUser(db, agentOf(trigger)) : undefined;
  const user =
    agent ??
    (await firstUser(
      db,
      sql`select user_id as id from warehouse.sms_line_users where line = ${line} and valid_to = 'infinity' order by user_id limit 1`,
    ));
  if (user !== undefined) return { user };
  const noUsers = 'the line has no users of its own';
  const missing = to.kind === 'agent' ? `no user is known to have been on the call, and ${noUsers}` : noUsers;
  return { missing, isMistake: false };
}

async function firstUser(
  db: Database | Transaction,
  statement: RawBuilder<{ id: string }>,
): Promise<string | undefined> {
  const [user] = await query(db, statement);
  return user?.id;
}

/** The user who talked longest on the call of a trigger. */
function agentOf({ kind, key }: ClaimedAction['trigger']): RawBuilder<{ id: string }> {
  const isTranscript = kind === 'transcript_ready' || kind === 'action_required';
  const call = isTranscript
    ? sql`(select call_id from warehouse.transcripts where transcript_id = ${key})`
    : sql`${key}`;
  return sql`
    select a.user_id as id from warehouse.call_attributions a
    join warehouse.users u on u.user_id = a.user_id and u.deleted_at is null
    where a.call_id = ${call} and a.role in ('answered', 'placed')
    order by a.talk_seconds desc nulls last, a.user_id limit 1`;
}

/**
 * The direction of a text newer than the trigger, which makes a resolve wrong; `in` if there are both. For an idle
 * thread, our own texts count too, except the run's own reply: it's recognised by its body if the answer with its id
 * was lost. Texts of the same second are ordered by id. A rule with `after` knew the texts that arrived before its
 * evaluation.
 */
export async function newerText(
  db: Database,
  { runId }: Pick<ClaimedAction, 'runId'>,
): Promise<'in' | 'out' | undefined> {
  const rows = await query<{ direction: 'in' | 'out' }>(
    db,
    sql`
      select coalesce(m.direction, 'out') as direction from ops.rule_runs r
      left join warehouse.sms_messages judged on r.trigger_kind in ('message_received', 'thread_idle') and r.after_seconds is null
        and judged.conversation_id = r.conversation_id and judged.message_id::text = split_part(r.trigger_key, '/', 2)
      join warehouse.sms_conversations c on c.line = r.line and c.number = r.number and c.participants_key = ''
      join warehouse.sms_messages m on m.conversation_id = c.conversation_id and m.deleted_at is null and m.is_scheduled is not true
        and m.is_reaction is not true and (m.sent_at, m.message_id)
          > (coalesce(judged.sent_at, r.trigger_at), coalesce(judged.message_id, ${Number.MAX_SAFE_INTEGER}))
      where r.run_id = ${runId} and (m.direction = 'in' or r.trigger_kind = 'thread_idle' and not exists (
        select from ops.rule_actions a join ops.sends s using (send_id)
        where a.run_id = r.run_id
          and coalesce(s.message_id = m.message_id, s.body = m.body)))
      order by direction limit 1`,
  );
  return rows[0]?.direction;
}

/** The state of a conversation in the answer to one of our own requests. */
export interface ObservedState extends Pair {
  readonly axis: 'resolved' | 'assigned' | 'comment';
  readonly state: ConversationState;
  /** On the axis `assigned`: the user, null for nobody. */
  readonly assignedTo?: ObjectId | null | undefined;
  readonly rule: string;
  readonly via: string;
  readonly runId: string;
}

/**
 * Records the state of a conversation. The API has no way to read it (section 2.5), so the answers to our own requests
 * are the only source. Each answer says whether the conversation is resolved, whatever was requested.
 */
export async function recordState(tx: Transaction, observed: ObservedState): Promise<void> {
  const { line, number, axis, state, assignedTo = null, rule, via, runId } = observed;
  const { resolved = null, resolvedBy = null, resolvedAt = null } = state;
  const isAssignment = axis === 'assigned';
  const kept = (column: string) =>
    sql.raw(`case when excluded.is_resolved is null then c.${column} else excluded.${column} end`);
  await query(
    tx,
    sql`
      with conversation as (
        insert into warehouse.sms_conversations as c (line, number, is_resolved, resolved_by, resolved_at,
          resolved_observed_at, resolved_observed_via, assigned_user_id, is_assignment_known, assigned_observed_at,
          assigned_observed_via)
        values (${line}, ${number}, ${resolved}, ${resolvedBy}, ${resolvedAt}, now(), ${via}, ${assignedTo},
          ${isAssignment}, case when ${isAssignment} then now() end, case when ${isAssignment} then ${via} end)
        on conflict (line, number, participants_key) do update set
          is_resolved = coalesce(excluded.is_resolved, c.is_resolved),
          resolved_by = ${kept('resolved_by')}, resolved_at = ${kept('resolved_at')},
          resolved_observed_at = ${kept('resolved_observed_at')}, resolved_observed_via = ${kept('resolved_observed_via')},
          assigned_user_id = case when ${isAssignment} then excluded.assigned_user_id else c.assigned_user_id end,
          is_assignment_known = c.is_assignment_known or ${isAssignment},
          assigned_observed_at = coalesce(excluded.assigned_observed_at, c.assigned_observed_at),
          assigned_observed_via = coalesce(excluded.assigned_observed_via, c.assigned_observed_via)
        returning conversation_id
      )
      insert into warehouse.sms_conversation_events
        (conversation_id, axis, is_resolved, user_id, resolved_at, actor, run_id)
      select conversation_id, ${axis}, ${resolved}, ${isAssignment ? assignedTo : resolvedBy}, ${resolvedAt},
        ${`rule ${rule}`}, ${runId}
      from conversation`,
  );
}
