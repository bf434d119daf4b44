import type { RawBuilder } from 'kysely';
import { type Database, inTransaction, query, relation, sql, type Transaction, unseen } from '../db/database.ts';
import { ourLines } from '../warehouse/lines.ts';
import { extract } from '../webhooks/extract.ts';
import { locateMessages, messagesNamedBy, targetsOf } from './deliveries.ts';
import {
  type DirtyTarget,
  type DueTarget,
  markDirty,
  priorities,
  type Rank,
  rankOf,
  type Target,
  targetId,
  targetOfId,
  unconfirmed,
} from './targets.ts';

/** A row of ops.deliveries. */
export interface StoredDelivery {
  readonly id: string;
  readonly receivedAt: Date;
  readonly type: string | null;
  /** The event type that the body claims. */
  readonly claimedType: string | null;
  readonly contentType: string | null;
  readonly userAgent: string | null;
  /** Each as `kind key`. */
  readonly targets: readonly string[];
  readonly isRecognized: boolean;
  readonly isErased: boolean;
  /** Without secrets and addresses. Empty if it was erased or couldn't be read. */
  readonly body: string;
  /** The bytes of a body that couldn't be read, as kept in `secrets.bodies`. */
  readonly unreadBytes: number | null;
}

const columns =
  sql.raw(`delivery_id as id, received_at as "receivedAt", event_type as type, claimed_type as "claimedType",
  content_type as "contentType", user_agent as "userAgent", targets, is_recognized as "isRecognized", is_erased as "isErased", body,
  (select octet_length(bytes) from secrets.bodies b where b.delivery_id = d.delivery_id) as "unreadBytes"`);

export async function findDelivery(db: Database, id: string): Promise<StoredDelivery | undefined> {
  const [found] = await query(
    db,
    sql<StoredDelivery>`select ${columns} from ops.deliveries d where delivery_id = ${id}`,
  );
  return found;
}

/** How many deliveries of one target are searched, and how many that name several. In a burst, later reads find the rest. */
const maxSearched = 500;

/** SQL: the deliveries of the last seconds that point at a target, newest first where there are too many. */
export function deliveriesOf(target: Target, seconds: number): RawBuilder<unknown> {
  const newest = (condition: RawBuilder<unknown>) => sql`(select received_at, event_type, claimed_type, targets, named
    from ops.deliveries where ${condition} and received_at > now() - ${sql.lit(seconds)} * interval '1 second'
    order by delivery_id desc limit ${sql.lit(maxSearched)})`;
  const id = targetId(target);
  return sql`(
    ${newest(sql`cardinality(targets) = 1 and targets[1] = ${unseen(id)}`)}
    union all select * from ${newest(sql`cardinality(targets) > 1`)} batches where ${unseen(id)} = any(targets)
  )`;
}

/** Limits of one transaction. A delivery larger than `maxBatchBytes` gets its own. */
const maxBatch = 1_000;
const maxBatchBytes = 8 * 1_048_576;

export interface ReplayResult {
  readonly deliveries: number;
  /** Targets that were marked dirty, each once per batch. */
  readonly targets: number;
}

export interface InboxDeps {
  readonly db: Database;
  readonly notify: (due: readonly DueTarget[]) => void;
}

/** Marks the targets of one delivery dirty; undefined when there is no such delivery. */
export async function replayDelivery({ db, notify }: InboxDeps, id: string): Promise<ReplayResult | undefined> {
  const found = await findDelivery(db, id);
  if (!found) return undefined;
  const targets = found.targets.flatMap((each) => targetOfId(each) ?? []);
  const priority = rankOf(targets.length);
  const dirty = targets.map((target) => ({ ...target, priority, deliveryId: id }));
  notify(await markDirty(db, dirty));
  return { deliveries: 1, targets: targets.length };
}

/** Marks the targets of all deliveries since a moment dirty. They are read after live targets. */
export async function replaySince(deps: InboxDeps, since: Date): Promise<ReplayResult> {
  return inBatches(deps, sql`received_at >= ${since}`, async (tx, deliveries) => {
    const targets = deliveries.map(({ id, targets }) => ({
      id,
      targets: targets.flatMap((each) => targetOfId(each) ?? []),
    }));
    const marked = await markRanked(tx, targets, priorities.history);
    return { deliveries: deliveries.length, ...marked };
  });
}

/**
 * Parses deliveries that weren't recognized again, with this release, and marks their targets dirty. Returns the number
 * of deliveries that are recognized now.
 */
