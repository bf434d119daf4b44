import { type Database, query } from '../../warehouse/database.ts';
import type { Thread } from '../../warehouse/entities/texts/conversations.ts';
import { later } from './failures.ts';
import { lookSeconds, type Outcome, type Pending } from './pending.ts';

/** Reads a thread now and mirrors it; true when the mirror then holds it as the service has it. Rejects with a ServiceError. */
export type Look = (thread: Thread, signal: AbortSignal) => Promise<boolean>;

const skippedFor = {
  in: { state: 'skipped', reason: 'they have written again' },
  out: { state: 'skipped', reason: 'the silence has ended' },
} as const satisfies Record<string, Outcome>;

/**
 * Why a thread is not to be resolved, by the service's own list of its texts: an event can be lost, and none tells of
 * what a resolve has hidden. Rejects when it cannot be looked at within the time that a claim leaves for it.
 */
export async function newsIn(
  { db, look }: { readonly db: Database; readonly look: Look },
  action: Pending,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const known = await newerText(db, action);
  if (known) return skippedFor[known];
  const { line, number } = action;
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(lookSeconds * 1000)]);
  const isWhole = await look({ line, number, participants: [] }, inTime);
  const found = await newerText(db, action);
  if (found) return skippedFor[found];
  return isWhole ? undefined : later(action, 'the thread could not be read whole');
}

/**
 * Whose text has come after what a run was about: after the text that it judged, of a silence the last one before it, or
 * else after the moment of the trigger. Texts of one second follow each other by their ids. A silence is broken by either
 * side, but not by the run's own reply; anything else that a rule waits for stands until they write again.
 */
async function newerText(db: Database, { runId }: Pick<Pending, 'runId'>): Promise<'in' | 'out' | undefined> {
  const rows = await query<{ direction: 'in' | 'out' }>(
    db,
    `select coalesce(m.direction, 'out') as direction from ops.rule_runs r
     left join warehouse.sms_messages judged on r.trigger_kind in ('message_received', 'thread_idle')
       and judged.conversation_id = r.conversation_id and judged.message_id::text = split_part(r.trigger_key, '/', 2)
     join warehouse.sms_conversations c on c.line = r.line and c.number = r.number and c.participants_key = ''
     join warehouse.sms_messages m on m.conversation_id = c.conversation_id and m.deleted_at is null and m.is_scheduled is not true
       and (m.sent_at, m.message_id) > (coalesce(judged.sent_at, r.trigger_at), coalesce(judged.message_id, ${Number.MAX_SAFE_INTEGER}))
     where r.run_id = $1 and (m.direction = 'in' or r.trigger_kind = 'thread_idle' and not exists (
       select from ops.rule_actions a join ops.sends s using (send_id)
       -- A gateway can leave out the id of what it sent, and whoever carries a text write its blanks in another way.
       where a.run_id = r.run_id and coalesce(s.message_id = m.message_id, ${plain('s.body')} = ${plain('m.body')})))
     order by direction limit 1`,
    [runId],
  );
  return rows[0]?.direction;
}

function plain(column: string): string {
  return `btrim(regexp_replace(${column}, '\\s+', ' ', 'g'))`;
}
