import { query, type Transaction } from '../warehouse/database.ts';
import type { Removed } from '../warehouse/erasure/calls.ts';
import { mentionPattern } from '../warehouse/erasure/mentions.ts';

/** Empties the deliveries that tell of a number or of its calls, and removes the threads with it from what is read. */
export async function eraseInbox(tx: Transaction, number: string, callIds: readonly string[]): Promise<Removed> {
  const deliveries = await query(
    tx,
    `update ops.deliveries set body = '', body_hash = '', is_erased = true,
       targets = array(select target from unnest(targets) with ordinality t (target, at) where target !~ $1 order by at)
     where not is_erased and (body ~ $1 or array_to_string(targets, '|') ~ $1 or targets && $2::text[])
     returning 1`,
    [
      mentionPattern(number),
      callIds.flatMap((id) => ['call', 'recordings', 'transcripts'].map((kind) => `${kind} ${id}`)),
    ],
  );
  const targets = await query(
    tx,
    `delete from ops.sync_targets
     where kind = 'thread' and $1 = any(regexp_split_to_array(key, '[/,]')) returning 1`,
    [number],
  );
  return { 'ops.deliveries': deliveries.length, 'ops.sync_targets': targets.length };
}
