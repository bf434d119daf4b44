import type { RawBuilder } from 'kysely';
import { type Database, inTransaction, query, relation, sql, type Transaction } from '../db/database.ts';
import { ourLines } from '../warehouse/lines.ts';
import { extract, isUnread, maxReferences } from '../webhooks/extract.ts';
import { locateMessages, messagesNamedBy, targetsOf } from './deliveries.ts';
import { dropPartitions } from './partitions.ts';
import {
  type DirtyTarget,
  type DueTarget,
  markDirty,
  priorities,
  type Rank,
  type ReadPauses,
  rankOf,
  type Target,
  targetKinds,
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
  /** Without secrets and URLs; empty when it is erased. */
  readonly body: string;
}

const columns =
  sql.raw(`delivery_id as id, received_at as "receivedAt", event_type as type, claimed_type as "claimedType",
  content_type as "contentType", user_agent as "userAgent", targets, is_recognized as "isRecognized", is_erased as "isErased", body`);

/** Returns the newest deliveries that meet all given conditions, newest first. */
export function listDeliveries(
  db: Database,
  {
    isUnrecognized = false,
    type,
    since,
  }: { isUnrecognized?: boolean | undefined; type?: string | undefined; since?: Date | undefined },
  limit: number,
): Promise<StoredDelivery[]> {
  return query(
    db,
    sql<StoredDelivery>`select ${columns} from ops.deliveries
     where (not ${isUnrecognized}::boolean or not is_recognized) and (${type ?? null}::text is null or event_type = ${type ?? null})
       and (${since ?? null}::timestamptz is null or received_at >= ${since ?? null})
     order by delivery_id desc limit ${limit}`,
  );
}

export async function findDelivery(db: Database, id: string): Promise<StoredDelivery | undefined> {
  const [found] = await query(db, sql<StoredDelivery>`select ${columns} from ops.deliveries where delivery_id = ${id}`);
  return found;
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
  readonly pauses: ReadPauses;
  readonly notify: (due: readonly DueTarget[]) => void;
}

/** Marks the targets of one delivery dirty; undefined when there is no such delivery. */
export async function replayDelivery({ db, pauses, notify }: InboxDeps, id: string): Promise<ReplayResult | undefined> {
  const found = await findDelivery(db, id);
  if (!found) return undefined;
  const targets = found.targets.flatMap(parseTarget);
  const priority = rankOf(targets.length);
  const dirty = targets.map((target) => ({ ...target, priority, deliveryId: id }));
  notify(await markDirty(db, dirty, pauses));
  return { deliveries: 1, targets: targets.length };
}

/** Marks the targets of all deliveries since a moment dirty, to be read after live targets. */
export async function replaySince(deps: InboxDeps, since: Date): Promise<ReplayResult> {
  return inBatches(deps, sql`received_at >= ${since}`, async (tx, deliveries) => {
    const targets = deliveries.map(({ id, targets }) => ({ id, targets: targets.flatMap(parseTarget) }));
    const marked = await markRanked(tx, targets, priorities.history, deps.pauses);
    return { deliveries: deliveries.length, ...marked };
  });
}

/**
 * Extracts references from stored deliveries again with this release, and marks their targets dirty. Counts the deliveries
 * whose targets changed. `isAll` includes recognized deliveries; `isUnlimited` takes more than `maxReferences` of each.
 */
export function reparseDeliveries(
  deps: InboxDeps,
  { isAll = false, isUnlimited = false }: { isAll?: boolean | undefined; isUnlimited?: boolean | undefined },
): Promise<ReplayResult> {
  const limit = isUnlimited ? Number.POSITIVE_INFINITY : maxReferences;
  return reparse(deps, isAll ? sql`true` : sql`not is_recognized`, { limit });
}

const maxReceiptBytes = 16_384;

/**
 * Reparses unrecognized deliveries of the last seconds: a receipt can arrive before the text that it names. Forged deliveries
 * must not keep a worker busy, so it reads only the newest thousand, and only bodies small enough for receipts.
 */
export function reparseRecentReceipts(deps: InboxDeps, seconds: number, signal?: AbortSignal): Promise<ReplayResult> {
  const isRecentReceipt = sql`not is_recognized and targets = '{}' and received_at > now() - ${seconds} * interval '1 second'
    and octet_length(body) <= ${maxReceiptBytes}
    and delivery_id > coalesce((select delivery_id from ops.deliveries
      where not is_recognized and received_at > now() - ${seconds} * interval '1 second' order by delivery_id desc offset ${maxBatch} limit 1), 0)`;
  return reparse(deps, isRecentReceipt, { signal });
}

