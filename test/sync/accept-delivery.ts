import { createInbox, type ReferencedTarget } from '../../src/inbox/deliveries.ts';
import type { EventType } from '../../src/shared/event-types.ts';
import type { TestDatabase } from '../world/database.ts';

/** Tells of targets as a delivery does that was accepted. */
export function deliveryAcceptor(database: TestDatabase) {
  const inbox = createInbox(database, { activeMs: 0, refusedMs: 0 }, () => undefined);
  return async (eventType: EventType, ...targets: ReferencedTarget[]): Promise<void> => {
    const rest = { claimedType: undefined, contentType: undefined, userAgent: undefined };
    await inbox.accept({ ...rest, eventType, body: '{}', targets });
  };
}
