import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { createBatch } from '../batch.ts';
import { retryDeadlock } from '../warehouse/database.ts';
import { bumpStatement, type Pauses, type RingRow, ringsOf } from './bumps.ts';
import type { ErasedNumbers } from './erased.ts';
import { locateMessages } from './messages.ts';
import { type Rank, type Ring, rankAmong, type Target } from './target.ts';

/** One webhook request, as it is kept. */
export interface Delivery {
  /** Event type of the address; undefined when the address names none. */
  readonly eventType: string | undefined;
  readonly claimedType: string | undefined;
  readonly contentType: string | undefined;
  readonly userAgent: string | undefined;
  /** Redacted, and storable as Postgres text. */
  readonly body: string;
  /** Empty when the delivery tells of somebody who was erased. */
  readonly fingerprint: string;
  readonly targets: readonly DueTarget[];
  /** Texts that it names by their ids alone. */
  readonly messageIds?: readonly string[];
  /** It names more than was taken of it, and so is kept as not understood. */
  readonly isCut?: boolean;
}

/** What a delivery points at, and how long a read of it is of no use yet. */
export interface DueTarget extends Target {
  readonly afterSeconds?: number;
  /** Of a thread: the text that is news. */
  readonly messageId?: string;
}

/** The texts that targets name, as `ops.deliveries.named` keeps them. */
export function namedBy(targets: readonly DueTarget[]): string[] {
  const named = targets.flatMap(({ key, messageId }) => (messageId === undefined ? [] : [`${key} ${messageId}`]));
  return [...new Set(named)];
}

export interface Inbox {
  /**
   * Commits the delivery and the targets that it points at, in one transaction, and then resolves to how many these are;
   * one that points at nothing, or that names more than was taken of it, is kept as not recognized. Rejects when that is not certain: the sender must be told to
   * repeat, which is harmless.
   */
  accept(delivery: Delivery): Promise<number>;
  /** Deliveries that wait for their commit. */
  readonly waiting: number;
  idle(): Promise<void>;
}

/** What `ops.knows_erasures` fails with. */
const erasedSince = 'TL001';
const mostTries = 3;

/** Two flushes at once keep Postgres busy while the next batch gathers. */
const batching = { inFlight: 2, most: 1_000 };

/**
 * Deliveries are committed in natural micro-batches; `onRings` gets the bells to ring after each commit. `erased` keeps
 * out what they tell of people who were erased.
 */
export function createInbox(
  pool: Pool,
  pauses: Pauses,
  onRings: (rings: readonly Ring[]) => void,
  erased?: Pick<ErasedNumbers, 'hasAny' | 'newest' | 'clear' | 'refresh'>,
): Inbox {
  // One string joined by something that no body can foresee reaches Postgres faster than an array parameter.
  const separator = `\u001e${randomUUID()}\u001e`;
  const text = insertStatement(pauses);

  const batch = createBatch<Delivery, number>(async (given) => {
    const located = await locateMessages(
      async (sql, parameters) => (await pool.query(sql, [...parameters])).rows,
      given,
    );
    const rows = await knowingErasures(async (newest) =>
      store(erased?.hasAny ? await erased.clear(located) : located, located, newest),
    );
    onRings(ringsOf(rows));
    return located.map(({ targets }) => targets.length);
  }, batching);

  /** Commits deliveries as they may be kept; `located` tells how they came. */
  async function store(
    deliveries: readonly Delivery[],
    located: readonly Delivery[],
    newestErasure: string | undefined,
  ): Promise<RingRow[]> {
    const hinted = hintedBy(deliveries);
    const column = (pick: (delivery: Delivery) => string | undefined) =>
      deliveries.map((each) => pick(each) ?? '').join(separator);
    const values = [
      separator,
      column((each) => each.eventType),
      column((each) => each.claimedType),
      column((each) => each.contentType),
      column((each) => each.userAgent),
      column((each) => each.body),
      column((each) => each.fingerprint),
      column((each) => each.targets.map(({ kind, key }) => `${kind} ${key}`).join(';')),
      located.map(({ targets, isCut }) => (targets.length > 0 && !isCut ? 't' : 'f')).join(separator),
      hinted.map(({ kind }) => kind).join(';'),
      hinted.map(({ key }) => key).join(';'),
      hinted.map(({ afterSeconds }) => afterSeconds ?? 0).join(';'),
      newestErasure ?? null,
      column((each) => namedBy(each.targets).join(';')),
      hinted.map(({ rank }) => rank).join(';'),
    ];
    const { rows } = await retryDeadlock(() => pool.query<RingRow>({ name: 'accept-deliveries', text, values }));
    return rows;
  }

  /** Somebody can have been erased since we last asked: then nothing was stored, and we ask and store again. */
  async function knowingErasures(work: (newest: string | undefined) => Promise<RingRow[]>): Promise<RingRow[]> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await work(erased?.newest);
      } catch (error) {
        const isStale = error instanceof Error && 'code' in error && error.code === erasedSince;
        if (!erased || !isStale || tries === mostTries) throw error;
        await erased.refresh();
      }
    }
  }

  return {
    accept: (delivery) => batch.add(delivery),
    get waiting() {
      return batch.waiting;
    },
    idle: () => batch.idle(),
  };
}

// A burst on one target bumps it once per batch: what counts is that a read begins after the last hint's commit.
function hintedBy(deliveries: readonly Delivery[]): (DueTarget & { readonly rank: Rank })[] {
  const hinted = new Map<string, DueTarget & { readonly rank: Rank }>();
  for (const { targets } of deliveries) {
    const rank = rankAmong(targets.length);
    for (const target of targets) {
      const id = `${target.kind} ${target.key}`;
      const held = hinted.get(id);
      const isSooner = !held || (held.afterSeconds ?? 0) > (target.afterSeconds ?? 0);
      if (isSooner || held.rank > rank) {
        hinted.set(id, { ...(isSooner ? target : held), rank: held && held.rank < rank ? held.rank : rank });
      }
    }
  }
  return [...hinted.values()];
}

// string_to_array answers an empty array for an empty string, hence the coalesce around the body and the other columns.
function insertStatement(pauses: Pauses): string {
  return `
    with received as (
      select * from unnest(
        string_to_array($2, $1, ''), string_to_array($3, $1, ''), string_to_array($4, $1, ''), string_to_array($5, $1, ''),
        string_to_array($6, $1), string_to_array($7, $1), string_to_array($8, $1), string_to_array($9, $1), string_to_array($14, $1)
      ) as r (event_type, claimed_type, content_type, user_agent, body, body_hash, targets, is_recognized, named)
    ), stored as (
      insert into ops.deliveries (event_type, claimed_type, content_type, user_agent, body, body_hash, targets, is_recognized, is_erased, named)
      select event_type, claimed_type, content_type, user_agent, coalesce(body, ''), coalesce(body_hash, ''),
        string_to_array(coalesce(targets, ''), ';'), is_recognized::boolean, coalesce(body_hash, '') = '',
        string_to_array(coalesce(named, ''), ';')
      from received where ops.knows_erasures($13)
    ), hinted as (
      select kind, key, after_seconds::float8, priority::smallint from unnest(string_to_array($10, ';'), string_to_array($11, ';'),
        string_to_array($12, ';'), string_to_array($15, ';')) as h (kind, key, after_seconds, priority)
    ), ${bumpStatement(pauses)}`;
}
