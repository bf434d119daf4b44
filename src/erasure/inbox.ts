import { inbound } from '../inbox/erased.ts';
import { query, type Transaction } from '../warehouse/database.ts';
import { threadOf } from '../warehouse/entities/texts/conversations.ts';
import type { Removed } from '../warehouse/erasure/calls.ts';
import {
  escapedMentionPattern,
  mayMention,
  mentionPattern,
  roughMentionPattern,
  spellingsOf,
} from '../warehouse/erasure/mentions.ts';
import { withholdUnread } from '../warehouse/erasure/unread.ts';

/**
 * Empties the deliveries that tell of a number or of its calls, and removes the threads with it from what is read. To be
 * called before the texts are removed: those that are not held were on their way.
 */
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
  const deliveryIds = [...told.map(({ id }) => id), ...(await toldInEscapes(tx, number))];
  await withholdUnmirrored(tx, number, deliveryIds);
  const deliveries = await query(
    tx,
    `update ops.deliveries set body = '', body_hash = '', is_erased = true,
       targets = array(select target from unnest(targets) with ordinality t (target, at) where target !~ $1 order by at),
       named = array(select name from unnest(named) with ordinality n (name, at) where name !~ $1 order by at)
     where delivery_id = any($2::bigint[]) returning 1`,
    [mentionPattern(number), deliveryIds],
  );
  const targets = await query(
    tx,
    `delete from ops.sync_targets
     where kind = 'thread' and $1 && regexp_split_to_array(key, '[/,]') returning 1`,
    [spellingsOf(number)],
  );
  return { 'ops.deliveries': deliveries.length, 'ops.sync_targets': targets.length };
}

/** Deliveries that were not understood are kept as they came, so that a number can stand there in escapes. */
async function toldInEscapes(tx: Transaction, number: string): Promise<string[]> {
  const rows = await query<{ id: string }>(
    tx,
    `select delivery_id as id from ops.deliveries
     where not is_erased and (strpos(body, '%') > 0 or strpos(body, '&') > 0 or strpos(body, '\\u') > 0) and body ~ $1`,
    [escapedMentionPattern(number)],
  );
  const spellings = new Set(spellingsOf(number));
  const told: string[] = [];
  for (const { id } of rows) {
    const [delivery] = await query<{ body: string }>(tx, 'select body from ops.deliveries where delivery_id = $1', [
      id,
    ]);
    if (mayMention(delivery?.body ?? '', (each) => spellings.has(each))) told.push(id);
  }
  return told;
}

/** Texts that were announced and that nobody will mirror: the service counts them as unread. */
async function withholdUnmirrored(tx: Transaction, number: string, deliveryIds: readonly string[]): Promise<void> {
  const named = await query<{ key: string; body: string }>(
    tx,
    `select distinct on (n.key, n.id) n.key, d.body from ops.deliveries d
       cross join lateral (select split_part(name, ' ', 1) as key, split_part(name, ' ', 2) as id from unnest(d.named) name) n
     where d.delivery_id = any($1::bigint[]) and n.key ~ $2 and not exists (
       select from warehouse.sms_messages m where m.message_id = n.id::bigint and m.line = split_part(n.key, '/', 1))
     order by n.key, n.id, d.delivery_id`,
    [deliveryIds, mentionPattern(number)],
  );
  const unread = named.filter(({ body }) => inbound.test(body));
  await withholdUnread(
    tx,
    unread.map(({ key }) => ({ line: threadOf(key).line, unread: 1 })),
  );
}
