import type { Message } from '../api-client/client.ts';
import { type Database, hotQuery, sql, unseen } from '../db/database.ts';
import { deliveriesOf } from '../inbox/stored-deliveries.ts';
import { threadOf } from '../shared/thread.ts';
import { nextRecheck, recheckDelaysAfterEvent, soonest } from './rechecks.ts';

/*
 * An AccountSMS event contains the id of its message (section 6), and so does the answer to our own send. If a read
 * doesn't list that message, or lacks the receipt of a held message, the read was too early and is repeated. An event
 * may also announce the late receipt of an old message: then the thread is read back to that message.
 */

/** Seconds after an event at which a missing receipt is rechecked. */
const receiptDelays = recheckDelaysAfterEvent.slice(1, -1);

/** Maximum remembered messages to which a thread was already read back. */
const maxReadBack = 10_000;

type Listed = Pick<Message, 'id' | 'delivery'>;

/** Makes a function that finds the messages of a thread that were announced but that no read has found since. */
export function createAnnouncedMessages() {
  const alreadyReached = new Set<string>();

  return async (db: Database, key: string) => {
    const announced = await recentlyAnnounced(db, key);
    const wanted = announced.filter(({ id, awaitsReceipt }) => awaitsReceipt || !alreadyReached.has(`${key} ${id}`));
    if (alreadyReached.size > maxReadBack) alreadyReached.clear();
    for (const { id } of wanted) alreadyReached.add(`${key} ${id}`);
    const missingFrom = (listed: readonly Listed[]) => {
      const ids = new Set(listed.map(({ id }) => String(id)));
      return announced.filter(({ id, isHeld }) => !isHeld && !ids.has(id));
    };
    return {
      /**
       * Ids of messages that the read must reach: missing messages once, messages without a receipt at each recheck.
       */
      wanted: new Set(wanted.map(({ id }) => id)),
      /** Whether a message wanted for the first time is neither listed nor held. */
      isMissed: (listed: readonly Listed[]) => missingFrom(listed).some((missing) => wanted.includes(missing)),
      /** Seconds until the thread is rechecked; undefined when everything was found or given up. */
      recheckSeconds(listed: readonly Listed[], now: Date): number | undefined {
        const receipts = new Set(listed.flatMap(({ id, delivery }) => (delivery ? [String(id)] : [])));
        const unreceipted = announced.filter(({ id, awaitsReceipt }) => awaitsReceipt && !receipts.has(id));
        return soonest([
          ...missingFrom(listed).map(({ announcedAt }) => nextRecheck(recheckDelaysAfterEvent, announcedAt, now)),
          ...unreceipted.map(({ announcedAt }) => nextRecheck(receiptDelays, announcedAt, now)),
        ]);
      },
    };
  };
}

interface Announced {
  readonly id: string;
  /** When it was last announced. */
  readonly announcedAt: Date;
  readonly isHeld: boolean;
  /** It is an outbound message older than the event, and no receipt of it is held. */
  readonly awaitsReceipt: boolean;
}

/** An event this soon after a message was mirrored announced its arrival: the mirrored state is recent enough. */
const arrivalSeconds = 10;

async function recentlyAnnounced(db: Database, key: string): Promise<readonly Announced[]> {
  const { line, number, participants } = threadOf(key);
  const group = participants.join(',');
  const seconds = recheckDelaysAfterEvent.at(-1) ?? 0;
  return hotQuery(
    db,
    sql<Announced>`with announced as (
       select message_id, max(at) as at from (
         select split_part(name, ' ', 2)::bigint as message_id, received_at as at
         from ${deliveriesOf({ kind: 'thread', key }, seconds)} d, unnest(named) name
         where split_part(name, ' ', 1) = ${unseen(key)}
         union all
         select message_id, settled_at from ops.sends
         where line = ${unseen(line)} and number = ${unseen(number)} and ${unseen(group)} = '' and state = 'SENT' and linked_at is null
           and message_id is not null and settled_at > now() - ${sql.lit(seconds)} * interval '1 second'
       ) each
       group by 1
     )
     select a.message_id::text as id, a.at as "announcedAt", m.message_id is not null as "isHeld",
       coalesce(m.direction = 'out' and m.delivery_status is null, false) as "awaitsReceipt"
     from announced a
     left join lateral (
       select m.* from warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
       where c.line = ${unseen(line)} and c.number = ${unseen(number)} and c.participants_key = ${unseen(group)} and m.message_id = a.message_id
       limit 1
     ) m on true
     where m.message_id is null
       or ((m.fetched_at < a.at or m.direction = 'out' and m.delivery_status is null)
         and m.first_seen_at < a.at - ${sql.lit(arrivalSeconds)} * interval '1 second')`,
  );
}
