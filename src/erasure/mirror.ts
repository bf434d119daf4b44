import { query, type Transaction } from '../warehouse/database.ts';
import { eraseCalls, type Removed } from '../warehouse/erasure/calls.ts';
import { mentionPattern, roughMentionPattern, spellingsOf } from '../warehouse/erasure/mentions.ts';
import { withholdUnread } from '../warehouse/erasure/unread.ts';

/** Removes the conversations in which a number takes part, with all that hangs on their messages. */
export async function eraseTexts(tx: Transaction, number: string): Promise<Removed> {
  const conversations = await query<{ id: string }>(
    tx,
    `select conversation_id as id from warehouse.sms_conversations where number = any($1) or participants && $1`,
    [spellingsOf(number)],
  );
  const messages = await query<{ conversation_id: string; message_id: string; line: string; is_unread: boolean }>(
    tx,
    `delete from warehouse.sms_messages
     where conversation_id = any($3) or ${isIn(`concat_ws('|', from_number, to_number, array_to_string(group_participants, '|'))`)}
     returning conversation_id, message_id, line, direction = 'in' and is_read is false and deleted_at is null as is_unread`,
    [mentionPattern(number), roughMentionPattern(number), conversations.map(({ id }) => id)],
  );
  const unread = messages.filter((each) => each.is_unread);
  await withholdUnread(
    tx,
    unread.map(({ line }) => ({ line, unread: 1 })),
  );
  const removed: Record<string, number> = { 'warehouse.sms_messages': messages.length };
  const keys = [messages.map((each) => each.conversation_id), messages.map((each) => each.message_id)];
  for (const table of [
    'secrets.message_media',
    'warehouse.sms_message_reads',
    'warehouse.sms_message_delivery_events',
  ]) {
    const rows = await query(
      tx,
      `delete from ${table} t using unnest($1::bigint[], $2::bigint[]) as m (conversation_id, message_id)
       where t.conversation_id = m.conversation_id and t.message_id = m.message_id returning 1`,
      keys,
    );
    removed[table] = rows.length;
  }
  const documents = await query(
    tx,
    `delete from warehouse.documents where entity = 'message' and entity_key in (
       select conversation_id || '/' || message_id from unnest($1::bigint[], $2::bigint[]) as m (conversation_id, message_id))
     returning 1`,
    keys,
  );
  const gone = await query(tx, 'delete from warehouse.sms_conversations where conversation_id = any($1) returning 1', [
    conversations.map(({ id }) => id),
  ]);
  return { ...removed, 'warehouse.documents': documents.length, 'warehouse.sms_conversations': gone.length };
}

const caller = `concat_ws('|', caller_number, caller_id_internal, caller_id_external)`;
const called = `concat_ws('|', called_number, dialled_number)`;

/** Whether a number is mentioned: `$1` is the pattern, `$2` the rough one, which decides nearly always, and sooner. */
function isIn(text: string): string {
  return `(${text} ~ $2 and ${text} ~ $1)`;
}

/** Ids of the calls that name a number on themselves, on a leg or on a recording. */
export async function callsOf(tx: Transaction, number: string): Promise<string[]> {
  const rows = await query<{ call_id: string }>(
    tx,
    `select call_id from warehouse.calls
     where ${isIn(`concat_ws('|', ${caller}, ${called}, external_number, account_number)`)}
     union select call_id from warehouse.call_legs where ${isIn(`concat_ws('|', caller_number, called_number)`)}
     union select call_id from warehouse.recordings where ${isIn(`concat_ws('|', from_endpoint, to_endpoint)`)}`,
    [mentionPattern(number), roughMentionPattern(number)],
  );
  return rows.map(({ call_id }) => call_id);
}

/**
 * Blanks a party of calls as {@link withoutParties} does for reads, and erases what belongs to the calls. The hash of
 * what stood there would let numbers be tried, so it goes too.
 */
export async function eraseParty(tx: Transaction, number: string, callIds: readonly string[]): Promise<Removed> {
  const pattern = mentionPattern(number);
  await query(tx, 'create temporary table erased_names (call_id text, name text) on commit drop', []);
  await query(
    tx,
    `insert into erased_names
     select call_id, caller_name from warehouse.calls where call_id = any($2) and ${caller} ~ $1
     union select call_id, called_name from warehouse.calls where call_id = any($2) and ${called} ~ $1
     union select call_id, caller_name from warehouse.call_legs where call_id = any($2) and caller_number ~ $1
     union select call_id, called_name from warehouse.call_legs where call_id = any($2) and called_number ~ $1`,
    [pattern, callIds],
  );
  const isNamed = (column: string) =>
    `exists (select from erased_names e where e.call_id = t.call_id and e.name = t.${column} and e.name <> '')`;
  const without = (column: string, side: string) =>
    `${column} = case when ${side} ~ $1 or ${column} ~ $1 or ${isNamed(column)} then null else ${column} end`;
  const legs = await query(
    tx,
    `update warehouse.call_legs t set ${without('caller_name', 'caller_number')}, ${without('caller_number', 'caller_number')},
       ${without('called_name', 'called_number')}, ${without('called_number', 'called_number')},
       content_hash = ''
     where call_id = any($2) and (concat_ws('|', caller_number, called_number) ~ $1 or ${isNamed('caller_name')} or ${isNamed('called_name')})
     returning 1`,
    [pattern, callIds],
  );
  const calls = await query(
    tx,
    `update warehouse.calls t set ${without('caller_name', caller)}, ${without('caller_number', caller)},
       ${without('caller_id_internal', caller)}, ${without('caller_id_external', caller)},
       ${without('called_name', called)}, ${without('called_number', 'called_number')},
       ${without('dialled_number', 'dialled_number')}, ${without('external_number', 'external_number')},
       ${without('account_number', 'account_number')}, content_hash = ''
     where call_id = any($2) returning 1`,
    [pattern, callIds],
  );
  const belongings = await eraseCalls(tx, callIds);
  return { ...belongings, 'warehouse.call_legs': legs.length, 'warehouse.calls': calls.length };
}
