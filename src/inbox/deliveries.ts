import {
  type Database,
  type OpenDatabase,
  preparedName,
  query,
  relation,
  retryDeadlock,
  sql,
  type Transaction,
} from '../db/database.ts';
import { createBatch } from '../shared/batch.ts';
import { type Thread, threadKey } from '../shared/thread.ts';
import type { CallReference, MessageReference, Reference, ThreadReference } from '../webhooks/references.ts';
import type { AcceptedTargets } from './accepted-targets.ts';
import {
  type DueTarget,
  type DueTargetRow,
  dueTargetsOf,
  markingDirty,
  type Rank,
  rankOf,
  type Target,
  targetId,
} from './targets.ts';

/** A delivery to store. */
export interface Delivery {
  /** The event type that the address names. */
  readonly eventType: string | undefined;
  readonly claimedType: string | undefined;
  readonly contentType: string | undefined;
  readonly userAgent: string | undefined;
  /** Redacted, and storable as Postgres text. */
  readonly body: string;
  /** A body without references, as it arrived, to be stored in the schema `secrets`. */
  readonly unread?: Buffer | undefined;
  /** It mentions somebody who was erased, so its bodies were removed. */
  readonly isErased?: boolean;
  readonly targets: readonly ReferencedTarget[];
  /** Texts that it names only by id. */
  readonly messageIds?: readonly string[];
  /** It has more references than are taken from one delivery, so it is stored as not recognized. */
  readonly isTruncated?: boolean;
}

/** The hashes of erased numbers, in memory: each delivery is compared with them before it is stored. */
export interface ErasedNumbers {
  readonly hasAny: boolean;
  /** The erasures known here, by `ops.erasures_state`; `ops.knows_erasures` compares it. */
  readonly newest: string;
  /** Removes body and threads from deliveries about somebody who was erased. */
  redact(deliveries: readonly Delivery[]): Promise<readonly Delivery[]>;
  refresh(): Promise<void>;
}

/** A target that a delivery points at. */
export interface ReferencedTarget extends Target {
  /** Seconds from now: an earlier read would find nothing. */
  readonly afterSeconds?: number;
  /** Of a thread: the text that is new. */
  readonly messageId?: string;
}

/** The texts that targets name, in the format of `ops.deliveries.named`. */
export function messagesNamedBy(targets: readonly ReferencedTarget[]): string[] {
  const named = targets.flatMap(({ key, messageId }) => (messageId === undefined ? [] : [`${key} ${messageId}`]));
  return [...new Set(named)];
}

/** A committed delivery. */
export interface Accepted {
  /** Its id in `ops.deliveries`. */
  readonly id: string;
  /** How many targets it points at. */
  readonly targets: number;
}

export interface Inbox {
  /**
   * Commits the delivery and marks its targets dirty, in one transaction. A delivery without references, or with too
   * many, is stored as not recognized. Rejects when the commit isn't certain: the sender must repeat it, which is
   * harmless.
   */
  accept(delivery: Delivery): Promise<Accepted>;
  /** Deliveries waiting for their commit. */
  readonly waiting: number;
  idle(): Promise<void>;
}

/** The answer to the statement that stores a batch. */
interface Stored {
  /** The ids of the deliveries, in the order of the batch. */
  readonly ids: readonly string[];
  readonly due: readonly DueTargetRow[];
}

/** The error code of `ops.knows_erasures`. */
const erasuresUnknown = 'TL001';
const maxTries = 3;

/** Two flushes at a time keep Postgres busy while the next batch gathers. */
const batching = { inFlight: 2, max: 1_000 };

/**
 * Commits deliveries in micro-batches and calls `notify` with the due targets after each commit. `erased` redacts
 * deliveries about people who were erased, and `accepted` remembers the targets of the others.
 */