async function reparse(
  deps: InboxDeps,
  condition: RawBuilder<unknown>,
  { limit = maxReferences, signal }: { limit?: number; signal?: AbortSignal | undefined },
): Promise<ReplayResult> {
  const lines = new Set(await ourLines(deps.db));
  const isOurLine = (number: string) => lines.has(number);
  const work = async (tx: Transaction, deliveries: readonly StoredDelivery[]) => {
    const read = deliveries.map((delivery) => {
      const raw = { pathType: delivery.type ?? undefined, query: '', body: Buffer.from(delivery.body) };
      const { references, type, claimedType, isTruncated, body } = extract(raw, isOurLine, limit);
      // Bytes that this release can read are redacted like any other body.
      const opened = isUnread(delivery.body) && !isUnread(body) ? body : undefined;
      return { delivery, id: delivery.id, type, claimedType, isTruncated, opened, ...targetsOf(references) };
    });
    const found = (await locateMessages(tx, read)).flatMap(({ delivery, ...each }) => {
      const names = each.targets.map(({ kind, key }) => `${kind} ${key}`);
      // Must not truncate a delivery again that was reparsed without a limit.
      const hasChanged = names.join(';') !== delivery.targets.join(';') && !(each.isTruncated && delivery.isRecognized);
      return names.length === 0 || !hasChanged ? [] : [{ ...each, names }];
    });
    if (found.length === 0) return { deliveries: 0, targets: 0, due: [] };
    const columnsFound = relation('f', found, {
      delivery_id: ['bigint', ({ id }) => id],
      targets: ['text', ({ names }) => names.join(';')],
      event_type: ['text', ({ type }) => type],
      claimed_type: ['text', ({ claimedType }) => claimedType],
      named: ['text', ({ targets }) => messagesNamedBy(targets).join(';')],
      is_cut: ['boolean', ({ isTruncated }) => isTruncated],
      opened: ['text', ({ opened }) => opened],
    });
    await query(
      tx,
      sql`update ops.deliveries d set is_recognized = not f.is_cut, targets = string_to_array(f.targets, ';'),
         event_type = coalesce(d.event_type, f.event_type), claimed_type = f.claimed_type, named = string_to_array(f.named, ';'),
         body = coalesce(f.opened, d.body)
       from ${columnsFound} where d.delivery_id = f.delivery_id`,
    );
    return { deliveries: found.length, ...(await markRanked(tx, found, unconfirmed.single, deps.pauses)) };
  };
  return inBatches(deps, condition, work, signal);
}

/** Deletes one delivery, but not its targets; false when there is none. */
export async function discardDelivery(db: Database, id: string): Promise<boolean> {
  const rows = await query(db, sql`delete from ops.deliveries where delivery_id = ${id} returning 1`);
  return rows.length > 0;
}

/** How many deliveries {@link discardBefore} would delete. */
export async function countBefore(db: Database, moment: Date, isUnrecognized = false): Promise<number> {
  const [row] = await query(
    db,
    sql<{ count: number }>`select count(*)::int as count from ops.deliveries
     where received_at < ${moment} and (not ${isUnrecognized}::boolean or not is_recognized)`,
  );
  return row?.count ?? 0;
}

const maxDiscarded = 10_000;

/** Deletes deliveries before a moment, all or only unrecognized ones, in short transactions. Returns how many. */
export function discardBefore(
  db: Database,
  moment: Date,
  isUnrecognized = false,
  signal?: AbortSignal,
): Promise<number> {
  return discardFrom(db, 'ops.deliveries', moment, isUnrecognized ? sql`not is_recognized` : sql`true`, signal);
}

async function discardFrom(
  db: Database,
  name: 'ops.deliveries' | 'ops.deliveries_other',
  moment: Date,
  condition: RawBuilder<unknown>,
  signal?: AbortSignal,
): Promise<number> {
  const table = sql.table(name);
  for (let discarded = 0; ; ) {
    // Ids are in order of arrival, so this reads only the oldest rows, however many there are.
    const rows = await query(
      db,
      sql`delete from ${table} where received_at < ${moment} and delivery_id in (
         select delivery_id from (
           select delivery_id, received_at from ${table} where ${condition} order by delivery_id limit ${maxDiscarded}
         ) oldest where received_at < ${moment})
       returning 1`,
    );
    discarded += rows.length;
    if (rows.length < maxDiscarded || signal?.aborted) return discarded;
  }
}

/**
 * Deletes deliveries older than this, by the database's clock, and returns how many. Drops whole partitions: those of the day that
 * is just expiring are kept until it is over, unless `isExact`.
 */
export async function deleteExpired(
  db: Database,
  days: number,
  { isExact = false, signal }: { isExact?: boolean; signal?: AbortSignal } = {},
): Promise<number> {
  const [row] = await query(db, sql<{ moment: Date }>`select now() - ${days} * interval '1 day' as moment`);
  if (!row) return 0;
  const dropped = await dropPartitions(db, row.moment, signal);
  const rest = isExact ? 'ops.deliveries' : 'ops.deliveries_other';
  return dropped + (await discardFrom(db, rest, row.moment, sql`true`, signal));
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
           select *, sum(octet_length(body)) over (order by delivery_id) - octet_length(body) as bytes_before from (
             select * from ops.deliveries where delivery_id > ${after} and not is_erased and ${condition}
             order by delivery_id limit ${maxBatch}) ahead) batch
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

/** Marks the targets of deliveries dirty, each once: with rank `bulk` those of deliveries with many references, else `priority`. */
async function markRanked(
  tx: Transaction,
  deliveries: readonly { readonly id: string; readonly targets: readonly Target[] }[],
  priority: Rank,
  pauses: ReadPauses,
): Promise<{ targets: number; due: readonly DueTarget[] }> {
  const ranked = new Map<string, DirtyTarget & { readonly priority: Rank }>();
  for (const { id: deliveryId, targets } of deliveries) {
    const rank = rankOf(targets.length) === unconfirmed.bulk ? unconfirmed.bulk : priority;
    for (const { kind, key } of targets) {
      const id = `${kind} ${key}`;
      if ((ranked.get(id)?.priority ?? Number.POSITIVE_INFINITY) > rank) {
        ranked.set(id, { kind, key, priority: rank, deliveryId });
      }
    }
  }
  return { targets: ranked.size, due: await markDirty(tx, [...ranked.values()], pauses) };
}

/** Parses `kind key`; empty for a kind that only another release knows. */
function parseTarget(name: string): Target[] {
  const [kind, key] = name.split(/ (.*)/s, 2);
  const known = targetKinds.find((each) => each === kind);
  return known === undefined || key === undefined ? [] : [{ kind: known, key }];
}
