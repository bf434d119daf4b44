import { query, relation, sql, type Transaction } from '../db/database.ts';
import { targetId, targetsOfCall } from '../inbox/targets.ts';
import { eraseCalls, type Removed } from '../warehouse/erasure/erased-calls.ts';
import type { JsonRow } from '../warehouse/held-calls.ts';
import { countryCodeOf, sameNumbers } from '../warehouse/phone-numbers.ts';
import { followingLostTexts, recordFollowing } from '../warehouse/what-follows.ts';
import { refreshFacts } from '../warehouse/write-calls.ts';

/** A condition: a text names one of the numbers `$1`. Most texts lack `$2`, the last digits of all of them. */
function names(text: string): string {
  return `(strpos(translate(${text}, '+() .-', ''), $2) > 0 and ops.names_number(${text}, $1))`;
}

const numbersAndEnd = (spellings: readonly string[]) => [spellings, spellings[0]?.slice(-6)] as const;

/**
 * Empties the deliveries that name a number or refer to its calls. Deletes unreadable bodies that contain its digits,
 * and the sync targets of its threads. The first spelling is the number itself.
 */
export async function eraseInbox(
  tx: Transaction,
  spellings: readonly string[],
  callIds: readonly string[],
): Promise<Removed> {
  // An event can name a call by the uniqueId of a leg.
  const legs = await query<{ id: string }>(
    tx,
    'select unique_id as id from warehouse.call_legs where call_id = any($1) and unique_id is not null',
    [callIds],
  );
  const ids = [...callIds, ...legs.map(({ id }) => id)];
  // A separate statement: Postgres runs only a pure SELECT in parallel.
  const named = await query<{ id: string }>(
    tx,
    `select delivery_id as id from ops.deliveries
     where not is_erased and (${names('body')} or ${names(`array_to_string(targets, '|')`)} or targets && $3::text[])`,
    [...numbersAndEnd(spellings), ids.flatMap(targetsOfCall).map(targetId)],
  );
  const bodies = await query<{ id: string }>(
    tx,
    `delete from secrets.bodies b using unnest($1::text[]) digits
     where strpos(translate(encode(bytes, 'escape'), ' ().+-', ''), digits) > 0 returning delivery_id as id`,
    [sameNumbers(spellings[0] ?? '').map(nationalDigits)],
  );
  const deliveries = await query(
    tx,
    `update ops.deliveries set body = '', is_erased = true,
       targets = array(select target from unnest(targets) with ordinality t (target, at) where not ops.names_number(target, $1) order by at),
       named = array(select name from unnest(named) with ordinality n (name, at) where not ops.names_number(split_part(name, ' ', 1), $1) order by at)
     where delivery_id = any($2::bigint[]) returning 1`,
    [spellings, [...named, ...bodies].map(({ id }) => id)],
  );
  const targets = await query(
    tx,
    `delete from ops.sync_targets
     where kind = 'thread' and $1 && regexp_split_to_array(key, '[/,]') returning 1`,
    [spellings],
  );
  // The service's error for a read may name the person.
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
export async function eraseTexts(tx: Transaction, spellings: readonly string[]): Promise<Removed> {
  const conversations = await query<{ id: string }>(
    tx,
    `select conversation_id as id from warehouse.sms_conversations where number = any($1) or participants && $1`,
    [spellings],
  );
  const messages = await query<LostText>(
    tx,
    `delete from warehouse.sms_messages
     where conversation_id = any($3) or ${names(`concat_ws('|', from_number, to_number, array_to_string(group_participants, '|'))`)}
     returning conversation_id, message_id, line, number, direction, sent_at, deleted_at`,
    [...numbersAndEnd(spellings), conversations.map(({ id }) => id)],
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
  for (const table of ['warehouse.sms_conversation_events', 'warehouse.sms_conversations']) {
    const rows = await query(tx, `delete from ${table} where conversation_id = any($1) returning 1`, [
      conversations.map(({ id }) => id),
    ]);
    removed[table] = rows.length;
  }
  return removed;
}

const caller = `concat_ws('|', caller_number, caller_id_internal, caller_id_external)`;
const called = `concat_ws('|', called_number, dialled_number)`;

/** Ids of the calls that have a number as a party of the call, of a leg or of a recording. */
export async function findCalls(tx: Transaction, spellings: readonly string[]): Promise<string[]> {
  const rows = await query<{ call_id: string }>(
    tx,
    `select call_id from warehouse.calls
     where ${names(`concat_ws('|', ${caller}, ${called}, external_number, account_number)`)}
     union select call_id from warehouse.call_legs where ${names(`concat_ws('|', caller_number, called_number)`)}
     union select call_id from warehouse.recordings where ${names(`concat_ws('|', from_endpoint, to_endpoint)`)}`,
    numbersAndEnd(spellings),
  );
  return rows.map(({ call_id }) => call_id);
}

/**
 * Blanks the party in calls and legs, by the same rules as `withoutErasedParties`, and erases the rows that belong to
 * the calls. Clears the content hash too, which would let somebody test candidate numbers.
 */
export async function eraseParty(
  tx: Transaction,
  spellings: readonly string[],
  callIds: readonly string[],
): Promise<Removed> {
  await query(tx, 'create temporary table erased_names (call_id text, name text) on commit drop', []);
  await query(
    tx,
    `insert into erased_names
     select call_id, caller_name from warehouse.calls where call_id = any($2) and ops.names_number(${caller}, $1)
     union select call_id, called_name from warehouse.calls where call_id = any($2) and ops.names_number(${called}, $1)
     union select call_id, caller_name from warehouse.call_legs where call_id = any($2) and ops.names_number(caller_number, $1)
     union select call_id, called_name from warehouse.call_legs where call_id = any($2) and ops.names_number(called_number, $1)`,
    [spellings, callIds],
  );
  const isNamed = (column: string) =>
    `exists (select from erased_names e where e.call_id = t.call_id and e.name = t.${column} and e.name <> '')`;
  const without = (column: string, side: string) =>
    `${column} = case when ops.names_number(${side}, $1) or ops.names_number(${column}, $1) or ${isNamed(column)} then null else ${column} end`;
  const legs = await query(
    tx,
    `update warehouse.call_legs t set ${without('caller_name', 'caller_number')}, ${without('caller_number', 'caller_number')},
       ${without('called_name', 'called_number')}, ${without('called_number', 'called_number')},
       content_hash = ''
     where call_id = any($2) and (ops.names_number(concat_ws('|', caller_number, called_number), $1) or ${isNamed('caller_name')} or ${isNamed('called_name')})
     returning 1`,
    [spellings, callIds],
  );
  const calls = await query(
    tx,
    `update warehouse.calls t set ${without('caller_name', caller)}, ${without('caller_number', caller)},
       ${without('caller_id_internal', caller)}, ${without('caller_id_external', caller)},
       ${without('called_name', called)}, ${without('called_number', 'called_number')},
       ${without('dialled_number', 'dialled_number')}, ${without('external_number', 'external_number')},
       ${without('account_number', 'account_number')}, content_hash = ''
     where call_id = any($2) returning 1`,
    [spellings, callIds],
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
  // Facts that followed from the parties are erased with them.
  await recordFollowing(tx, { calls: await refreshFacts(tx, callIds) });
  return {
    ...belongings,
    'warehouse.call_legs': legs.length,
    'warehouse.calls': calls.length,
    'ops.rule_events': waiting.length,
  };
}

/** The tables with rows of one number. */
const numbered = ['ops.rule_runs', 'ops.thread_candidates', 'warehouse.contacts', 'rollups.contacts'];

/** Deletes the rows of a number: what rules recorded of it, its contact, and candidates of its threads. */
export async function eraseNumbered(tx: Transaction, spellings: readonly string[]): Promise<Removed> {
  const removed: Record<string, number> = {};
  for (const table of numbered) {
    const rows = await query(tx, `delete from ${table} where number = any($1) returning 1`, [spellings]);
    removed[table] = rows.length;
  }
  return removed;
}

/** Removes the texts and the number from the ledger. Amounts spent stay, and waiting sends are dropped. */
export async function eraseSends(tx: Transaction, spellings: readonly string[]): Promise<Removed> {
  const rows = await query(
    tx,
    sql<{ place: string; removed: number }>`select place, sum(removed)::integer as removed
     from unnest(${spellings}::text[]) spelling cross join lateral ops.erase_sends(spelling) group by place`,
  );
  return Object.fromEntries(rows.map(({ place, removed }) => [place, removed]));
}

/**
 * Records the opt-outs of the other members of a number's groups, and their texts that may be opt-outs. Call it before
 * {@link eraseTexts}, which deletes these groups and their texts.
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
