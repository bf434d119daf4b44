import { query, relation, sql, type Transaction } from '../../db/database.ts';
import { UserError } from '../../shared/errors.ts';

/** Some changes couldn't be added to the rollups. All others were, and these are retried automatically. */
export class NotRolledUp extends UserError {
  constructor(troubles: readonly string[]) {
    const some = troubles.slice(0, 5).join('; ');
    const rest = troubles.length > 5 ? `; and ${troubles.length - 5} more` : '';
    super(
      `The reports lack ${some}${rest}. They are tried again within a quarter of an hour; the facts are in the schema warehouse.`,
    );
  }
}

/** Something that couldn't be rolled up completely: a day of calls or texts, by its start, or a conversation. */
export type Trouble =
  | { readonly kind: 'calls' | 'texts'; readonly bucketAt: Date; readonly error: Error }
  | { readonly kind: 'thread'; readonly conversationId: string; readonly error: Error };

export interface SetAside {
  /** Shown to people. */
  readonly what: string;
  /** It is new, or it failed again when due, so it is worth another line in the log. */
  readonly is_told: boolean;
}

/** One minute, doubled each time, up to a quarter of an hour. */
const retryDelay = (tries: string) =>
  sql.raw(`least(interval '1 minute' * 2 ^ least(${tries}, 10), interval '15 minutes')`);

/** Records what couldn't be rolled up, to be retried when due. */
export function setAside(tx: Transaction, trouble: Trouble): Promise<SetAside[]> {
  const failed = relation('f', [trouble], {
    kind: 'text',
    bucket_at: ['timestamptz', (each) => (each.kind === 'thread' ? null : each.bucketAt)],
    conversation_id: ['bigint', (each) => (each.kind === 'thread' ? each.conversationId : null)],
    error: ['text', (each) => each.error.message],
  });
  return query(
    tx,
    sql<SetAside>`
     insert into ops.rollup_troubles as t (kind, bucket_at, conversation_id, error)
     select kind, bucket_at, conversation_id, error from ${failed}
     on conflict (kind, coalesce(bucket_at, '-infinity'), coalesce(conversation_id, 0)) do update set
       error = excluded.error, try_count = t.try_count + (t.retry_at <= now())::integer,
       retry_at = case when t.retry_at <= now() then now() + ${retryDelay('t.try_count')} else t.retry_at end
     returning
       format('%s (%s)', case kind when 'thread' then 'turns of conversation ' || conversation_id
         else kind || ' from ' || to_char(bucket_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC' end, error) as what,
       retry_at = now() + ${retryDelay('try_count - 1')} as is_told`,
  );
}
