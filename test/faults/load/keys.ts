/** The event types that a deployment subscribes to. */
export type DeliveredType = 'AccountSMS' | 'AccountEndedCalls' | 'AccountAITranscription';

/**
 * What a delivery is about, the same before it is sent and after it was stored: its type, and the ids in its body. What
 * a fault made of a body may be no JSON any more; such deliveries share a key.
 */
export function deliveryKey(type: string, body: string): string {
  try {
    return `${type} ${idsOf(JSON.parse(body))}`;
  } catch {
    return `${type} unreadable`;
  }
}

function idsOf(event: unknown): string {
  if (Array.isArray(event)) return event.map(idsOf).join('+');
  if (typeof event !== 'object' || event === null) return '';
  const { id, callId, transcriptId } = event as Record<string, unknown>;
  return [id, callId, transcriptId].filter((each) => each !== undefined).join('/');
}

/** How often each key occurs. */
export function tally(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** A thread as the service knows it. */
export interface ThreadName {
  readonly line: string;
  readonly number: string;
  readonly participants: readonly string[];
}
