import { z } from 'zod';
import { summaryFields } from '../../resources/calls.ts';
import { isTimeZone } from '../../resources/moments.ts';

const longestWindowSeconds = 366 * 86_400;
const searchLimit = { default: 50, max: 500 };

const words = z.array(z.string()).optional();
const seconds = z.string().regex(/^\d+$/, 'must be a string of whole seconds').optional();
const secondsRange = z.strictObject({ start: seconds, end: seconds }).optional();
const clock = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time as HH:MM')
  .optional();
const direction = z.enum(['inbound', 'outbound']);

const filters = z.strictObject({
  numbers: words,
  numbersExclude: words,
  extensions: words,
  extensionsExclude: words,
  queues: words,
  queuesExclude: words,
  huntgroups: words,
  huntgroupsExclude: words,
  users: words,
  directions: z.array(direction).optional(),
  statuses: z.array(z.enum(['answered', 'missed', 'voicemail'])).optional(),
  search: z.string().optional(),
  duration: secondsRange,
  talkTime: secondsRange,
  waitTime: secondsRange,
  timeOfDay: z.strictObject({ start: clock, end: clock }).optional(),
  callPurpose: words,
  callSentiment: words,
});

/** The body of POST /calls/search (4.6), field by field. */
export const searchRequest = z
  .strictObject({
    start: z.int(),
    end: z.int(),
    timeZone: z.string().refine(isTimeZone, 'must be an IANA time zone').default('UTC'),
    limit: z
      .number()
      .refine(Number.isInteger, 'must be an integer')
      .min(1)
      .default(searchLimit.default)
      .transform((limit) => Math.min(limit, searchLimit.max)),
    offset: z.int().min(0).default(0),
    direction: direction.optional(),
    filters: filters.default({}),
    sort: z
      .strictObject({
        field: z.enum(summaryFields),
        direction: z.enum(['asc', 'desc']).default('desc'),
      })
      .optional(),
  })
  .refine(({ start, end }) => end > start, { path: ['end'], message: 'must be after start' })
  .refine(({ start, end }) => end - start <= longestWindowSeconds, {
    path: ['end'],
    message: 'must be at most 366 days after start',
  });

export type SearchRequest = z.output<typeof searchRequest>;
export type CallFilters = SearchRequest['filters'];
