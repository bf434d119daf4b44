import type { RawBuilder } from 'kysely';
import type { RetentionDays } from '../../config/settings.ts';
import { type Database, inTransaction, query, sql } from '../db/database.ts';
import { tryLock } from '../db/locks.ts';
import { deleteExpired } from '../inbox/stored-deliveries.ts';
import type { Log } from '../shared/log.ts';
import type { Removed } from '../warehouse/erasure/erased-calls.ts';
import { wordColumns } from '../warehouse/transcripts.ts';

/** The content of one kind in one table. */
interface Content {
  readonly kind: keyof RetentionDays;
  /** The table whose rows are counted. */
  readonly table: string;
  /** An indexed time from which the days are counted, and its table. */
  readonly time: { readonly table: string; readonly column: string };
  /** Removes content where a condition holds, at most `maxAtOnce` rows, and returns a row for each. */
  remove(condition: RawBuilder<unknown>): RawBuilder<unknown>;
  /** The time to use if that one is missing; undefined if it never is. */
  readonly otherwise?: RawBuilder<unknown>;
}

/** Rows of one transaction. */
const maxAtOnce = sql.lit(1_000);

/** The second in a call id (section 2.9), or when the row was first mirrored. The call may not be mirrored. */
const startOf = (callId: string, firstSeenAt: string) =>
  sql`case when ${sql.ref(callId)} ~ '^[0-9]{1,11}[.]'
    then to_timestamp(split_part(${sql.ref(callId)}, '.', 1)::bigint) else ${sql.ref(firstSeenAt)} end`;

/** The owner of the links to a text's files. */
const ownerOf = (text: string) => sql`${sql.ref(`${text}.conversation_id`)} || '/' || ${sql.ref(`${text}.message_id`)}`;

const words = sql.join(wordColumns.map((column) => sql.ref(`t.${column}`)));

/*
 * Rows keep their figures. A hash stays if it covers too many words to be guessed; the hash of a text is removed.
 * Nothing sets `changed_at`: at the service nothing changed, and threads that changed are read again.
 */
const contents: readonly Content[] = [
  {
    kind: 'texts',
    table: 'warehouse.sms_messages',
    time: { table: 'warehouse.sms_messages', column: 'sent_at' },
    otherwise: sql`m.first_seen_at`,
    remove: (condition) => sql`
      with expired as materialized (
        select m.conversation_id, m.message_id from warehouse.sms_messages m
        where ${condition} and (num_nonnulls(m.body, m.extra) > 0
          or exists (select from secrets.links l where l.kind = 'file' and l.owner = ${ownerOf('m')}))
        order by m.conversation_id, m.message_id limit ${maxAtOnce} for update
      ), media as (
        delete from secrets.links l using expired e where l.kind = 'file' and l.owner = ${ownerOf('e')}
      )
      update warehouse.sms_messages m set body = null, extra = null, content_hash = '',
        body_length = coalesce(char_length(m.body), m.body_length),
        body_segment_count = coalesce(reporting.sms_segments(m.body), m.body_segment_count)
      from expired e where m.conversation_id = e.conversation_id and m.message_id = e.message_id returning 1`,
  },
  {
    kind: 'texts',
    table: 'ops.sends',
    time: { table: 'ops.sends', column: 'planned_at' },
    remove: (condition) => sql`
      update ops.sends set body = '' where send_id in (
        select m.send_id from ops.sends m
        where ${condition} and m.body <> '' and m.state in ('SENT', 'SKIPPED', 'REJECTED', 'NOT_SENT', 'DENIED', 'EXPIRED')
        order by m.send_id limit ${maxAtOnce} for update)
      returning 1`,
  },
  {
    kind: 'texts',
    table: 'ops.rule_actions',
    time: { table: 'ops.rule_actions', column: 'settled_at' },
    remove: (condition) => sql`
      update ops.rule_actions set argument = null where (run_id, ordinal) in (
        select m.run_id, m.ordinal from ops.rule_actions m
        where ${condition} and m.state = 'failed' and m.argument is not null
        order by m.run_id, m.ordinal limit ${maxAtOnce} for update)
      returning 1`,
  },
  {
    kind: 'transcripts',
    table: 'warehouse.transcripts',
    time: { table: 'warehouse.calls', column: 'started_at' },
    otherwise: startOf('t.call_id', 't.first_seen_at'),
    remove: (condition) => sql`
      with expired as materialized (
        select t.transcript_id from warehouse.transcripts t left join warehouse.calls m on m.call_id = t.call_id
        where ${condition} and (num_nonnulls(t.extra, ${words}) > 0
          or exists (select from warehouse.transcript_bodies b where b.transcript_id = t.transcript_id)
          or exists (select from warehouse.transcript_kpis k where k.transcript_id = t.transcript_id and k.kpi_note is not null))
        order by t.transcript_id limit ${maxAtOnce} for update of t
      ), bodies as (
        delete from warehouse.transcript_bodies b using expired e where b.transcript_id = e.transcript_id
      ), kpis as (
        update warehouse.transcript_kpis k set kpi_note = null from expired e where k.transcript_id = e.transcript_id
      )
      update warehouse.transcripts t set extra = null, ${sql.join(wordColumns.map((column) => sql`${sql.ref(column)} = null`))}
      from expired e where t.transcript_id = e.transcript_id returning 1`,
  },
  {
    kind: 'recordings',
    table: 'secrets.links',
    time: { table: 'warehouse.calls', column: 'started_at' },
    otherwise: startOf('r.owner', 'r.first_seen_at'),
    remove: (condition) => sql`
      delete from secrets.links where kind = 'recording' and (owner, part) in (
        select r.owner, r.part from secrets.links r left join warehouse.calls m on m.call_id = r.owner
        where r.kind = 'recording' and ${condition} order by r.owner, r.part limit ${maxAtOnce} for update of r)
      returning 1`,
  },
];

