/** The event types a subscription can fire on (specification 2.12 and 6), spelled as the service spells them. */
export const eventTypes = [
  'AccountRealTimeCalls',
  'AccountEndedCalls',
  'UserEndedCalls',
  'AccountSMS',
  'AccountAITranscription',
] as const;

export type EventType = (typeof eventTypes)[number];

const byWord = new Map<string, EventType>(
  eventTypes.flatMap((type) => [[type, type] as const, [type.toLowerCase(), type] as const]),
);

/** The event type with this name, or undefined. Ignores case and punctuation: `Account-SMS` is `AccountSMS`. */
export function eventTypeOf(word: string): EventType | undefined {
  const exact = byWord.get(word);
  if (exact !== undefined || word.length > 64) return exact;
  return byWord.get(word.toLowerCase().replace(/[^a-z]/g, ''));
}
