import { type Answer, ServiceError } from '../../service/client.ts';
import type { Sent } from '../../service/entities/sent.ts';

/** What the one request of a send came to. */
export type Outcome =
  | {
      readonly kind: 'sent';
      readonly messageId: string | undefined;
      readonly type: string | undefined;
      readonly units: number | undefined;
      /** Micro-dollars; undefined when the answer did not say. */
      readonly micros: number | undefined;
      readonly unitMicros: number | undefined;
    }
  | { readonly kind: 'skipped'; readonly reason: string; readonly hasOptedOut: boolean }
  | { readonly kind: 'rejected'; readonly reason: string }
  /** Proof that nothing was sent or charged; another try is harmless. */
  | {
      readonly kind: 'not_sent';
      readonly reason: string;
      readonly retryAfterMs: number | undefined;
      /** False when nothing was tried at all, and when the service only asked for a pause. */
      readonly countsAsTry: boolean;
    }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Sections 2.3 and 7: 201 is sent and charged, 200 is everyone skipped and nothing charged. */
export function outcomeOfAnswer({ status, data }: Answer<Sent>): Outcome {
  const { billing, messages = [], skipped = [] } = data;
  if (status === 201) {
    const [message] = messages;
    return {
      kind: 'sent',
      // None is absent, as specified, but some write it as 0.
      messageId: message?.id === undefined || message.id === 0 ? undefined : String(message.id),
      type: billing?.type ?? message?.type,
      units: billing?.units ?? message?.units,
      micros: microsOf(billing?.totalPrice ?? message?.price),
      unitMicros: microsOf(message?.unitPrice),
    };
  }
  // Nobody skipped and no price of 0 is no answer that the service gives: it proves nothing.
  const isFree = billing?.totalPrice === undefined ? skipped.length > 0 : billing.totalPrice === 0;
  if (status === 200 && messages.length === 0 && isFree) {
    const reasons = [...new Set(skipped.map(({ reason }) => reason ?? 'no reason'))];
    return {
      kind: 'skipped',
      reason: reasons.length > 0 ? reasons.join(', ') : 'no reason',
      hasOptedOut: reasons.includes('opted_out'),
    };
  }
  return { kind: 'unknown', reason: `status ${status} does not fit its answer` };
}

/** Where the client itself let nothing out, and where the service has too much to do. */
const untried: ReadonlySet<ServiceError['code']> = new Set(['circuit_open', 'aborted', 'stalled', 'rate_limited']);

/** An error is proof only where the client says so: with an answer of the service itself, or before the first byte. */
export function outcomeOfError(error: unknown): Outcome {
  if (!(error instanceof ServiceError)) {
    return { kind: 'unknown', reason: error instanceof Error ? error.name : 'an unexpected error' };
  }
  const { code, status, effect, advice, retryAfterMs } = error;
  const reason = status === undefined ? code : `${code} (${status})`;
  if (effect === 'unknown') return { kind: 'unknown', reason };
  if (advice !== 'retry') return { kind: 'rejected', reason };
  return { kind: 'not_sent', reason, retryAfterMs, countsAsTry: !untried.has(code) };
}

/** Dollars, as decimals in JSON, in whole micro-dollars. */
function microsOf(dollars: number | undefined): number | undefined {
  if (dollars === undefined || !Number.isFinite(dollars) || dollars < 0) return undefined;
  return Math.round(dollars * 1_000_000);
}
