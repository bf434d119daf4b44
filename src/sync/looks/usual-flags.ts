import type { Message } from '../../service/entities/message.ts';

/*
 * Some services write the flags of a text where they are true, others always. Only where a service has shown that it
 * usually writes one, a text without it lacks something.
 */

const flags = ['scheduled', 'blocked'] as const;
/** How much one text counts for what is usual. */
const weight = 0.02;

export interface UsualFlags {
  /** Counts texts that came. */
  weigh(messages: readonly Message[]): void;
  /** Whether a text came without a flag that others have. */
  isMissing(message: Message): boolean;
}

export function createUsualFlags(): UsualFlags {
  const shares = { scheduled: 0, blocked: 0 };
  return {
    weigh(messages) {
      for (const message of messages) {
        for (const name of flags) shares[name] += weight * (Number(message[name] !== undefined) - shares[name]);
      }
    },
    isMissing: (message) => flags.some((name) => message[name] === undefined && shares[name] > 0.5),
  };
}