export function createInbox(
  { db, pool }: Pick<OpenDatabase, 'db' | 'pool'>,
  notify: (due: readonly DueTarget[]) => void,
  {
    erased,
    accepted,
  }: {
    readonly erased?: Pick<ErasedNumbers, 'hasAny' | 'newest' | 'redact' | 'refresh'>;
    readonly accepted?: Pick<AcceptedTargets, 'add'>;
  } = {},
): Inbox {
  const batch = createBatch<Delivery, Accepted>(async (given) => {
    const located = await locateMessages(db, given);
    const { ids, due } = await withCurrentErasures(async (newest) => {
      const redacted = erased?.hasAny ? await erased.redact(located) : located;
      const stored = await store(redacted, located, newest);
      accepted?.add(redacted.flatMap(({ targets }) => targets));
      return stored;
    });
    notify(dueTargetsOf(due));
    return located.map(({ targets }, at) => ({ id: ids[at] ?? '', targets: targets.length }));
  }, batching);

  /** Commits redacted deliveries. Whether one is recognized depends on its targets before redaction (`located`). */
  async function store(
    deliveries: readonly Delivery[],
    located: readonly Delivery[],
    newestErasure: string | undefined,
  ): Promise<Stored> {
    const statement = insertStatement(deliveries, { located, newestErasure }).compile(db);
    // Prepared by name, as `hotQuery` does. The fault tests look for this name in the traffic.
    const name = preparedName(statement.sql, 'accept-deliveries');
    const prepared = { name, text: statement.sql, values: [...statement.parameters] };
    const { rows } = await retryDeadlock(() => pool.query<Stored>(prepared));
    const [row] = rows;
    if (row?.ids.length !== deliveries.length) throw new Error('Postgres did not return the id of each delivery');
    return row;
  }

  /** The statement fails if somebody was erased since the last refresh: refresh and repeat. */
  async function withCurrentErasures(work: (newest: string | undefined) => Promise<Stored>): Promise<Stored> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await work(erased?.newest);
      } catch (error) {
        const isStale = error instanceof Error && 'code' in error && error.code === erasuresUnknown;
        if (!erased || !isStale || tries === maxTries) throw error;
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

interface BatchTarget extends ReferencedTarget {
  readonly rank: Rank;
  /** The place in the batch of the first delivery that points at it. */
  readonly place: number;
}

/** The targets of a batch, each once: a read that starts after the commit covers all references to its target. */
function referencedBy(deliveries: readonly Delivery[]): BatchTarget[] {
  const referenced = new Map<string, BatchTarget>();
  for (const [place, { targets }] of deliveries.entries()) {
    const rank = rankOf(targets.length);
    for (const target of targets) {
      const id = targetId(target);
      const held = referenced.get(id);
      const isSooner = !held || (held.afterSeconds ?? 0) > (target.afterSeconds ?? 0);
      if (isSooner || held.rank > rank) {
        const both = { place: held?.place ?? place, rank: held && held.rank < rank ? held.rank : rank };
        referenced.set(id, { ...(isSooner ? target : held), ...both });
      }
    }
  }
  return [...referenced.values()];
}

function insertStatement(
  deliveries: readonly Delivery[],
  context: { located: readonly Delivery[]; newestErasure: string | undefined },
) {
  const rows = deliveries.map((each, at) => ({
    ...each,
    isRecognized: (context.located[at]?.targets.length ?? 0) > 0 && !each.isTruncated,
  }));
  const received = relation(
    'r',
    rows,
    {
      event_type: ['text', (each) => each.eventType],
      claimed_type: ['text', (each) => each.claimedType],
      content_type: ['text', (each) => each.contentType],
      user_agent: ['text', (each) => each.userAgent],
      body: 'text',
      unread: ['text', (each) => each.unread?.toString('base64')],
      targets: ['text[]', (each) => each.targets.map(targetId)],
      named: ['text[]', (each) => messagesNamedBy(each.targets)],
      is_recognized: ['boolean', (each) => each.isRecognized],
      is_erased: ['boolean', (each) => each.isErased === true],
    },
    'place',
  );
  const referenced = relation('h', referencedBy(deliveries), {
    kind: 'text',
    key: 'text',
    after_seconds: ['double precision', ({ afterSeconds }) => afterSeconds ?? 0],
    priority: ['smallint', ({ rank }) => rank],
    place: ['integer', ({ place }) => place + 1],
  });
  // Ids are given in the order of insertion.
  return sql<Stored>`
    with received as (
      select * from ${received}
    ), stored as (
      insert into ops.deliveries (event_type, claimed_type, content_type, user_agent, body, targets, named, is_recognized, is_erased)
      select event_type, claimed_type, content_type, user_agent, body, targets, named, is_recognized, is_erased
      from received where ops.knows_erasures(${context.newestErasure ?? null}) order by place
      returning delivery_id
    ), accepted as (
      select array_agg(delivery_id order by delivery_id) as ids from stored
    ), kept as (
      insert into secrets.bodies (delivery_id, bytes)
      select ids[place], decode(unread, 'base64') from accepted, received where unread is not null
    ), referenced as (
      select kind, key, after_seconds, priority, ids[place] as delivery_id from accepted, ${referenced}
    ), ${sql.raw(markingDirty())}
    select ids, (select coalesce(json_agg(due), '[]') from due) as due from accepted`;
}

/** A ringing call isn't in call history yet. */
const liveCallSeconds = 60;

/** The targets of references, and the ids of texts whose threads the mirror may know. */
export function targetsOf(references: readonly Reference[]): {
  readonly targets: readonly ReferencedTarget[];
  readonly messageIds: readonly string[];
} {
  const messages = references.filter((each): each is MessageReference => each.kind === 'message');
  return {
    targets: references.flatMap((each) => (each.kind === 'message' ? [] : [targetOf(each)])),
    messageIds: messages.map(({ messageId }) => messageId),
  };
}

function targetOf(reference: ThreadReference | CallReference): ReferencedTarget {
  if (reference.kind === 'thread') {
    const { messageId } = reference;
    return { kind: 'thread', key: threadKey(reference), ...(messageId !== undefined && { messageId }) };
  }
  const { callId, why } = reference;
  if (why === 'transcript') return { kind: 'transcripts', key: callId };
  return { kind: 'call', key: callId, ...(why === 'live' && { afterSeconds: liveCallSeconds }) };
}

/**
 * Finds threads for deliveries that name texts only by id: those in which the mirror holds the texts. The API can't
 * read a text by its id (section 4.2). A text that isn't mirrored yet adds nothing.
 */
export async function locateMessages<
  D extends { targets: readonly ReferencedTarget[]; messageIds?: readonly string[] },
>(db: Database | Transaction, deliveries: readonly D[]): Promise<readonly D[]> {
  const messageIds = deliveries.flatMap((each) => each.messageIds ?? []);
  if (messageIds.length === 0) return deliveries;
  const rows = await query(
    db,
    sql<Thread & { message_id: string }>`select m.message_id, c.line, c.number, c.participants
     from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id)
     where m.message_id = any(${messageIds}::bigint[]) order by m.message_id, c.conversation_id`,
  );
  const threads = Map.groupBy(rows, (row) => row.message_id);
  return deliveries.map((each) => {
    const found = (each.messageIds ?? []).flatMap((messageId) =>
      (threads.get(messageId) ?? []).map((thread) => ({ kind: 'thread', key: threadKey(thread), messageId }) as const),
    );
    return found.length === 0 ? each : { ...each, targets: [...each.targets, ...found] };
  });
}
