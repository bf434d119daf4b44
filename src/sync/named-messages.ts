import { type Database, hotQuery } from '../warehouse/database.ts';
import { type Thread, threadOf } from '../warehouse/entities/texts/conversations.ts';
import { nextLook, soonest } from './looks.ts';

/*
 * An event names its message, as a rule. It can outrun the thread that it tells of: a read that does not bring the message
 * is known to have come too early. And it can tell of a message far back, whose receipt came late: the thread is read
 * down to it.
 */

/** Seconds after an event at which its message is looked for again. */
const looks: readonly number[] = [1, 3, 10, 60, 300];

/** Only so many of the newest deliveries are looked through: in a rush of events, the next one brings the message. */
const mostDeliveries = 500;

/** After so many messages of which none was ever found by the id of its event, these ids are taken for something else. */
const mostStrange = 20;

/** For so many messages it is remembered that a thread was read down to where they should have been. */
const mostSought = 10_000;

/** The messages that events named and no read has brought since. */
export interface NamedMessages {
  of(db: Database, key: string): Promise<NamedInThread>;
}

/** Those of one thread, as they were before a read. */
export interface NamedInThread {
  /** What the read is to list, wherever it stands; each is looked for so deep once. */
  readonly wanted: ReadonlySet<string>;
  /** Seconds from now until the thread is worth another look; undefined when all were listed, are held, or are given up. */
  lookAgain(listed: readonly (number | string)[], now: Date): number | undefined;
}

const none: NamedInThread = { wanted: new Set(), lookAgain: () => undefined };

export function createNamedMessages(): NamedMessages {
  let found = 0;
  let strange = 0;
  const sought = new Set<string>();

  return {
    async of(db, key) {
      if (found === 0 && strange > mostStrange) return none;
      const unread = await namedLately(db, key);
      if (unread.length === 0) return none;
      const notSought = unread.filter(({ id }) => !sought.has(`${key} ${id}`));
      if (sought.size > mostSought) sought.clear();
      for (const { id } of notSought) sought.add(`${key} ${id}`);
      return {
        wanted: new Set(notSought.map(({ id }) => id)),
        lookAgain(listed, now) {
          const listedIds = new Set(listed.map(String));
          const missing = unread.filter(({ id, isHeld }) => !isHeld && !listedIds.has(id));
          found += unread.length - missing.length;
          strange += missing.length;
          return soonest(missing.map(({ receivedAt }) => nextLook(looks, receivedAt, now)));
        },
      };
    },
  };
}

interface Named {
  readonly id: string;
  /** When the last event named it. */
  readonly receivedAt: Date;
  readonly isHeld: boolean;
}

/** An event that follows so soon, in seconds, upon the message that it names told of its coming: the read that brought it knew. */
const soon = 10;

/** The messages of a thread that the newest deliveries name, but for those that were read since, or came just then. */
async function namedLately(db: Database, key: string): Promise<readonly Named[]> {
  const { line, number, participants }: Thread = threadOf(key);
  return hotQuery<Named>(
    db,
    `with named as (
       select substr(name, length($1) + 2)::bigint as message_id, max(received_at) as received_at
       from (select received_at, named from ops.deliveries order by delivery_id desc limit $2) newest, unnest(named) name
       where received_at > now() - $3 * interval '1 second' and starts_with(name, $1 || ' ')
       group by 1
     )
     select n.message_id::text as id, n.received_at as "receivedAt", m.message_id is not null as "isHeld"
     from named n
     left join warehouse.sms_conversations c on c.line = $4 and c.number = $5 and c.participants_key = $6
     left join warehouse.sms_messages m on m.conversation_id = c.conversation_id and m.message_id = n.message_id
     where m.message_id is null
       or (m.fetched_at < n.received_at and m.first_seen_at < n.received_at - interval '${soon} seconds')`,
    [key, mostDeliveries, looks.at(-1), line, number, participants.join(',')],
  );
}
