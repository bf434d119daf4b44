import { extract, maxReferences } from '../events/extract.ts';
import { type Database, inTransaction, query, type Transaction } from '../warehouse/database.ts';
import { ourLines } from '../warehouse/entities/directory/lines.ts';
import { bumpTargets, type Pauses } from './bumps.ts';
import { namedBy } from './deliveries.ts';
import { pointedAt } from './hints.ts';
import { locateMessages } from './messages.ts';
import { priorities, type Rank, type Ring, rankAmong, type Target, targetKinds, unconfirmed } from './target.ts';

/** A delivery as it was kept. */
export interface KeptDelivery {
  readonly id: string;
  readonly receivedAt: Date;
  readonly type: string | null;
  /** What the body says that it is. */
  readonly claimedType: string | null;
  readonly contentType: string | null;
  readonly userAgent: string | null;
  /** Each as `kind key`. */
  readonly targets: readonly string[];
  readonly isRecognized: boolean;
  readonly isErased: boolean;
  /** Secrets and URLs redacted; empty when it is erased. */
  readonly body: string;
}

const columns = `delivery_id as id, received_at as "receivedAt", event_type as type, claimed_type as "claimedType",
  content_type as "contentType", user_agent as "userAgent", targets, is_recognized as "isRecognized", is_erased as "isErased", body`;

/** Which deliveries are meant; no condition means all. */
export interface Selection {
  readonly isUnrecognized?: boolean | undefined;
  readonly type?: string | undefined;
  readonly since?: Date | undefined;
}

/** The newest deliveries of a selection, newest first. */
export function listDeliveries(db: Database, selection: Selection, limit: number): Promise<KeptDelivery[]> {
  return query(
    db,
    `select ${columns} from ops.deliveries
     where ($1::boolean is not true or not is_recognized) and ($2::text is null or event_type = $2)
       and ($3::timestamptz is null or received_at >= $3)
     order by delivery_id desc limit $4`,
    [selection.isUnrecognized ?? null, selection.type ?? null, selection.since?.toISOString() ?? null, limit],
  );
}

export async function findDelivery(db: Database, id: string): Promise<KeptDelivery | undefined> {
  const [found] = await query<KeptDelivery>(db, `select ${columns} from ops.deliveries where delivery_id = $1`, [id]);
  return found;
}

/** So many deliveries are worked on in one transaction, and so many bytes of them unless one has more. */
const atOnce = 1_000;
const bytesAtOnce = 8 * 1_048_576;

/** What came of going through deliveries again. */
export interface Reworked {
  readonly deliveries: number;
  /** Distinct targets per batch that were bumped. */
  readonly targets: number;
}

/** Where to work and whom to tell. */
export interface Desk {
  readonly db: Database;
  readonly pauses: Pauses;
  readonly onRings: (rings: readonly Ring[]) => void;
}

/** Bumps again what one delivery points at; undefined when there is no such delivery. */
export async function replayDelivery(desk: Desk, id: string): Promise<Reworked | undefined> {
  const found = await findDelivery(desk.db, id);
  if (!found) return undefined;
  const targets = found.targets.flatMap(targetFrom);
  const priority = rankAmong(targets.length);
  desk.onRings(
    await bumpTargets(
      desk.db,
      targets.map((target) => ({ ...target, priority })),
      desk.pauses,
    ),
  );
  return { deliveries: 1, targets: targets.length };
}

/** Bumps again what the deliveries since a moment point at, behind what happens now. */
export async function replaySince(desk: Desk, since: Date): Promise<Reworked> {
  return throughAll(desk, 'received_at >= $3', since.toISOString(), async (tx, deliveries) => {
    const targets = ranked(
      deliveries.map((each) => each.targets.flatMap(targetFrom)),
      priorities.history,
    );
    return { deliveries: deliveries.length, ...(await bump(tx, targets, desk.pauses)) };
  });
}

