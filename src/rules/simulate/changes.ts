import type { Pair } from '../../shared/thread.ts';
import type { Action } from '../decide.ts';
import type { Case } from '../facts/read.ts';
import { pairKey } from '../history.ts';

/** A reply that a simulated rule would have sent. */
export interface SimulatedSend extends Pair {
  readonly at: Date;
  readonly text: string;
}

/** What simulated rules have changed so far. */
export interface SimulatedChanges {
  /** The case with these changes in its facts. */
  applyTo(each: Case): Case;
  send(sent: SimulatedSend): void;
  sentTo(thread: Pair): readonly SimulatedSend[];
  isBlocked(thread: Pair): boolean;
  /** Performs a step other than a reply; an assignment with the user that was found, null for nobody. */
  perform(thread: Pair, action: Action, at: Date, assignedTo?: number | null): void;
}

interface ThreadState {
  resolved?: { readonly is: boolean; readonly at: Date };
  /** Null for nobody. */
  assignedTo?: number | null;
  isBlocked?: boolean;
}

export function createChanges(): SimulatedChanges {
  const sends = new Map<string, SimulatedSend[]>();
  const states = new Map<string, ThreadState>();
  const sentTo = (thread: Pair) => sends.get(pairKey(thread)) ?? [];
  const stateOf = (thread: Pair) => states.get(pairKey(thread)) ?? {};

  return {
    sentTo,
    isBlocked: (thread) => stateOf(thread).isBlocked === true,
    send(sent) {
      sends.set(pairKey(sent), [...sentTo(sent), sent]);
    },
    perform(thread, action, at, assignedTo) {
      const state = stateOf(thread);
      if (action.kind === 'resolve') state.resolved = { is: true, at };
      if (action.kind === 'reopen') state.resolved = { is: false, at };
      if (action.kind === 'block') state.isBlocked = true;
      if (action.kind === 'assign' && assignedTo !== undefined) state.assignedTo = assignedTo;
      states.set(pairKey(thread), state);
    },
    applyTo(each) {
      if (!each.subject) return each;
      const { subject, trigger, facts } = each;
      const { thread, contact } = facts;
      if (!thread || !contact) return each;
      const { resolved, assignedTo } = stateOf(subject);
      const before = sentTo(subject).filter(({ at }) => at <= trigger.at);
      const last = before.at(-1)?.at;
      const isResolved = resolved?.is && !(each.earlierInboundAt && each.earlierInboundAt > resolved.at);
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
    },
  };
}

function newest(a: Date | undefined, b: Date | undefined): Date | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a > b ? a : b;
}
