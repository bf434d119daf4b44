import { z } from 'zod';
import { lotFields, milliseconds } from './lots.ts';

const operations = z
  .array(
    z
      .string()
      .regex(
        /^(?:[a-z][A-Za-z]*|(?:(?:GET|POST|PUT|PATCH|DELETE) )?\/\S*)$/,
        'must be an operationId, or a path prefix',
      )
      .describe(
        'An operationId, or the beginning of a path, with or without a method before it: `GET /calls`. Paths are those of section 4; the ones of OAuth begin with `/api/v1/oauth`.',
      ),
  )
  .min(1)
  .max(50);

const common = { operations: operations.optional(), ...lotFields };
const ofThreads = { ...common, operations: operations.default(['readThread']) };
const ofPages = { ...common, operations: operations.default(['readThread', 'searchCalls']) };

/** Before: nothing is carried out. After: the request is carried out, and its own answer is lost. */
const when = z.enum(['before', 'after']).default('before');

/** What can go wrong with an answer, by its kind. A new kind is a line here and one place in `strikes/`. */
export const answerFault = z.discriminatedUnion('kind', [
  z
    .strictObject({
      kind: z.literal('error'),
      ...common,
      when,
      status: z.int().min(400).max(599).default(500),
      retryAfterSeconds: z.int().min(0).nullable().default(null),
      retryAfterAs: z.enum(['seconds', 'date']).default('seconds'),
    })
    .describe('A status with the error envelope of section 7.'),
  z
    .strictObject({ kind: z.literal('html'), ...common, when, status: z.int().min(200).max(599).default(502) })
    .describe('The page of a proxy; with status 200 it poses as a success.'),
  z
    .strictObject({ kind: z.literal('bare'), ...common, when, status: z.int().min(400).max(599).default(403) })
    .describe('JSON of something in between: a status without the error envelope.'),
  z
    .strictObject({ kind: z.literal('empty'), ...common, when, status: z.int().min(200).max(599).default(200) })
    .describe('No body at all.'),
  z
    .strictObject({
      kind: z.literal('redirect'),
      ...common,
      when,
      status: z.union([301, 302, 303, 307, 308].map((status) => z.literal(status))).default(302),
      location: z.string().max(1024).default('/elsewhere'),
    })
    .describe('Points elsewhere.'),
  z
    .strictObject({
      kind: z.literal('reset'),
      ...common,
      when: z.enum(['before', 'midway', 'after']).default('before'),
    })
    .describe(
      'The connection is reset: before anything is carried out; after it was, in place of the answer; or midway through its body.',
    ),

  z
    .strictObject({ kind: z.literal('slow'), ...common, ms: milliseconds.default(5_000), when: when.default('after') })
    .describe('The first byte is late: the request waits before it is carried out, or its answer afterwards.'),
  z
    .strictObject({
      kind: z.literal('drip'),
      ...common,
      everyMs: milliseconds.default(100),
      bytes: z.int().min(1).max(65_536).default(1),
    })
    .describe('The body comes a few bytes at a time.'),
  z.strictObject({ kind: z.literal('truncated'), ...common }).describe('Half of the body, framed as if it were all.'),
  z
    .strictObject({ kind: z.literal('cutOff'), ...common })
    .describe('Half of the body; Content-Length promises the whole, and the connection ends.'),
  z
    .strictObject({
      kind: z.literal('bomb'),
      ...common,
      bytes: z
        .int()
        .min(1_048_576)
        .max(4 * 1024 ** 3)
        .default(256 * 1024 ** 2),
    })
    .describe('A small gzip body that decodes to so many bytes of JSON.'),
  z
    .strictObject({ kind: z.literal('contentType'), ...common, value: z.string().max(100).default('text/html') })
    .describe('The right body under a wrong name.'),

  z.strictObject({ kind: z.literal('noData'), ...common }).describe('JSON without its `data`.'),
  z
    .strictObject({ kind: z.literal('noRows'), ...common })
    .describe('Every list in the answer is empty: recordings vanish, pages lie about their total.'),
  z.strictObject({ kind: z.literal('siblings'), ...common }).describe('Paging state beside `data` (section 8).'),
  z
    .strictObject({
      kind: z.literal('fields'),
      ...common,
      change: z.enum(['drop', 'null', 'retype']),
      field: z.string().min(1).optional(),
    })
    .describe('A field is gone, null or of another type: the named one wherever it stands, or one at random per row.'),
  z.strictObject({ kind: z.literal('newKeys'), ...common }).describe('Every row has keys that nobody knows.'),
  z
    .strictObject({ kind: z.literal('newValues'), ...common })
    .describe('Fields that enumerate hold a value that nobody knows.'),
  z.strictObject({ kind: z.literal('unquotedCallIds'), ...common }).describe('Call ids are bare numbers.'),

  z
    .strictObject({ kind: z.literal('shift'), ...ofPages, announce: z.boolean().default(false) })
    .describe(
      'After each answer another call or message appears where the pages were read; by default no webhook tells.',
    ),
  z.strictObject({ kind: z.literal('oldestFirst'), ...ofThreads }).describe('Threads are paged from their beginning.'),
  z
    .strictObject({ kind: z.literal('limit'), ...ofThreads, max: z.int().min(1).default(20) })
    .describe('Threads refuse a larger limit.'),
]);

export type AnswerFault = z.output<typeof answerFault>;
type AnswerKind = AnswerFault['kind'];
export type AnswerFaultOf<Kind extends AnswerKind> = Extract<AnswerFault, { kind: Kind }>;

/** A request as the faults see it. */
export interface Asked {
  operationId: string | undefined;
  method: string;
  /** Without the prefix of the API, and without the query. */
  path: string;
  /** False for what lies outside the prefix: it is struck only where it is named. */
  isApi: boolean;
}

export function concerns({ operations: named }: AnswerFault, asked: Asked): boolean {
  if (named === undefined) return asked.isApi;
  return named.some((name) => {
    if (!name.includes('/')) return name === asked.operationId;
    const [path = '', method = asked.method] = name.split(' ').reverse();
    return method === asked.method && asked.path.startsWith(path);
  });
}
