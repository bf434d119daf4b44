import { z } from 'zod';
import { eventTypes } from '../account.ts';

/**
 * Every fault that the service can have, as zod schemas: faults of answers, of deliveries and of subscriptions. TLS and
 * DNS fail before a request reaches the service, so no fault stands for them: point the client at a name that does not
 * resolve, or at `https://` of this port.
 */

const share = z.number().min(0).max(1);
/** Up to the longest delay of a timer. */
const milliseconds = z.int().min(0).max(2_147_483_647);
const upToOneDay = z.int().min(0).max(86_400_000);

/** How often a fault applies, whatever it does. */
const drawFields = {
  rate: share.default(1).describe('Share of the matching requests or deliveries that get the fault.'),
  times: z.int().min(1).optional().describe('Maximum number of times the fault applies.'),
};

const operations = z
  .array(
    z
      .string()
      .regex(
        /^(?:[a-z][A-Za-z]*|(?:(?:GET|POST|PUT|PATCH|DELETE) )?\/\S*)$/,
        'must be an operationId, or a path prefix',
      )
      .describe(
        'An operationId, or a path prefix with or without a method: `GET /calls`. Paths are those of section 4; OAuth paths begin with `/api/v1/oauth`.',
      ),
  )
  .min(1)
  .max(50);

/** Defines kinds of faults with common fields. */
const kindsWith =
  <Common extends z.ZodRawShape>(common: Common) =>
  <Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, description: string, shape: Shape) =>
    z.strictObject({ kind: z.literal(kind), ...common, ...drawFields, ...shape }).describe(description);

const answerKind = kindsWith({ operations: operations.optional() });
const threadKind = kindsWith({ operations: operations.default(['readThread']) });
const pageKind = kindsWith({ operations: operations.default(['readThread', 'searchCalls']) });
const deliveryKind = kindsWith({ types: z.array(z.enum(eventTypes)).min(1).optional() });

/** Before: the request is not processed. After: the request is processed, and its own answer is lost. */
const when = z.enum(['before', 'after']).default('before');
const anyStatus = z.int().min(200).max(599);
const errorStatus = z.int().min(400).max(599);

