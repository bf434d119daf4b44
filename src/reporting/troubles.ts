import { query, type Transaction } from '../warehouse/database.ts';
import type { Changes, Trouble } from './rollups/changes.ts';

/** Some changes could not be worked into the rollups; all others were, and these are tried again by themselves. */
export class NotRolledUp extends Error {
  override readonly name = 'NotRolledUp';
  readonly code = 'not_rolled_up';

  constructor(troubles: readonly string[]) {
    const some = troubles.slice(0, 5).join('; ');
    const rest = troubles.length > 5 ? `; and ${troubles.length - 5} more` : '';
    super(
      `The reports lack ${some}${rest}. They are tried again within a quarter of an hour; the facts are in the schema warehouse.`,
    );
  }
}

/** Changes that were set aside and whose time has come again. */
export async function dueTroubles(tx: Transaction): Promise<Changes> {
  const rows = await query<{ kind: string; bucket_at: Date | null; conversation_id: string | null }>(
    tx,
    'select kind, bucket_at, conversation_id from ops.rollup_troubles where retry_at <= now() order by retry_at limit 200',
    [],
  );
  const quarters = (kind: string) => rows.flatMap((row) => (row.kind === kind && row.bucket_at ? [row.bucket_at] : []));
  return {
    calls: quarters('calls'),
    texts: quarters('texts'),
    threads: rows.flatMap(({ conversation_id }) => (conversation_id === null ? [] : [conversation_id])),
  };
}

/** One minute, then twice as long each time, up to a quarter of an hour. */
const patience = (tries: string) => `least(interval '1 minute' * 2 ^ least(${tries}, 10), interval '15 minutes')`;

export interface SetAside {
  /** In words for people. */
  readonly what: string;
  /** It is new, or it failed again when it was due: worth another line in the log. */
  readonly is_told: boolean;
}

/** Notes which of the changes that were tried could not be worked in, and forgets the others. */
export async function settleTroubles(
  tx: Transaction,
  tried: Changes,
  troubles: readonly Trouble[],
): Promise<SetAside[]> {
  const failed = troubles.map(failedSubject);
  const failedKeys = new Set(failed.map(keyOf));
  const worked = subjectsOf(tried).filter((each) => !failedKeys.has(keyOf(each)));
  await query(
    tx,
    `delete from ops.rollup_troubles t using unnest($1::text[], $2::timestamptz[], $3::bigint[]) as w (kind, bucket_at, conversation_id)
     where t.kind = w.kind and (t.bucket_at = w.bucket_at or t.conversation_id = w.conversation_id)`,
    columnsOf(worked),
  );
  if (failed.length === 0) return [];
  return query<SetAside>(
    tx,
    `insert into ops.rollup_troubles as t (kind, bucket_at, conversation_id, error)
     select distinct on (kind, bucket_at, conversation_id) kind, bucket_at, conversation_id, error
     from unnest($1::text[], $2::timestamptz[], $3::bigint[], $4::text[]) as f (kind, bucket_at, conversation_id, error)
     on conflict (kind, coalesce(bucket_at, '-infinity'), coalesce(conversation_id, 0)) do update set
       error = excluded.error, last_failed_at = now(), try_count = t.try_count + (t.retry_at <= now())::integer,
       retry_at = case when t.retry_at <= now() then now() + ${patience('t.try_count')} else t.retry_at end
     returning
       format('%s (%s)', case kind when 'thread' then 'turns of conversation ' || conversation_id
         else kind || ' from ' || to_char(bucket_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC' end, error) as what,
       retry_at = now() + ${patience('try_count - 1')} as is_told`,
    [...columnsOf(failed), troubles.map(({ error }) => error.message)],
  );
}

interface Subject {
  readonly kind: Trouble['kind'];
  readonly bucketAt: Date | null;
  readonly conversationId: string | null;
}

function failedSubject(trouble: Trouble): Subject {
  return trouble.kind === 'thread'
    ? { kind: trouble.kind, bucketAt: null, conversationId: trouble.conversationId }
    : { kind: trouble.kind, bucketAt: trouble.bucketAt, conversationId: null };
}

function subjectsOf({ calls, texts, threads }: Changes): Subject[] {
  return [
    ...calls.map((bucketAt) => ({ kind: 'calls' as const, bucketAt, conversationId: null })),
    ...texts.map((bucketAt) => ({ kind: 'texts' as const, bucketAt, conversationId: null })),
    ...threads.map((conversationId) => ({ kind: 'thread' as const, bucketAt: null, conversationId })),
  ];
}

function keyOf({ kind, bucketAt, conversationId }: Subject): string {
  return `${kind} ${bucketAt?.getTime() ?? conversationId}`;
}

function columnsOf(subjects: readonly Subject[]): unknown[] {
  return [
    subjects.map(({ kind }) => kind),
    subjects.map(({ bucketAt }) => bucketAt),
    subjects.map(({ conversationId }) => conversationId),
  ];
}
