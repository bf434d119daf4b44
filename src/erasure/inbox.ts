import { query, type Transaction } from '../warehouse/database.ts';
import type { Removed } from '../warehouse/erasure/calls.ts';
import { mentionPattern, roughMentionPattern } from '../warehouse/erasure/mentions.ts';

/** Empties the deliveries that tell of a number or of its calls, and removes the threads with it from what is read. */
export async function eraseInbox(tx: Transaction, number: string, callIds: readonly string[]): Promise<Removed> {
  const isOfNumber = `(body ~ $1 and body ~ $2) or (array_to_string(targets, '|') ~ $1 and array_to_string(targets, '|') ~ $2)`;
  // Looked for apart from the update, so that all cores can look.
  const told = await query<{ id: string }>(
    tx,
    `select delivery_id as id from ops.deliveries where not is_erased and (${isOfNumber} or targets && $3::text[])`,
    [
      roughMentionPattern(number),
      mentionPattern(number),
      callIds.flatMap((id) => ['call', 'recordings', 'transcripts'].map((kind) => `${kind} ${id}`)),
    ],
  );
  const deliveries = await query(
    tx,
    `update ops.deliveries set body = '', body_hash = '', is_erased = true,
       targets = array(select target from unnest(targets) with ordinality t (target, at) where target !~ $1 order by at),
       named = array(select name from unnest(named) with ordinality n (name, at) where name !~ $1 order by at)
     where delivery_id = any($2::bigint[]) returning 1`,
    [mentionPattern(number), told.map(({ id }) => id)],
  );
  const targets = await query(
    tx,
    `delete from ops.sync_targets
     where kind = 'thread' and $1 = any(regexp_split_to_array(key, '[/,]')) returning 1`,
    [number],
  );
  return { 'ops.deliveries': deliveries.length, 'ops.sync_targets': targets.length };
}
