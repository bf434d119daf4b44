import { randomUUID } from 'node:crypto';
import {
  type Database,
  type OpenDatabase,
  preparedName,
  query,
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
  type ReadPauses,
  rankOf,
  type Target,
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
  /** Empty if the delivery is about somebody who was erased. */
  readonly fingerprint: string;
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
  /** Removes body, fingerprint and threads from deliveries about somebody who was erased. */
  redact(deliveries: readonly Delivery[]): Promise<readonly Delivery[]>;
  refresh(): Promise<void>;
  stop(): Promise<void>;
}

/** A target that a delivery points at. */
export interface ReferencedTarget extends Target {
  /** A read before that would find nothing. */
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
   * Commits the delivery and marks its targets dirty, in one transaction. A delivery without references, or with too many, is
   * stored as not recognized. Rejects when the commit is not certain: the sender must repeat it, which is harmless.
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
 * Commits deliveries in micro-batches and calls `notify` with the due targets after each commit. `erased` redacts deliveries
 * about people who were erased, and `accepted` remembers the targets of the others.
 */
export function createInbox(
  { db, pool }: Pick<OpenDatabase, 'db' | 'pool'>,
  pauses: ReadPauses,
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

  /** Commits redacted deliveries. Whether one is recognized depends on its targets before the redaction (`located`). */
  async function store(
    deliveries: readonly Delivery[],
    located: readonly Delivery[],
    newestErasure: string | undefined,
  ): Promise<Stored> {
    const statement = insertStatement(deliveries, { located, newestErasure, pauses }).compile(db);
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
      const id = `${target.kind} ${target.key}`;
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

const separator = `\u001e${randomUUID()}\u001e`;

/**
 * Like `relation`, for text columns. A string joined by a random separator is faster to send and to parse than an array
 * parameter. If there is one row and its value is empty, the column is null.
 */
function joined<Row>(
  name: string,
  rows: readonly Row[],
  columns: Readonly<Record<string, (row: Row, at: number) => string | number | boolean | undefined>>,
) {
  const arrays = Object.values(columns).map(
    (value) => sql`string_to_array(${rows.map((row, at) => value(row, at) ?? '').join(separator)}, ${separator})`,
  );
  return sql`unnest(${sql.join(arrays)}) ${sql.raw(`as ${name} (${Object.keys(columns).join(', ')})`)}`;
}

function insertStatement(
  deliveries: readonly Delivery[],
  context: { located: readonly Delivery[]; newestErasure: string | undefined; pauses: ReadPauses },
) {
  const received = joined('r', deliveries, {
    event_type: (each) => each.eventType,
    claimed_type: (each) => each.claimedType,
    content_type: (each) => each.contentType,
    user_agent: (each) => each.userAgent,
    body: (each) => each.body,
    body_hash: (each) => each.fingerprint,
    targets: (each) => each.targets.map(({ kind, key }) => `${kind} ${key}`).join(';'),
    named: (each) => messagesNamedBy(each.targets).join(';'),
    is_recognized: (each, at) => (context.located[at]?.targets.length ?? 0) > 0 && !each.isTruncated,
  });
  const referenced = joined('h', referencedBy(deliveries), {
    kind: ({ kind }) => kind,
    key: ({ key }) => key,
    after_seconds: ({ afterSeconds }) => afterSeconds ?? 0,
    priority: ({ rank }) => rank,
    place: ({ place }) => place + 1,
  });
  // Rows get their ids in the order in which they are inserted.
  return sql<Stored>`
    with stored as (
      insert into ops.deliveries (event_type, claimed_type, content_type, user_agent, body, body_hash, targets, named, is_recognized, is_erased)
      select nullif(event_type, ''), nullif(claimed_type, ''), nullif(content_type, ''), nullif(user_agent, ''), coalesce(body, ''),
        coalesce(body_hash, ''), string_to_array(coalesce(targets, ''), ';'), string_to_array(coalesce(named, ''), ';'),
        is_recognized::boolean, coalesce(body_hash, '') = ''
      from ${received} where ops.knows_erasures(${context.newestErasure ?? null})
      returning delivery_id
    ), accepted as (
      select array_agg(delivery_id order by delivery_id) as ids from stored
    ), referenced as (
      select kind, key, after_seconds::float8, priority::smallint, ids[place::integer] as delivery_id from accepted, ${referenced}
    ), ${sql.raw(markingDirty(context.pauses))}
    select ids, (select coalesce(json_agg(due), '[]') from due) as due from accepted`;
}

/** A ringing call is not in call history yet. */
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
 * Adds to deliveries that name texts only by id the threads in which the mirror holds these texts: the API cannot read a text
 * by its id (section 4.2). A text that is not mirrored yet adds nothing.
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
