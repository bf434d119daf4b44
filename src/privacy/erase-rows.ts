import { query, relation, sql, type Transaction } from '../db/database.ts';
import { countryCodeOf, sameNumbers } from '../shared/phone-numbers.ts';
import { eraseCalls, type Removed } from '../warehouse/erasure/calls.ts';
import { erasedMark, mentionPattern, roughMentionPattern, spellingsOf } from '../warehouse/erasure/mentions.ts';
import type { JsonRow } from '../warehouse/held-calls.ts';
import { followingLostTexts, recordFollowing } from '../warehouse/what-follows.ts';
import { refreshFacts } from '../warehouse/write-calls.ts';

/**
 * Empties the deliveries that mention a number or refer to its calls, deletes bodies that nobody could read and that contain
 * its digits, and deletes the sync targets of its threads.
 */
export async function eraseInbox(tx: Transaction, number: string, callIds: readonly string[]): Promise<Removed> {
  const isOfNumber = `(body ~ $1 and body ~ $2) or (array_to_string(targets, '|') ~ $1 and array_to_string(targets, '|') ~ $2)`;
  // An event can name a call by the uniqueId of a leg.
  const legs = await query<{ id: string }>(
    tx,
    'select unique_id as id from warehouse.call_legs where call_id = any($1) and unique_id is not null',
    [callIds],
  );
  const ids = [...callIds, ...legs.map(({ id }) => id)];
  // A separate statement: Postgres runs only a pure SELECT in parallel.
  const mentioning = await query<{ id: string }>(
    tx,
    `select delivery_id as id from ops.deliveries where not is_erased and (${isOfNumber} or targets && $3::text[])`,
    [
      roughMentionPattern(number),
      mentionPattern(number),
      ids.flatMap((id) => ['call', 'recordings', 'transcripts'].map((kind) => `${kind} ${id}`)),
    ],
  );
  const bodies = await query<{ id: string }>(
    tx,
    `delete from secrets.bodies b using unnest($1::text[]) digits
     where strpos(translate(encode(bytes, 'escape'), ' ().+-', ''), digits) > 0 returning delivery_id as id`,
    [sameNumbers(number).map(nationalDigits)],
  );
  const deliveryIds = [...mentioning, ...bodies].map(({ id }) => id);
  const deliveries = await query(
    tx,
    `update ops.deliveries set body = '', is_erased = true,
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
  // What the service said about a read may name the person.
  const errors = await query(
    tx,
    `update ops.sync_targets set last_error = null
     where kind in ('call', 'recordings', 'transcripts') and key = any($1) and last_error is not null returning 1`,
    [ids],
  );
  return {
    'ops.deliveries': deliveries.length,
    'ops.sync_targets': targets.length + errors.length,
    'secrets.bodies': bodies.length,
  };
}

/** A number without its country code, unless it is so short that other numbers may contain it. */
function nationalDigits(number: string): string {
  const national = number.slice(countryCodeOf(number).length);
  return national.length < 8 ? number : national;
}

type LostText = JsonRow & {
  readonly conversation_id: string;
  readonly message_id: string;
};

/** Deletes the conversations of a number, groups included, and every row that belongs to their messages. */
export async function eraseTexts(tx: Transaction, number: string): Promise<Removed> {
  const conversations = await query<{ id: string }>(
    tx,
    `select conversation_id as id from warehouse.sms_conversations where number = any($1) or participants && $1`,
    [spellingsOf(number)],
  );
  const messages = await query<LostText>(
    tx,
    `delete from warehouse.sms_messages
     where conversation_id = any($3) or ${isIn(`concat_ws('|', from_number, to_number, array_to_string(group_participants, '|'))`)}
     returning conversation_id, message_id, line, number, direction, sent_at, deleted_at`,
    [mentionPattern(number), roughMentionPattern(number), conversations.map(({ id }) => id)],
  );
  await recordFollowing(tx, followingLostTexts(messages));
  const removed: Record<string, number> = { 'warehouse.sms_messages': messages.length };
  const keys = relation('m', messages, { conversation_id: 'bigint', message_id: 'bigint' });
  const links = await query(
    tx,
    sql`delete from secrets.links l using ${keys}
      where l.kind = 'file' and l.owner = m.conversation_id || '/' || m.message_id returning 1`,
  );
  removed['secrets.links'] = links.length;
  for (const table of ['warehouse.sms_message_reads', 'warehouse.sms_message_delivery_events']) {
    const rows = await query(
      tx,
      sql`
        delete from ${sql.table(table)} t using ${keys}
        where t.conversation_id = m.conversation_id and t.message_id = m.message_id returning 1`,
    );
    removed[table] = rows.length;
  }
  const waiting = await query(
    tx,
    sql`delete from ops.rule_events e using ${keys}
      where e.kind = 'message_received' and e.key = m.conversation_id || '/' || m.message_id returning 1`,
  );
  removed['ops.rule_events'] = waiting.length;
  const gone = await query(tx, 'delete from warehouse.sms_conversations where conversation_id = any($1) returning 1', [
    conversations.map(({ id }) => id),
  ]);
  return { ...removed, 'warehouse.sms_conversations': gone.length };
}

const caller = `concat_ws('|', caller_number, caller_id_internal, caller_id_external)`;
const called = `concat_ws('|', called_number, dialled_number)`;

/** A condition: whether an expression mentions a number. `$1` is the exact pattern, `$2` the rough one, which is faster. */
function isIn(text: string): string {
  return `(${text} ~ $2 and ${text} ~ $1)`;
}

/** Ids of the calls that have a number as a party of the call, of a leg or of a recording. */
export async function findCalls(tx: Transaction, number: string): Promise<string[]> {
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
 * Blanks the party in calls and legs, by the same rules as `withoutErasedParties`, and erases the rows that belong to the calls.
 * Clears the content hash too, which would let somebody test candidate numbers.
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
  const waiting = await query(
    tx,
    `delete from ops.rule_events e where exists (
       select from warehouse.calls c where c.call_id = any($1) and c.external_number is null and e.key = case
         when e.kind in ('transcript_ready', 'action_required') then
           (select t.transcript_id::text from warehouse.transcripts t where t.call_id = c.call_id and t.transcript_id::text = e.key)
         when e.kind <> 'message_received' then c.call_id end) returning 1`,
    [callIds],
  );
  const belongings = await eraseCalls(tx, callIds);
  // What followed from the parties goes with them.
  await recordFollowing(tx, { calls: await refreshFacts(tx, callIds) });
  return {
    ...belongings,
    'warehouse.call_legs': legs.length,
    'warehouse.calls': calls.length,
    'ops.rule_events': waiting.length,
  };
}

/**
 * Deletes what rules recorded about a number and its conversations (`rules`; call it after {@link eraseTexts}), or removes its
 * texts and number from the ledger (`sends`): amounts spent stay, and waiting sends are not sent.
 */
export async function eraseHistory(tx: Transaction, of: 'rules' | 'sends', number: string): Promise<Removed> {
  const rows = await query(
    tx,
    sql<{ place: string; removed: number }>`select place, sum(removed)::integer as removed
     from unnest(${spellingsOf(number)}::text[]) spelling cross join lateral ${sql.raw(`ops.erase_${of}`)}(spelling) group by place`,
  );
  return Object.fromEntries(rows.map(({ place, removed }) => [place, removed]));
}

/** A column that can hold text. */
interface TextColumn {
  readonly table: string;
  readonly column: string;
  readonly type: 'text' | 'text[]' | 'jsonb';
  readonly isKey: boolean;
}

/**
 * Replaces the remaining mentions of a number in every text column of every table; the text around a mention stays. A row
 * whose primary key contains the number is deleted.
 */
export async function eraseMentions(tx: Transaction, number: string): Promise<Removed> {
  const removed: Record<string, number> = {};
  const places = Map.groupBy(await textColumns(tx), ({ table }) => table);
  for (const [table, columns] of places) {
    const count = await eraseFrom(tx, table, columns, number);
    if (count > 0) removed[table] = count;
  }
  return removed;
}

// The search is a separate statement, since Postgres runs only a pure SELECT in parallel. It is repeated if a concurrent update
// moved a row before the write.
async function eraseFrom(
  tx: Transaction,
  table: string,
  columns: readonly TextColumn[],
  number: string,
): Promise<number> {
  const [keys, others] = [columns.filter(({ isKey }) => isKey), columns.filter(({ isKey }) => !isKey)];
  const patterns = [mentionPattern(number), roughMentionPattern(number)];
  let count = 0;
  for (;;) {
    const found = await query<{ at: string; is_key: boolean }>(
      tx,
      `select ctid::text as at, ${keys.length > 0 ? areIn(keys) : 'false'} as is_key from ${table} where ${areIn(columns)}`,
      patterns,
    );
    if (found.length === 0) return count;
    const [rows, texts] = [found.filter((each) => each.is_key), found.filter((each) => !each.is_key)];
    const at = (some: typeof found) => some.map((each) => each.at);
    const gone = await query(tx, `delete from ${table} where ctid = any($1::tid[]) returning 1`, [at(rows)]);
    const sets = others.map((place) => `${place.column} = ${without(place)}`).join(', ');
    const update = `update ${table} set ${sets} where ctid = any($2::tid[]) returning 1`;
    const updated = texts.length === 0 ? [] : await query(tx, update, [patterns[0], at(texts)]);
    count += gone.length + updated.length;
    if (gone.length + updated.length === found.length) return count;
  }
}

// Partitioned parents, views and generated columns hold no data of their own.
async function textColumns(tx: Transaction): Promise<TextColumn[]> {
  return query<TextColumn>(
    tx,
    `select a.attrelid::regclass::text as "table", quote_ident(a.attname) as "column",
       format_type(a.atttypid, null) as type, coalesce(a.attnum = any(k.conkey), false) as "isKey"
     from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
       left join pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
     where n.nspname in ('warehouse', 'secrets', 'ops', 'rollups', 'reporting') and c.relkind = 'r'
       and c.relname <> 'migrations'
       and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
       and a.atttypid in ('text'::regtype, 'text[]'::regtype, 'jsonb'::regtype)
     order by 1, a.attnum`,
    [],
  );
}

function areIn(places: readonly TextColumn[]): string {
  const text = ({ column, type }: TextColumn) =>
    type === 'text' ? column : type === 'jsonb' ? `${column}::text` : `array_to_string(${column}, '|')`;
  return places.map((place) => isIn(text(place))).join(' or ');
}

function without({ column, type }: TextColumn): string {
  switch (type) {
    case 'text':
      return `regexp_replace(${column}, $1, '${erasedMark}', 'g')`;
    case 'text[]':
      return `array(select regexp_replace(each, $1, '${erasedMark}', 'g') from unnest(${column}) with ordinality e (each, at) order by at)`;
    case 'jsonb':
      // 0 keeps the JSON valid, whether the number was a string or a number.
      return `regexp_replace(${column}::text, $1, '0', 'g')::jsonb`;
  }
}

/**
 * Records the opt-outs of the other members of a number's groups, and their texts that may be one. Call it before
 * {@link eraseTexts}, which deletes these groups with the texts.
 */
export async function preserveOptOuts(tx: Transaction, spellings: readonly string[]): Promise<void> {
  await query(
    tx,
    sql`
      with said as (
        select m.line, m.from_number as number, m.opt_out_verdict as kind, coalesce(m.sent_at, m.first_seen_at) as at,
          m.first_seen_at, max(coalesce(m.sent_at, m.first_seen_at)) filter (where m.opt_out_verdict = 'opt_in')
            over (partition by m.line, m.from_number) as opted_in_at
        from warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
        where (c.number = any(${spellings}) or c.participants && ${spellings}::text[] or m.group_participants && ${spellings}::text[])
          and m.direction = 'in' and m.from_number <> all(${spellings}) and m.opt_out_verdict in ('opt_out', 'opt_in', 'unsure')
      )
      insert into ops.opt_outs (line, number, decided_at, decision, source)
      select line, number, min(at), kind, 'text' from said
      where kind = 'opt_out' and at >= coalesce(opted_in_at, '-infinity') group by line, number, kind
      union all
      select line, number, greatest(min(at), max(person_at) + interval '1 microsecond'), kind, 'text'
      from said left join lateral (
        select max(decided_at) as person_at from ops.opt_outs d where d.number = said.number and d.source = 'person') d on true
      where kind = 'unsure' and at >= coalesce(opted_in_at, '-infinity') and first_seen_at > coalesce(person_at, '-infinity')
      group by line, number, kind
      on conflict do nothing`,
  );
}
