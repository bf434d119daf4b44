import { z } from 'zod';
import { type AnswerFault, answerFault } from './answers.ts';
import { type DeliveryFault, deliveryFault } from './deliveries.ts';
import { share } from './lots.ts';

const milliseconds = z.int().min(0).max(86_400_000);

/**
 * Every fault that the service itself can have, with the value that means "none". The plain keys are short forms of the
 * lists, which take any number of faults at once, each narrowed, rated and counted.
 *
 * TLS and DNS fail before a request reaches the service, so no fault here can stand for them: point the client at a name
 * that does not resolve, or at `https://` of this port.
 */
export const faultSpec = z.strictObject({
  latencyMs: milliseconds.default(0).describe('Added before each request of the API is carried out.'),
  errorRate: share.default(0).describe('Share of API requests that are answered with `status` before the route runs.'),
  status: z.int().min(400).max(599).default(500),
  retryAfterSeconds: z
    .int()
    .min(0)
    .nullable()
    .default(null)
    .describe('In the Retry-After header of these errors; null sends none.'),
  noMessageId: share
    .default(0)
    .describe('Share of sends in whose answer the message has no id; it is sent and charged all the same (2.3).'),
  answers: z.array(answerFault).max(50).default([]).describe('Faults of answers.'),

  drop: share.default(0).describe('Share of deliveries that never leave.'),
  duplicate: share.default(0).describe('Share of deliveries that leave twice.'),
  reorder: share.default(0).describe('Share of deliveries that are held back so that later ones overtake them.'),
  delayMs: milliseconds.default(0).describe('How late every delivery leaves.'),
  unquotedCallIds: z.boolean().default(false).describe('Call ids as bare numbers in delivered JSON.'),
  formBodies: z.boolean().default(false).describe('Deliveries as application/x-www-form-urlencoded.'),
  batch: z.int().min(1).max(1000).default(1).describe('Up to so many events in one delivery, as a JSON array.'),
  deliveries: z.array(deliveryFault).max(50).default([]).describe('Faults of deliveries.'),

  recordingDelayMs: milliseconds.default(0).describe('How much later than usual recordings of new calls appear.'),
  transcriptDelayMs: milliseconds.default(0).describe('How much later than usual transcripts of new calls appear.'),
});

export type FaultSpec = z.output<typeof faultSpec>;
export type FaultInput = z.input<typeof faultSpec>;

/** All faults of answers, the short forms first. */
export function answerFaultsOf(spec: FaultSpec): AnswerFault[] {
  const { latencyMs, errorRate, status, retryAfterSeconds, answers } = spec;
  const short: z.input<typeof answerFault>[] = [];
  if (latencyMs > 0) short.push({ kind: 'slow', when: 'before', ms: latencyMs });
  if (errorRate > 0) short.push({ kind: 'error', rate: errorRate, status, retryAfterSeconds });
  return [...short.map((fault) => answerFault.parse(fault)), ...answers];
}

/** All faults of deliveries, the short forms first. */
export function deliveryFaultsOf(spec: FaultSpec): DeliveryFault[] {
  const { drop, duplicate, reorder, delayMs, unquotedCallIds, formBodies, deliveries } = spec;
  const short: z.input<typeof deliveryFault>[] = [];
  if (drop > 0) short.push({ kind: 'dropped', rate: drop });
  if (duplicate > 0) short.push({ kind: 'repeated', rate: duplicate, copies: 2 });
  if (reorder > 0) short.push({ kind: 'heldBack', rate: reorder });
  if (delayMs > 0) short.push({ kind: 'delayed', ms: delayMs });
  if (unquotedCallIds) short.push({ kind: 'unquotedCallIds' });
  if (formBodies) short.push({ kind: 'form' });
  return [...short.map((fault) => deliveryFault.parse(fault)), ...deliveries];
}
