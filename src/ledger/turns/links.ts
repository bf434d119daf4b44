import { inTransaction, query, type Transaction } from '../../warehouse/database.ts';
import { noteSender } from '../control.ts';
import type { Ledger } from '../ledger.ts';
import { lockSend } from '../send.ts';
import { candidatesOf, matchesOf, senderOf } from './reconcile.ts';

/** Messages are mirrored within seconds; what is not there after so long will not come. */
const withinHours = 48;
const mostAtOnce = 100;

/**
 * Sets `warehouse.sms_messages.send_id` where a send became a message that is mirrored by now, and finds the message of a
 * send for which the gateway returned no id.
 */
export async function linkMessages(ledger: Ledger): Promise<void> {
  const { db } = ledger;
  const linked = await query<{ send_id: string; message_id: string | null }>(
    db,
    `select send_id, message_id from ops.sends s
     where state = 'SENT' and linked_at is null and settled_at > now() - interval '${withinHours} hours'
       and exists (select from warehouse.sms_messages m where m.number = s.number and m.line = s.line and m.direction = 'out'
         and case when s.message_id is null then m.first_seen_at >= s.dispatched_at else m.message_id = s.message_id end)
     order by settled_at limit ${mostAtOnce}`,
    [],
  );
  for (const { send_id: sendId } of linked) {
    await inTransaction(db, (tx) => link(tx, ledger, sendId));
    await noteSender(db, sendId);
  }
}

async function link(tx: Transaction, ledger: Ledger, sendId: string): Promise<void> {
  const send = await lockSend(tx, sendId);
  if (send?.state !== 'SENT') return;
  const [match, ...others] =
    send.messageId === null ? matchesOf(send, await candidatesOf(tx, send), await senderOf(tx, ledger)) : [];
  const messageId = send.messageId ?? (others.length === 0 ? match?.messageId : undefined);
  if (messageId === undefined) return;
  await query(
    tx,
    `with linked as (
       update warehouse.sms_messages set send_id = $1 where line = $2 and number = $3 and message_id = $4 returning 1
     )
     update ops.sends set message_id = $4, linked_at = now() where send_id = $1 and exists (select from linked)`,
    [sendId, send.line, send.number, messageId],
  );
}