/** Which deliveries are read again, and how. */
export interface Reparsing {
  /** Also those that were recognized. */
  readonly isAll?: boolean | undefined;
  /** All references count, also beyond those that a delivery may name. */
  readonly isUnlimited?: boolean | undefined;
}

/**
 * Reads kept deliveries with today's extraction, and bumps what it now finds; those that were not recognized, or all.
 * Answers with how many are recognized that were not, or now point at something else.
 */
export function reparseDeliveries(desk: Desk, { isAll = false, isUnlimited = false }: Reparsing): Promise<Reworked> {
  const limit = isUnlimited ? Number.POSITIVE_INFINITY : maxReferences;
  return reparse(desk, '($3::boolean or not is_recognized)', isAll, limit);
}

/**
 * The same for those of the last seconds that were not recognized: a receipt can outrun the text that it names. A flood of
 * what nobody can read must not keep a worker busy: receipts are small, and the newest thousand are looked at.
 */
export function reparseLately(desk: Desk, seconds: number): Promise<Reworked> {
  return reparse(
    desk,
    `not is_recognized and targets = '{}' and received_at > now() - $3 * interval '1 second' and octet_length(body) <= ${largestReceipt}
       and delivery_id > coalesce((select delivery_id from ops.deliveries where not is_recognized
         order by delivery_id desc offset ${atOnce} limit 1), 0)`,
    seconds,
  );
}

const largestReceipt = 16_384;

async function reparse(desk: Desk, condition: string, parameter: unknown, limit = maxReferences): Promise<Reworked> {
  const lines = new Set(await ourLines(desk.db));
  return throughAll(desk, condition, parameter, async (tx, deliveries) => {
    const read = deliveries.map((delivery) => {
      const { hints, type, claimedType, isCut } = extract(
        {
          pathType: delivery.type ?? undefined,
          contentType: delivery.contentType ?? undefined,
          query: '',
          body: Buffer.from(delivery.body),
        },
        (number) => lines.has(number),
        limit,
      );
      return { delivery, type, claimedType, isCut, ...pointedAt(hints) };
    });
    const located = await locateMessages((text, parameters) => query(tx, text, parameters), read);
    const found = located.flatMap(({ delivery, type, claimedType, isCut, targets }) => {
      const names = targets.map(({ kind, key }) => `${kind} ${key}`);
      // One that was taken whole on request stays whole.
      const isNews = names.join(';') !== delivery.targets.join(';') && !(isCut && delivery.isRecognized);
      if (names.length === 0 || !isNews) return [];
      return [{ id: delivery.id, type, claimedType, isCut, targets, names, named: namedBy(targets) }];
    });
    if (found.length === 0) return { deliveries: 0, targets: 0, rings: [] };
    await query(
      tx,
      `update ops.deliveries d set is_recognized = not f.is_cut, targets = string_to_array(f.targets, ';'),
         event_type = coalesce(d.event_type, f.event_type), claimed_type = f.claimed_type, named = string_to_array(f.named, ';')
       from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[])
         as f (delivery_id, targets, event_type, claimed_type, named, is_cut)
       where d.delivery_id = f.delivery_id`,
      [
        found.map(({ id }) => id),
        found.map(({ names }) => names.join(';')),
        found.map(({ type }) => type ?? null),
        found.map(({ claimedType }) => claimedType ?? null),
        found.map(({ named }) => named.join(';')),
        found.map(({ isCut }) => isCut),
      ],
    );
    const targets = ranked(
      found.map((each) => each.targets),
      unconfirmed.alone,
    );
    return { deliveries: found.length, ...(await bump(tx, targets, desk.pauses)) };
  });
}

/** Removes one delivery; false when there is none. What it pointed at is not touched. */
export async function discardDelivery(db: Database, id: string): Promise<boolean> {
  const rows = await query(db, 'delete from ops.deliveries where delivery_id = $1 returning 1', [id]);
  return rows.length > 0;
}

