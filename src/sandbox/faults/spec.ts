import { z } from 'zod';
import { eventTypes } from '../account.ts';

/**
 * Every fault that the service can have. TLS and DNS fail before a request reaches the service, so no fault stands for
 * them: point the client at a name that does not resolve, or at `https://` of this port.
 */

/** Up to the longest delay of a timer. */
const milliseconds = z.int().min(0).max(2_147_483_647);
const anyStatus = z.int().min(200).max(599);
const errorStatus = z.int().min(400).max(599);
/** Before: the request is not processed. After: the request is processed, and its own answer is lost. */
const when = z.enum(['before', 'after']).default('before');

/** How often a fault applies, whatever it does. */
const frequency = {
  rate: z.number().min(0).max(1).default(1).describe('Share of the matching requests or events that get the fault.'),
  times: z.int().min(1).optional().describe('Maximum number of times the fault applies.'),
};

/** Defines kinds of faults with common fields. */
const kindsWith =
  <Common extends z.ZodRawShape>(common: Common) =>
  <Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, description: string, shape: Shape) =>
    z.strictObject({ kind: z.literal(kind), ...common, ...frequency, ...shape }).describe(description);

const answerKind = kindsWith({
  operation: z
    .string()
    .max(1024)
    .optional()
    .describe('An operationId, or how method and path begin: `GET /calls`. Absent: every operation of the API.'),
});
const deliveryKind = kindsWith({
  type: z.enum(eventTypes).optional().describe('Absent: events of every type.'),
});

/** Faults of answers. A new kind is an entry here and its implementation in `answers.ts` or `bodies.ts`. */
const answerFault = z.discriminatedUnion('kind', [
  answerKind('error', 'A status with the error envelope of section 7.', {
    when,
    status: errorStatus.default(500),
    retryAfterSeconds: z.int().min(0).optional(),
    retryAfterAs: z.enum(['seconds', 'date']).default('seconds'),
  }),
  answerKind('html', 'The HTML page of a proxy; with status 200 it looks like a success.', {
    when,
    status: anyStatus.default(502),
  }),
  answerKind('bare', 'JSON of an intermediary: a status without the error envelope.', {
    when,
    status: errorStatus.default(403),
  }),
  answerKind('empty', 'An empty body.', { when, status: anyStatus.default(200) }),
  answerKind('redirect', 'A redirect to another address.', { when, status: z.int().min(301).max(308).default(302) }),
  answerKind('reset', 'The connection is reset; midway: in the middle of the body.', {
    when: z.enum(['before', 'midway', 'after']).default('before'),
  }),

  answerKind('slow', 'A delay before the request is processed, or before its answer is sent.', {
    when: when.default('after'),
    ms: milliseconds.default(5_000),
  }),
  answerKind('drip', 'The body arrives a few bytes at a time.', {
    everyMs: milliseconds.default(100),
    bytes: z.int().min(1).max(65_536).default(1),
  }),
  answerKind('truncated', 'Half of the body, with a matching Content-Length.', {}),
  answerKind('cutOff', 'Half of the body, then the connection ends; Content-Length promises the whole.', {}),
  answerKind('bomb', 'A small gzip body that decodes to this many bytes of JSON.', {
    bytes: z
      .int()
      .min(1024 ** 2)
      .max(4 * 1024 ** 3)
      .default(256 * 1024 ** 2),
  }),
  answerKind('contentType', 'The right body, declared as `text/html`.', {}),

  answerKind('noData', 'JSON without `data`.', {}),
  answerKind('noRows', 'Every list in the answer is empty: recordings vanish, pages contradict their total.', {}),
  answerKind('siblings', 'Paging state beside `data` (section 8).', {}),
  answerKind('fields', 'The named field is missing, null or of another type, or without a name one in each row.', {
    change: z.enum(['drop', 'null', 'retype']),
    field: z.string().min(1).optional(),
  }),
  answerKind('newKeys', 'Every row has additional, unknown keys.', {}),
  answerKind('newValues', 'Enumerated fields hold an unknown value.', {}),
  answerKind('unquotedCallIds', 'Call ids are bare numbers.', {}),

  answerKind('shift', 'After each page of calls or of a thread, a new one appears in the pages just read.', {
    announce: z.boolean().default(false).describe('With a webhook.'),
  }),
]);
export type AnswerFault = z.output<typeof answerFault>;
export type AnswerFaultOf<Kind extends AnswerFault['kind']> = Extract<AnswerFault, { kind: Kind }>;

/** Faults of deliveries, drawn for each delivery. A new kind is an entry here and its implementation in `webhooks/`. */
const deliveryFault = z.discriminatedUnion('kind', [
  deliveryKind('dropped', 'It is never sent.', {}),
  deliveryKind('delayed', 'It is sent late.', { ms: milliseconds.default(5_000) }),
  deliveryKind('reordered', 'Deliveries of the next second overtake it.', {}),
  deliveryKind('repeated', 'It is sent this many times, the copies later or at once.', {
    copies: z.int().min(2).max(1000).default(2),
    afterMs: milliseconds.default(0),
  }),
  deliveryKind('encoded', 'Its body is not the JSON of one event with its type.', {
    as: z.enum([
      'form',
      'nested',
      'array',
      'stringified',
      'unquotedCallIds',
      'unknownType',
      'contradictingType',
      'malformed',
      'truncated',
      'empty',
    ]),
  }),
  deliveryKind('oversized', 'Its body is padded with spaces to this many bytes.', {
    bytes: z
      .int()
      .min(1)
      .max(64 * 1024 ** 2)
      .default(1024 ** 2 + 1),
  }),
  deliveryKind('trickled', 'A slow loris: its body comes one byte at a time.', { everyMs: milliseconds.default(200) }),
  deliveryKind('addressed', 'PUT, GET with the event in the query, or the type appended: `…/Account-SMS`.', {
    as: z.enum(['put', 'get', 'suffixed']),
  }),
]);
export type DeliveryFault = z.output<typeof deliveryFault>;

/** Faults of what happens in the account, drawn for each event. */
const eventFault = z.discriminatedUnion('kind', [
  deliveryKind('early', 'It is announced before the API returns its text or call. Receipts of that time are lost.', {
    ms: milliseconds.default(1_000),
  }),
  deliveryKind('batched', 'Up to this many events come in one delivery, as a JSON array.', {
    events: z.int().min(2).max(1000).default(5),
  }),
  kindsWith({})('lateArtefacts', 'Recordings and transcripts of a new call appear later than usual.', {
    recordingMs: milliseconds.default(0),
    transcriptMs: milliseconds.default(0),
  }),
]);

export const faultSchema = z.discriminatedUnion('kind', [answerFault, deliveryFault, eventFault]);
export const faultList = z.array(faultSchema).max(100);

export type Fault = z.output<typeof faultSchema>;
export type FaultInput = z.input<typeof faultSchema>;
export type FaultOf<Kind extends Fault['kind']> = Extract<Fault, { kind: Kind }>;

const kindsOf = (union: { options: { shape: { kind: { value: string } } }[] }) =>
  new Set(union.options.map(({ shape }) => shape.kind.value));
const answerKinds = kindsOf(answerFault);
const deliveryKinds = kindsOf(deliveryFault);

export const isAnswerFault = (fault: Fault): fault is AnswerFault => answerKinds.has(fault.kind);
export const isDeliveryFault = (fault: Fault): fault is DeliveryFault => deliveryKinds.has(fault.kind);
