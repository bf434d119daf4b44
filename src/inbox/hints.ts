import type { Hint } from '../events/hint.ts';
import { threadKey } from '../warehouse/entities/texts/conversations.ts';
import type { DueTarget } from './deliveries.ts';

/** A call that still rings is not in the history yet. */
const liveCallSeconds = 60;

/** What hints point at. */
export function targetsOf(hints: readonly Hint[]): DueTarget[] {
  return hints.map(targetOf);
}

function targetOf(hint: Hint): DueTarget {
  if (hint.kind === 'thread') return { kind: 'thread', key: threadKey(hint) };
  if (hint.why === 'transcript') return { kind: 'transcripts', key: hint.callId };
  return { kind: 'call', key: hint.callId, ...(hint.why === 'live' && { afterSeconds: liveCallSeconds }) };
}
