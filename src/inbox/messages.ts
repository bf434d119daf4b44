import { threadKey } from '../warehouse/entities/texts/conversations.ts';
import type { DueTarget } from './deliveries.ts';

/** Runs one statement, in a transaction or outside. */
type Ask = <Row>(text: string, parameters: readonly unknown[]) => Promise<readonly Row[]>;

/**
 * The threads in which the mirror holds messages, by message id: the service has no read of a message by its id
 * (section 4.2), so a receipt that names nothing else is read with its thread. One that is not held yet is not found.
 */
async function threadsOfMessages(
  ask: Ask,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, readonly DueTarget[]>> {
  const threads = new Map<string, DueTarget[]>();
  if (messageIds.length === 0) return threads;
  const rows = await ask<{ message_id: string; line: string; number: string; participants: string[] }>(
    `select m.message_id, c.line, c.number, c.participants
     from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id)
     where m.message_id = any($1::bigint[]) order by m.message_id, c.conversation_id`,
    [messageIds],
  );
  for (const { message_id: id, ...thread } of rows) {
    const target = { kind: 'thread', key: threadKey(thread), messageId: id } as const;
    threads.set(id, [...(threads.get(id) ?? []), target]);
  }
  return threads;
}

/** Deliveries that name messages alone, pointed at the threads of these; the others as they are. */
export async function locateMessages<D extends { targets: readonly DueTarget[]; messageIds?: readonly string[] }>(
  ask: Ask,
  deliveries: readonly D[],
): Promise<readonly D[]> {
  const messageIds = deliveries.flatMap((each) => each.messageIds ?? []);
  if (messageIds.length === 0) return deliveries;
  const threads = await threadsOfMessages(ask, messageIds);
  return deliveries.map((each) => {
    const found = (each.messageIds ?? []).flatMap((id) => threads.get(id) ?? []);
    return found.length === 0 ? each : { ...each, targets: [...each.targets, ...found] };
  });
}
