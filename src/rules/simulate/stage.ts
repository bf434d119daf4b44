import type { Action } from '../evaluate.ts';
import type { Case } from '../facts/read.ts';

interface Thread {
  readonly line: string;
  readonly number: string;
}

/** A reply that a simulated rule would have sent. */
export interface StagedSend extends Thread {
  readonly at: Date;
  readonly text: string;
}

/** What simulated rules have changed so far: laid over the facts of what really was. */
export interface Stage {
  /** The case as it would have been. */
  seen(each: Case): Case;
  send(sent: StagedSend): void;
  sentTo(thread: Thread): readonly StagedSend[];
  hasBlocked(thread: Thread): boolean;
  /** An assignment is to whom it was found to mean, null for nobody. */
  act(thread: Thread, action: Action, at: Date, assignedTo?: number | null): void;
}

interface State {
  resolved?: { readonly is: boolean; readonly at: Date };
  assignedTo?: number | undefined;
  isAssignmentSet?: boolean;
  isBlocked?: boolean;
}

export function createStage(): Stage {
  const sends = new Map<string, StagedSend[]>();
  const states = new Map<string, State>();

  function stateOf(thread: Thread): State {
    const held = states.get(keyOf(thread)) ?? {};
    states.set(keyOf(thread), held);
    return held;
  }

  return {
    sentTo: (thread) => sends.get(keyOf(thread)) ?? [],
    hasBlocked: (thread) => states.get(keyOf(thread))?.isBlocked === true,
    send(sent) {
      sends.set(keyOf(sent), [...(sends.get(keyOf(sent)) ?? []), sent]);
    },
    act(thread, action, at, assignedTo) {
      const state = stateOf(thread);
      if (action.kind === 'resolve') state.resolved = { is: true, at };
      if (action.kind === 'reopen') state.resolved = { is: false, at };
      if (action.kind === 'block') state.isBlocked = true;
      if (action.kind !== 'assign' || assignedTo === undefined) return;
      state.isAssignmentSet = true;
      state.assignedTo = assignedTo ?? undefined;
    },
    seen(each) {
      const { subject, facts, trigger } = each;
      if (!subject || typeof facts === 'string' || !facts.thread || !facts.contact) return each;
      const before = (sends.get(keyOf(subject)) ?? []).filter(({ at }) => at <= trigger.at);
      const state = states.get(keyOf(subject)) ?? {};
      const last = before.at(-1)?.at;
      const { thread, contact } = facts;
      const { resolved } = state;
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
            last_outbound_at: later(thread.last_outbound_at, last),
            last_direction: isLast ? 'out' : thread.last_direction,
            is_resolved: isResolved ?? thread.is_resolved,
            assigned_user_id: state.isAssignmentSet ? state.assignedTo : thread.assigned_user_id,
          },
          contact: {
            ...contact,
            is_new: contact.is_new && before.length === 0,
            earlier_messages: contact.earlier_messages + before.length,
            last_message_at: later(contact.last_message_at, last),
          },
        },
      };
    },
  };
}

function later(a: Date | undefined, b: Date | undefined): Date | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a > b ? a : b;
}

function keyOf({ line, number }: Thread): string {
  return `${line}/${number}`;
}
