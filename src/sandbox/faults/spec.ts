import { z } from 'zod';
import { eventTypes } from '../account.ts';

/**
 * The faults that the service can have; several apply together. TLS and DNS fail before a request reaches the service,
 * so no fault stands for them: point the client at a name that doesn't resolve, or at `https://` of this port.
 */

/** Up to the longest delay of a timer. */
const milliseconds = z.int().min(0).max(2_147_483_647);
/** Before: the request isn't processed. After: the request is processed, and its own answer is lost. */
const when = z.enum(['before', 'after']);

/** How often a fault applies, whatever it does. */
const frequency = {
  /** Share of the matching requests or events that get the fault. */
  rate: z.number().min(0).max(1).default(1),
  /** Maximum number of times the fault applies. */
  times: z.int().min(1).optional(),
};
const ofAnswers = {
  ...frequency,
  /** An operationId, or how method and path begin: `GET /calls`. Absent: every operation of the API. */
  operation: z.string().max(1024).optional(),
};
/** Absent: events of every type. */
const ofEvents = { ...frequency, type: z.enum(eventTypes).optional() };

const answerFault = z.discriminatedUnion('kind', [
  /** Another answer: by default the error envelope of section 7 for its status. */
  z.strictObject({
    kind: z.literal('answer'),
    ...ofAnswers,
    when: when.default('before'),
    status: z.int().min(200).max(599).default(500),
    headers: z.record(z.string(), z.string()).default({}),
    body: z.string().optional(),
  }),
  /** Sets what lies at a path of a successful answer, such as `data.messages.*.id`; without a value it is missing. */
  z.strictObject({
    kind: z.literal('edit'),
    ...ofAnswers,
    path: z.string().min(1),
    value: z.unknown().optional(),
  }),
  /** Replaces what a regular expression matches in the text of the body. */
  z.strictObject({
    kind: z.literal('rewrite'),
    ...ofAnswers,
    pattern: z.string().max(200),
    by: z.string().default(''),
  }),
  /** The connection is reset; midway: in the middle of the body. */
  z.strictObject({
    kind: z.literal('reset'),
    ...ofAnswers,
    when: z.enum(['before', 'midway', 'after']).default('before'),
  }),
  /** A delay before the request is processed, or before its answer is sent. */
  z.strictObject({
    kind: z.literal('slow'),
    ...ofAnswers,
    when: when.default('after'),
    ms: milliseconds.default(5_000),
  }),
  /** The body arrives a few bytes at a time. */
  z.strictObject({
    kind: z.literal('drip'),
    ...ofAnswers,
    everyMs: milliseconds.default(100),
    bytes: z.int().min(1).max(65_536).default(1),
  }),
  /** Half of the body, then the connection ends; Content-Length promises the whole. */
  z.strictObject({ kind: z.literal('cutOff'), ...ofAnswers }),
  /** After each page of calls or of a thread, a new one appears in the pages just read; announced with a webhook. */
  z.strictObject({ kind: z.literal('shift'), ...ofAnswers, announce: z.boolean().default(false) }),
]);
export type AnswerFault = z.output<typeof answerFault>;
export type AnswerFaultOf<Kind extends AnswerFault['kind']> = Extract<AnswerFault, { kind: Kind }>;

/** Drawn for each delivery. */
const deliveryFault = z.discriminatedUnion('kind', [
  /** It is never sent. */
  z.strictObject({ kind: z.literal('dropped'), ...ofEvents }),
  z.strictObject({ kind: z.literal('delayed'), ...ofEvents, ms: milliseconds.default(5_000) }),
  /** It is sent this many times, the copies later or at once. */
  z.strictObject({
    kind: z.literal('repeated'),
    ...ofEvents,
    copies: z.int().min(2).max(1000).default(2),
    afterMs: milliseconds.default(0),
  }),
]);
export type DeliveryFault = z.output<typeof deliveryFault>;

/** Drawn for each event: it is announced before the API returns its text or call. Receipts of that time are lost. */
const earlyEvent = z.strictObject({ kind: z.literal('early'), ...ofEvents, ms: milliseconds.default(1_000) });
export type EarlyEvent = z.output<typeof earlyEvent>;

const faultSchema = z.discriminatedUnion('kind', [answerFault, deliveryFault, earlyEvent]);
export const faultList = z.array(faultSchema).max(100);

export type Fault = z.output<typeof faultSchema>;
export type FaultInput = z.input<typeof faultSchema>;

export const isAnswerFault = (fault: Fault): fault is AnswerFault => !isEarly(fault) && !isDeliveryFault(fault);
export const isDeliveryFault = (fault: Fault): fault is DeliveryFault =>
  ['dropped', 'delayed', 'repeated'].includes(fault.kind);
export const isEarly = (fault: Fault): fault is EarlyEvent => fault.kind === 'early';