/** How many deliveries {@link discardBefore} would remove. */
export async function countBefore(db: Database, moment: Date, isUnrecognized = false): Promise<number> {
  const [row] = await query<{ count: number }>(
    db,
    'select count(*)::int as count from ops.deliveries where received_at < $1 and (not $2 or not is_recognized)',
    [moment.toISOString(), isUnrecognized],
  );
  return row?.count ?? 0;
}

const discardedAtOnce = 10_000;

/**
 * Removes the deliveries before a moment, or of these those that could not be understood; some at a time, so that the inbox
 * is never locked for long.
 */
export async function discardBefore(db: Database, moment: Date, isUnrecognized = false): Promise<number> {
  for (let discarded = 0; ; ) {
    // Ids order arrivals, so the oldest are looked at and no more, however many are kept.
    const rows = await query(
      db,
      `delete from ops.deliveries where delivery_id in (
         select delivery_id from (select delivery_id, received_at from ops.deliveries where ${isUnrecognized ? 'not is_recognized' : 'true'} order by delivery_id limit $2) oldest
         where received_at < $1)
       returning 1`,
      [moment.toISOString(), discardedAtOnce],
    );
    discarded += rows.length;
    if (rows.length < discardedAtOnce) return discarded;
  }
}

/** Removes deliveries that were kept for so many days, by the clock of the database. Answers with how many. */
export async function endRetention(db: Database, days: number): Promise<number> {
  const [row] = await query<{ moment: Date }>(db, `select now() - $1 * interval '1 day' as moment`, [days]);
  return row ? discardBefore(db, row.moment) : 0;
}

/** Works through the kept deliveries that a condition on `$3` selects, oldest first, batch by batch. */
async function throughAll(
  { db, onRings }: Desk,
  condition: string,
  parameter: unknown,
  work: (tx: Transaction, deliveries: readonly KeptDelivery[]) => Promise<Reworked & { rings: readonly Ring[] }>,
): Promise<Reworked> {
  const total = { deliveries: 0, targets: 0 };
  for (let after = '0'; ; ) {
    const step = await inTransaction(db, async (tx) => {
      const deliveries = await query<KeptDelivery>(
        tx,
        `select ${columns} from (
           select *, sum(octet_length(body)) over (order by delivery_id) - octet_length(body) as bytes_before from (
             select * from ops.deliveries where delivery_id > $1 and not is_erased and ${condition}
             order by delivery_id limit $2) ahead) batch
         where bytes_before < $4 order by delivery_id`,
        [after, atOnce, parameter, bytesAtOnce],
      );
      return { last: deliveries.at(-1)?.id, outcome: await work(tx, deliveries) };
    });
    onRings(step.outcome.rings);
    total.deliveries += step.outcome.deliveries;
    total.targets += step.outcome.targets;
    if (step.last === undefined) return total;
    after = step.last;
  }
}

async function bump(tx: Transaction, targets: readonly (Target & { readonly priority: Rank })[], pauses: Pauses) {
  return { targets: targets.length, rings: await bumpTargets(tx, targets, pauses) };
}

/** What deliveries point at, each once: what came almost alone with the given priority, the rest as a crowd. */
function ranked(deliveries: readonly (readonly Target[])[], priority: Rank): (Target & { readonly priority: Rank })[] {
  const targets = new Map<string, Target & { readonly priority: Rank }>();
  for (const named of deliveries) {
    const rank = rankAmong(named.length) === unconfirmed.crowd ? unconfirmed.crowd : priority;
    for (const { kind, key } of named) {
      const id = `${kind} ${key}`;
      if ((targets.get(id)?.priority ?? Number.POSITIVE_INFINITY) > rank)
        targets.set(id, { kind, key, priority: rank });
    }
  }
  return [...targets.values()];
}

/** What stands in the inbox was written by us, perhaps by a release that knew other kinds. */
function targetFrom(name: string): Target[] {
  const [kind, key] = name.split(/ (.*)/s, 2);
  const known = targetKinds.find((each) => each === kind);
  return known === undefined || key === undefined ? [] : [{ kind: known, key }];
}