/** Faults of answers. A new kind is an entry here and its implementation in `answers.ts` or `bodies.ts`. */
const answerFault = z.discriminatedUnion('kind', [
  answerKind('error', 'A status with the error envelope of section 7.', {
    when,
    status: errorStatus.default(500),
    retryAfterSeconds: z.int().min(0).nullable().default(null),
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
  answerKind('redirect', 'A redirect to another address.', {
    when,
    status: z.union([301, 302, 303, 307, 308].map((status) => z.literal(status))).default(302),
    location: z.string().max(1024).default('/elsewhere'),
  }),
  answerKind(
    'reset',
    'The connection is reset: before the request is processed, after it, in place of the answer, or midway through the body.',
    { when: z.enum(['before', 'midway', 'after']).default('before') },
  ),

  answerKind('slow', 'The first byte is late: a delay before the request is processed, or before its answer is sent.', {
    ms: milliseconds.default(5_000),
    when: when.default('after'),
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
      .min(1_048_576)
      .max(4 * 1024 ** 3)
      .default(256 * 1024 ** 2),
  }),
  answerKind('contentType', 'The right body with a wrong content type.', {
    value: z.string().max(100).default('text/html'),
  }),

  answerKind('noData', 'JSON without `data`.', {}),
  answerKind('noRows', 'Every list in the answer is empty: recordings vanish, pages contradict their total.', {}),
  answerKind('siblings', 'Paging state beside `data` (section 8).', {}),
  answerKind(
    'fields',
    'A field is missing, null or of another type: the named field everywhere, or a random one in each row.',
    { change: z.enum(['drop', 'null', 'retype']), field: z.string().min(1).optional() },
  ),
  answerKind('newKeys', 'Every row has additional, unknown keys.', {}),
  answerKind('newValues', 'Enumerated fields hold an unknown value.', {}),
  answerKind('unquotedCallIds', 'Call ids are bare numbers.', {}),

  pageKind(
    'shift',
    'After each answer, a new call or message appears in the pages just read; by default without a webhook.',
    { announce: z.boolean().default(false) },
  ),
  threadKind('oldestFirst', 'Threads are paged from the oldest.', {}),
  threadKind('limit', 'Threads refuse a larger limit.', { max: z.int().min(1).default(20) }),
]);

export type AnswerFault = z.output<typeof answerFault>;
export type AnswerFaultOf<Kind extends AnswerFault['kind']> = Extract<AnswerFault, { kind: Kind }>;

const oneWeekMs = 7 * 86_400_000;

/** Faults of deliveries. A new kind is an entry here and its implementation in `webhooks/`. */
const deliveryFault = z.discriminatedUnion('kind', [
  deliveryKind('dropped', 'It is never sent.', {}),
  deliveryKind('delayed', 'It is sent late.', { ms: milliseconds.default(5_000) }),
  deliveryKind('heldBack', 'Deliveries of the next second overtake it.', {}),
  deliveryKind('repeated', 'It is sent this many times at once.', {
    copies: z.int().min(2).max(1000).default(100),
  }),
  deliveryKind('redelivered', 'It is sent once more, by default a week later; until then it counts as pending.', {
    afterMs: milliseconds.default(oneWeekMs),
  }),
  deliveryKind('early', 'It is sent before the API returns its text or call. Receipts of that time are lost.', {
    ms: milliseconds.default(1_000),
  }),

  deliveryKind('unquotedCallIds', 'Call ids are bare numbers.', {}),
  deliveryKind('form', 'A form instead of JSON.', {}),
  deliveryKind('wrapped', 'The event inside `{ data: { object } }`, an array, or a string within JSON.', {
    as: z.enum(['nested', 'array', 'stringified']),
  }),
  deliveryKind('unknownType', '`webhookType` is not one of the listed types.', {}),
  deliveryKind('contradictingType', '`webhookType` is that of another event.', {}),
  deliveryKind('malformed', 'Malformed JSON.', {}),
  deliveryKind('truncated', 'Half of the body.', {}),
  deliveryKind('empty', 'An empty body.', {}),
  deliveryKind('oversized', 'The body is padded with spaces to this many bytes.', {
    bytes: z
      .int()
      .min(1)
      .max(64 * 1024 ** 2)
      .default(1024 ** 2 + 1),
  }),

  deliveryKind('trickled', 'A slow loris: one byte at a time.', { everyMs: milliseconds.default(200) }),
  deliveryKind('put', 'PUT instead of POST.', {}),
  deliveryKind('get', 'GET with the event in the query.', {}),
  deliveryKind('suffixed', 'The event type is appended to the address: `…/Account-SMS`.', {}),
]);

export type DeliveryFault = z.output<typeof deliveryFault>;

/** Changes that a service may make to a subscription without a request. */
export const subscriptionFault = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('disabled') }).describe('It is disabled.'),
  z.strictObject({ kind: z.literal('deleted') }).describe('It is deleted.'),
  z
    .strictObject({ kind: z.literal('retyped'), type: z.enum(eventTypes).optional() })
    .describe('It fires on events of another type; by default the next in the list.'),
  z
    .strictObject({ kind: z.literal('redirected'), url: z.url().max(1024).default('https://elsewhere.invalid/hooks') })
    .describe('It gets another URL.'),
  z.strictObject({ kind: z.literal('duplicated') }).describe('It exists twice.'),
]);

export type SubscriptionFault = z.output<typeof subscriptionFault>;
export type SubscriptionFaultInput = z.input<typeof subscriptionFault>;

/**
 * The body of POST /_sandbox/faults. The defaults mean "no fault". The plain keys are short forms of entries in
 * `answers` and `deliveries`, which take any number of faults at once.
 */
export const faultSpec = z.strictObject({
  latencyMs: upToOneDay.default(0).describe('Delay before each API request is processed.'),
  errorRate: share.default(0).describe('Share of API requests that get `status` before the route runs.'),
  status: errorStatus.default(500),
  retryAfterSeconds: z
    .int()
    .min(0)
    .nullable()
    .default(null)
    .describe('The Retry-After header of these errors; null omits it.'),
  noMessageId: share
    .default(0)
    .describe('Share of sends whose answer has no message id; the message is sent and charged all the same (2.3).'),
  answers: z.array(answerFault).max(50).default([]).describe('Faults of answers.'),

  drop: share.default(0).describe('Share of deliveries that are never sent.'),
  duplicate: share.default(0).describe('Share of deliveries that are sent twice.'),
  reorder: share.default(0).describe('Share of deliveries that are held back so that later ones overtake them.'),
  delayMs: upToOneDay.default(0).describe('Delay of every delivery.'),
  unquotedCallIds: z.boolean().default(false).describe('Call ids as bare numbers in delivered JSON.'),
  formBodies: z.boolean().default(false).describe('Deliveries as application/x-www-form-urlencoded.'),
  batch: z.int().min(1).max(1000).default(1).describe('Maximum number of events in one delivery, as a JSON array.'),
  deliveries: z.array(deliveryFault).max(50).default([]).describe('Faults of deliveries.'),

  recordingDelayMs: upToOneDay.default(0).describe('Additional delay of recordings of new calls.'),
  transcriptDelayMs: upToOneDay.default(0).describe('Additional delay of transcripts of new calls.'),
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
