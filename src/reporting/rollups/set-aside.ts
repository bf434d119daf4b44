import { query, relation, sql, type Transaction } from '../../db/database.ts';
import { UserError } from '../../shared/errors.ts';
import type { Changes, Trouble } from './changes.ts';

/** Some changes could not be worked into the rollups; all others were, and these are tried again by themselves. */
export class NotRolledUp extends UserError {
  constructor(troubles: readonly string[]) {
    const some = troubles.slice(0, 5).join('; ');
    const rest = troubles.length > 5 ? `; and ${troubles.length - 5} more` : '';
    super(
      `The reports lack ${some}${rest}. They are tried again within a quarter of an hour; the facts are in the schema warehouse.`,
    );
  }
}

/** One minute, then twice as long each time, up to a quarter of an hour. */
const retryDelay = (tries: string) =>
  sql.raw(`least(interval '1 minute' * 2 ^ least(${tries}, 10), interval '15 minutes')`);

export interface SetAside {
  /** In words for people. */
  readonly what: string;
  /** It is new, or it failed again when it was due: worth another line in the log. */
  readonly is_told: boolean;
}

/** Notes which of the changes that were tried could not be worked in, and forgets the others. */
export async function settleTroubles(
  tx: Transaction,
  { calls, texts, threads }: Changes,
  troubles: readonly Trouble[],
): Promise<SetAside[]> {
  const failed = relation('f', troubles, {
    kind: 'text',
    bucket_at: ['timestamptz', (each) => each.bucketAt],
    conversation_id: ['bigint', (each) => each.conversationId],
    error: ['text', (each) => each.error.message],
  });
  await query(
    tx,
    sql`
      delete from ops.rollup_troubles t
      where (kind = 'calls' and bucket_at = any(${calls}::timestamptz[]) or kind = 'texts' and bucket_at = any(${texts}::timestamptz[])
          or kind = 'thread' and conversation_id = any(${threads}::bigint[]))
        and not exists (select from ${failed}
          where f.kind = t.kind and (f.bucket_at = t.bucket_at or f.conversation_id = t.conversation_id))`,
  );
  if (troubles.length === 0) return [];
  return query(
    tx,
    sql<SetAside>`
     insert into ops.rollup_troubles as t (kind, bucket_at, conversation_id, error)
     select distinct on (kind, bucket_at, conversation_id) kind, bucket_at, conversation_id, error
     from ${failed}
     on conflict (kind, coalesce(bucket_at, '-infinity'), coalesce(conversation_id, 0)) do update set
       error = excluded.error, last_failed_at = now(), try_count = t.try_count + (t.retry_at <= now())::integer,
       retry_at = case when t.retry_at <= now() then now() + ${retryDelay('t.try_count')} else t.retry_at end
     returning
       format('%s (%s)', case kind when 'thread' then 'turns of conversation ' || conversation_id
         else kind || ' from ' || to_char(bucket_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC' end, error) as what,
       retry_at = now() + ${retryDelay('try_count - 1')} as is_told`,
  );
}
