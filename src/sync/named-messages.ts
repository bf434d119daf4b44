import { extract } from '../events/extract.ts';
import { type Database, hotQuery } from '../warehouse/database.ts';
import { type Thread, threadKey, threadOf } from '../warehouse/entities/texts/conversations.ts';
import { nextLook, soonest } from './looks.ts';

/*
 * An event can outrun the thread that it tells of. It names its message, though, so a read that does not bring it is
 * known to have come too early.
 */

/** Seconds after an event at which its message is looked for again. */
const looks: readonly number[] = [1, 3, 10, 60, 300];

/** Only so many of the newest deliveries are looked through: in a rush of events, the next one brings the message. */
const mostDeliveries = 500;

/** After so many messages of which none was ever found by the id of its event, these ids are taken for something else. */
const mostStrange = 20;

/** Tells when a thread is worth another look, by what events named and no read has brought. */
export interface NamedMessages {
  /** Seconds from now; undefined when every message that was named is held, or among those `listed`, or given up. */
  lookAgain(db: Database, key: string, listed: readonly (number | string)[], now: Date): Promise<number | undefined>;
}

export function createNamedMessages(): NamedMessages {
  let found = 0;
  let strange = 0;
  return {
    async lookAgain(db, key, listed, now) {
      if (found === 0 && strange > mostStrange) return undefined;
      const named = await namedLately(db, key);
      if (named.size === 0) return undefined;
      const listedIds = new Set(listed.map(String));
      const unlisted = [...named].filter(([id]) => !listedIds.has(id));
      const held = await heldAmong(
        db,
        threadOf(key),
        unlisted.map(([id]) => id),
      );
      const missing = unlisted.filter(([id]) => !held.has(id));
      found += named.size - missing.length;
      strange += missing.length;
      return soonest(missing.map(([, receivedAt]) => nextLook(looks, receivedAt, now)));
    },
  };
}

/** The messages of a thread that the newest deliveries name, with the moment of the last that does. */
async function namedLately(db: Database, key: string): Promise<ReadonlyMap<string, Date>> {
  const rows = await hotQuery<{ body: string; received_at: Date }>(
    db,
    `select body, received_at from (
       select body, received_at, targets from ops.deliveries order by delivery_id desc limit $2
     ) newest where targets @> array['thread ' || $1] and received_at > now() - $3 * interval '1 second' order by received_at`,
    [key, mostDeliveries, looks.at(-1)],
  );
  const { line } = threadOf(key);
  const named = new Map<string, Date>();
  for (const { body, received_at } of rows) {
    const delivery = { pathType: 'AccountSMS', contentType: undefined, query: '', body: Buffer.from(body) };
    for (const hint of extract(delivery, (number) => number === line).hints) {
      if (hint.kind === 'thread' && hint.messageId !== undefined && threadKey(hint) === key) {
        named.set(hint.messageId, received_at);
      }
    }
  }
  return named;
}

async function heldAmong(
  db: Database,
  { line, number, participants }: Thread,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await hotQuery<{ message_id: string }>(
    db,
    `select message_id from warehouse.sms_messages join warehouse.sms_conversations c using (conversation_id)
     where c.line = $1 and c.number = $2 and c.participants_key = $3 and message_id = any($4::bigint[])`,
    [line, number, participants.join(','), ids],
  );
  return new Set(rows.map(({ message_id }) => message_id));
}
