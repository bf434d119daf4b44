import { forgetOldest } from '../../bounded.ts';
import { drawSecret } from './tokens.ts';

/**
 * What stands behind a form that was shown: the form carries the ticket alone, so that nothing in it can be changed, and
 * the ticket ends with the decision, so that a form cannot be sent twice. In memory: a restart ends them all.
 */
export interface Tickets<T> {
  issue(subject: T, now: number): string;
  /** Undefined when it was used, is too old, or never was. */
  find(ticket: string, now: number): T | undefined;
  end(ticket: string): void;
}

export function createTickets<T>({ lifetimeMs, capacity }: { lifetimeMs: number; capacity: number }): Tickets<T> {
  const open = new Map<string, { subject: T; expiresAt: number }>();
  return {
    issue(subject, now) {
      const ticket = drawSecret();
      open.set(ticket, { subject, expiresAt: now + lifetimeMs });
      forgetOldest(open, capacity);
      return ticket;
    },
    find(ticket, now) {
      const found = open.get(ticket);
      return found !== undefined && found.expiresAt > now ? found.subject : undefined;
    },
    end(ticket) {
      open.delete(ticket);
    },
  };
}