/** Removes the content that is older than RETENTION_DAYS, and deliveries that are older than the shortest of these. */
export function createRetention({ db, log, days }: { db: Database; log: Log; days: RetentionDays }) {
  /** Up to when each content was removed, minus a day, because the clocks of the writers may differ. */
  const removedUntil = new Map<Content, string>();

  async function removeExpired(removed: Record<string, number>, signal: AbortSignal): Promise<void> {
    for (const content of contents) {
      const kept = days[content.kind];
      if (kept === undefined) continue;
      const until = await instant(db, sql`clock_timestamp() - make_interval(hours => ${24 * kept})`);
      for await (const count of removeUntil(db, content, removedUntil.get(content), until)) {
        if (count > 0) removed[content.table] = (removed[content.table] ?? 0) + count;
        if (signal.aborted) return;
      }
      removedUntil.set(content, await instant(db, sql`${until}::timestamptz - interval '24 hours'`));
    }
    // Deliveries repeat the content of what they announce.
    const deliveries = await deleteExpired(db, Math.min(...Object.values(days)), signal);
    if (deliveries > 0) removed['ops.deliveries'] = deliveries;
  }

  return {
    /**
     * Removes expired content in short transactions and counts the rows by table. One process works at a time; the
     * others return at once. The first round visits everything, later ones what expired since the last round and the
     * day before.
     */
    async round(signal: AbortSignal): Promise<Removed> {
      if (Object.keys(days).length === 0) return {};
      const removed: Record<string, number> = {};
      await removeExpired(removed, signal).catch((error: unknown) => {
        if (!(error instanceof LeftToAnother)) throw error;
      });
      if (Object.keys(removed).length === 0) return removed;
      log.info({ removed }, 'Content that is older than RETENTION_DAYS was removed');
      return removed;
    },
  };
}

/** Another process is removing content. The lock is taken for each transaction, so that none stays open. */
class LeftToAnother extends Error {}

/** Removes content up to a moment and yields the count of each transaction. Throws {@link LeftToAnother}. */
async function* removeUntil(db: Database, content: Content, from: string | undefined, until: string) {
  const { time, otherwise, remove } = content;
  const at = sql.ref(`m.${time.column}`);
  async function* inBatches(condition: RawBuilder<unknown>) {
    for (let count = -1; count !== 0; ) {
      count = await inTransaction(db, async (tx) => {
        if (!(await tryLock(tx, 'retention'))) throw new LeftToAnother();
        return (await query(tx, remove(condition))).length;
      });
      yield count;
    }
  }
  if (otherwise) yield* inBatches(sql`${at} is null and ${otherwise} < ${until}::timestamptz`);
  // Day by day, so that no statement passes over all rows that are already done.
  for (let next = from ?? '-infinity'; ; ) {
    const [part] = await query(
      db,
      sql<{ from: string; to: string }>`
        select first::text as from, least(first + interval '24 hours', ${until}::timestamptz)::text as to from (
          select min(${at}) as first from ${sql.table(time.table)} m
          where ${at} >= ${next}::timestamptz and ${at} < ${until}::timestamptz) n
        where first is not null`,
    );
    if (!part) return;
    yield* inBatches(sql`${at} >= ${part.from}::timestamptz and ${at} < ${part.to}::timestamptz`);
    next = part.to;
  }
}

async function instant(db: Database, expression: RawBuilder<unknown>): Promise<string> {
  const [row] = await query(db, sql<{ at: string }>`select (${expression})::text as at`);
  if (!row) throw new Error('a time was not computed');
  return row.at;
}