export async function reparseDeliveries(deps: InboxDeps, signal?: AbortSignal): Promise<ReplayResult> {
  const lines = new Set(await ourLines(deps.db));
  const isOurLine = (number: string) => lines.has(number);
  const work = async (tx: Transaction, deliveries: readonly StoredDelivery[]) => {
    const unread = await query(
      tx,
      sql<{ id: string; bytes: Buffer }>`select delivery_id as id, bytes from secrets.bodies
       where delivery_id = any(${deliveries.map(({ id }) => id)}::bigint[])`,
    );
    const bytesOf = new Map(unread.map(({ id, bytes }) => [id, bytes]));
    const read = deliveries.map(({ id, type: stored, body }) => {
      const raw = { pathType: stored ?? undefined, query: '', body: bytesOf.get(id) ?? Buffer.from(body) };
      const { references, ...facts } = extract(raw, isOurLine);
      return { id, ...facts, ...targetsOf(references) };
    });
    const found = (await locateMessages(tx, read)).filter(
      ({ targets, isTruncated }) => targets.length > 0 && !isTruncated,
    );
    if (found.length === 0) return { deliveries: 0, targets: 0, due: [] };
    const columnsFound = relation('f', found, {
      delivery_id: ['bigint', ({ id }) => id],
      targets: ['text[]', ({ targets }) => targets.map(targetId)],
      event_type: ['text', ({ type }) => type],
      claimed_type: ['text', ({ claimedType }) => claimedType],
      named: ['text[]', ({ targets }) => messagesNamedBy(targets)],
      body: 'text',
    });
    await query(
      tx,
      sql`with read as (
         update ops.deliveries d set is_recognized = true, targets = f.targets, event_type = coalesce(d.event_type, f.event_type),
           claimed_type = f.claimed_type, named = f.named, body = f.body
         from ${columnsFound} where d.delivery_id = f.delivery_id returning d.delivery_id
       )
       delete from secrets.bodies b using read where b.delivery_id = read.delivery_id`,
    );
    return { deliveries: found.length, ...(await markRanked(tx, found, unconfirmed.single)) };
  };
  return inBatches(deps, sql`not is_recognized`, work, signal);
}

const maxDeleted = 10_000;

/** Deletes deliveries older than this, by the database's clock, in short transactions. Returns how many. */
export async function deleteExpired(db: Database, days: number, signal?: AbortSignal): Promise<number> {
  const [row] = await query(db, sql<{ moment: Date }>`select now() - ${days} * interval '1 day' as moment`);
  if (!row) return 0;
  await query(db, sql`delete from secrets.bodies where received_at < ${row.moment}`);
  for (let deleted = 0; ; ) {
    // Ids are in order of arrival, so this reads only the oldest rows, however many there are.
    const rows = await query(
      db,
      sql`delete from ops.deliveries where received_at < ${row.moment} and delivery_id in (
         select delivery_id from ops.deliveries order by delivery_id limit ${maxDeleted})
       returning 1`,
    );
    deleted += rows.length;
    if (rows.length < maxDeleted || signal?.aborted) return deleted;
  }
}

/** Runs `work` for the stored deliveries that a condition selects, oldest first, one transaction per batch. */
async function inBatches(
  { db, notify }: InboxDeps,
  condition: RawBuilder<unknown>,
  work: (
    tx: Transaction,
    deliveries: readonly StoredDelivery[],
  ) => Promise<ReplayResult & { due: readonly DueTarget[] }>,
  signal?: AbortSignal,
): Promise<ReplayResult> {
  const total = { deliveries: 0, targets: 0 };
  for (let after = '0'; ; ) {
    const batch = await inTransaction(db, async (tx) => {
      const deliveries = await query(
        tx,
        sql<StoredDelivery>`select ${columns} from (
           select *, sum(size) over (order by delivery_id) - size as bytes_before from (
             select *, octet_length(body) + coalesce((select octet_length(bytes) from secrets.bodies b
               where b.delivery_id = d.delivery_id), 0) as size
             from ops.deliveries d where delivery_id > ${after} and not is_erased and ${condition}
             order by delivery_id limit ${maxBatch}) ahead) d
         where bytes_before < ${maxBatchBytes} order by delivery_id`,
      );
      return { last: deliveries.at(-1)?.id, ...(await work(tx, deliveries)) };
    });
    notify(batch.due);
    total.deliveries += batch.deliveries;
    total.targets += batch.targets;
    if (batch.last === undefined || signal?.aborted) return total;
    after = batch.last;
  }
}

/**
 * Marks the targets of deliveries dirty, each once: with rank `bulk` for deliveries with many references, else
 * `priority`.
 */
async function markRanked(
  tx: Transaction,
  deliveries: readonly { readonly id: string; readonly targets: readonly Target[] }[],
  priority: Rank,
): Promise<{ targets: number; due: readonly DueTarget[] }> {
  const ranked = new Map<string, DirtyTarget & { readonly priority: Rank }>();
  for (const { id: deliveryId, targets } of deliveries) {
    const rank = rankOf(targets.length) === unconfirmed.bulk ? unconfirmed.bulk : priority;
    for (const target of targets) {
      const id = targetId(target);
      if ((ranked.get(id)?.priority ?? Number.POSITIVE_INFINITY) > rank) {
        ranked.set(id, { ...target, priority: rank, deliveryId });
      }
    }
  }
  return { targets: ranked.size, due: await markDirty(tx, [...ranked.values()]) };
}
