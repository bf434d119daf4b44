import type { Message } from '../../service/entities/message.ts';
import { type Database, hotQuery } from '../../warehouse/database.ts';
import { type Thread, threadOf } from '../../warehouse/entities/texts/conversations.ts';
import { looksAfterEvent, nextLook, soonest } from './schedule.ts';

/*
 * An event names its message, as a rule. It can outrun the thread that it tells of: a read that does not bring the message,
 * or not the receipt of one that is held, is known to have come too early. And it can tell of a message far back, whose
 * receipt came late: the thread is read down to it. The answer to a send of ours names its message as well, and nothing
 * else need ever tell of that one.
 */

/** Seconds after an event at which a receipt is looked for again: fewer times, for some services never show any. */
const looksForReceipt = looksAfterEvent.slice(1, -1);

/** Only so many of the newest deliveries are looked through: in a rush of events, the next one brings the message. */
const mostDeliveries = 500;

/** After so many messages of which none was ever found by the id of its event, these ids are taken for something else. */
const mostStrange = 20;

/** For so many messages it is remembered that a thread was read down to where they should have been. */
const mostSought = 10_000;

/** The messages that events, or answers to our sends, named and no read has brought since. */
export interface NamedMessages {
  of(db: Database, key: string): Promise<NamedInThread>;
}

/** Those of one thread, as they were before a read. */
export interface NamedInThread {
  /** What the read is to list, wherever it stands; each is looked for so deep once, and as often as its receipt is. */
  readonly wanted: ReadonlySet<string>;
  /** Whether a message that is looked for the first time is neither listed nor held. */
  isMissed(listed: readonly Listed[]): boolean;
  /** Seconds from now until the thread is worth another look; undefined when all were listed, are held, or are given up. */
  lookAgain(listed: readonly Listed[], now: Date): number | undefined;
}

type Listed = Pick<Message, 'id' | 'delivery'>;

const none: NamedInThread = { wanted: new Set(), isMissed: () => false, lookAgain: () => undefined };

export function createNamedMessages(): NamedMessages {
  let found = 0;
  let strange = 0;
  const sought = new Set<string>();

  return {
    async of(db, key) {
      if (found === 0 && strange > mostStrange) return none;
      const unread = await namedLately(db, key);
      if (unread.length === 0) return none;
      const notSought = unread.filter(({ id, awaitsReceipt }) => awaitsReceipt || !sought.has(`${key} ${id}`));
      if (sought.size > mostSought) sought.clear();
      for (const { id } of notSought) sought.add(`${key} ${id}`);
      const missingFrom = (listed: readonly Listed[]) => {
        const listedIds = new Set(listed.map((each) => String(each.id)));
        return unread.filter(({ id, isHeld }) => !isHeld && !listedIds.has(id));
      };
      return {
        wanted: new Set(notSought.map(({ id }) => id)),
        isMissed: (listed) => missingFrom(listed).some((missing) => notSought.includes(missing)),
        lookAgain(listed, now) {
          const missing = missingFrom(listed);
          found += unread.length - missing.length;
          strange += missing.length;
          const receipts = new Set(listed.flatMap(({ id, delivery }) => (delivery ? [String(id)] : [])));
          const unreceipted = unread.filter(({ id, awaitsReceipt }) => awaitsReceipt && !receipts.has(id));
          return soonest([
            ...missing.map(({ receivedAt }) => nextLook(looksAfterEvent, receivedAt, now)),
            ...unreceipted.map(({ receivedAt }) => nextLook(looksForReceipt, receivedAt, now)),
          ]);
        },
      };
    },
  };
}

interface Named {
  readonly id: string;
  /** When it was last named. */
  readonly receivedAt: Date;
  readonly isHeld: boolean;
  /** It went out before the event, and no receipt of it is held. */
  readonly awaitsReceipt: boolean;
}

/** An event that follows so soon, in seconds, upon the message that it names told of its coming: the read that brought it knew. */
const soon = 10;

/**
 * The messages of a thread that the newest deliveries or sends name, but for those that came just then, and those that were
 * read since and await nothing.
 */
async function namedLately(db: Database, key: string): Promise<readonly Named[]> {
  const { line, number, participants }: Thread = threadOf(key);
  return hotQuery<Named>(
    db,
    `with named as (
       select message_id, max(named_at) as received_at from (
         select substr(name, length($1) + 2)::bigint as message_id, received_at as named_at
         from (select received_at, named from ops.deliveries order by delivery_id desc limit $2) newest, unnest(named) name
         where starts_with(name, $1 || ' ')
         union all
         select message_id, settled_at from ops.sends
         where line = $4 and number = $5 and $6 = '' and state = 'SENT' and linked_at is null and message_id is not null
       ) each
       where named_at > now() - $3 * interval '1 second'
       group by 1
     )
     select n.message_id::text as id, n.received_at as "receivedAt", m.message_id is not null as "isHeld",
       coalesce(m.direction = 'out' and m.delivery_status is null, false) as "awaitsReceipt"
     from named n
     left join warehouse.sms_conversations c on c.line = $4 and c.number = $5 and c.participants_key = $6
     left join warehouse.sms_messages m on m.conversation_id = c.conversation_id and m.message_id = n.message_id
     where m.message_id is null
       or ((m.fetched_at < n.received_at or m.direction = 'out' and m.delivery_status is null)
         and m.first_seen_at < n.received_at - interval '${soon} seconds')`,
    [key, mostDeliveries, looksAfterEvent.at(-1), line, number, participants.join(',')],
  );
}
