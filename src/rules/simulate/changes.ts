import type { DatedText } from '../../ledger/gates/inputs.ts';
import type { KnownCase } from '../facts/read.ts';

/** What simulated rules have changed in a thread so far. */
export interface ThreadChanges {
  /** Replies that rules would have sent, oldest first. */
  readonly sends: DatedText[];
  resolved?: { readonly is: boolean; readonly at: Date };
  /** Null for nobody. */
  assignedTo?: number | null;
  isBlocked: boolean;
}

/** The case with the changes of its thread in its facts. */
export function withChanges(each: KnownCase, { sends, resolved, assignedTo }: ThreadChanges): KnownCase {
  const { trigger, facts, earlierInboundAt } = each;
  const { thread, contact } = facts;
  if (!thread || !contact) return each;
  const before = sends.filter(({ at }) => at <= trigger.at);
  const last = before.at(-1)?.at;
  const isResolved = resolved?.is && !(earlierInboundAt && earlierInboundAt > resolved.at);
  const isLast =
    last !== undefined && last >= (thread.last_inbound_at ?? last) && last >= (thread.last_outbound_at ?? last);
  return {
    ...each,
    facts: {
      ...facts,
      thread: {
        ...thread,
        exists: thread.exists || before.length > 0,
        message_count: thread.message_count + before.length,
        outbound_count: thread.outbound_count + before.length,
        last_outbound_at: newest(thread.last_outbound_at, last),
        last_direction: isLast ? 'out' : thread.last_direction,
        is_resolved: isResolved ?? thread.is_resolved,
        assigned_user_id: assignedTo === undefined ? thread.assigned_user_id : (assignedTo ?? undefined),
      },
      contact: {
        ...contact,
        is_new: contact.is_new && before.length === 0,
        earlier_messages: contact.earlier_messages + before.length,
        last_message_at: newest(contact.last_message_at, last),
      },
    },
  };
}

function newest(a: Date | undefined, b: Date | undefined): Date | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a > b ? a : b;
}
