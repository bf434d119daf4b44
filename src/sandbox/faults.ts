import { z } from 'zod';
import { createRandom, deriveSeed, type Random } from './random.ts';

const rate = z.number().min(0).max(1);
const milliseconds = z.int().min(0).max(86_400_000);

/** Every fault by its name, with the value that means "none". A new fault is a line here and one place that reads it. */
export const faultSpec = z.strictObject({
  /** Added before each answer of the API. */
  latencyMs: milliseconds.default(0),
  /** Share of API requests that are answered with `status` before the route runs. */
  errorRate: rate.default(0),
  status: z.int().min(400).max(599).default(500),
  /** Seconds in the Retry-After header of injected errors; null sends none. */
  retryAfterSeconds: z.int().min(0).nullable().default(null),

  /** Share of deliveries that never leave. */
  drop: rate.default(0),
  /** Share of deliveries that leave twice. */
  duplicate: rate.default(0),
  /** Share of deliveries that are held back so that later ones overtake them. */
  reorder: rate.default(0),
  /** How late every delivery leaves. */
  delayMs: milliseconds.default(0),
  /** Call ids as bare numbers in delivered JSON. */
  unquotedCallIds: z.boolean().default(false),
  /** Deliveries as application/x-www-form-urlencoded. */
  formBodies: z.boolean().default(false),
  /** Up to so many events in one delivery, as a JSON array. */
  batch: z.int().min(1).max(1000).default(1),

  /** How much later than usual recordings and transcripts of new calls appear. */
  recordingDelayMs: milliseconds.default(0),
  transcriptDelayMs: milliseconds.default(0),
});

export type FaultSpec = z.output<typeof faultSpec>;
export type FaultInput = z.input<typeof faultSpec>;

export interface Faults {
  current(): FaultSpec;
  /** Replaces all faults; `{}` ends them. The same seed and faults strike the same way. */
  set(input: FaultInput): FaultSpec;
  readonly random: Random;
}

export function createFaults(seed: number): Faults {
  const strikeSeed = deriveSeed(seed, 'faults');
  const random = createRandom(strikeSeed);
  let current = faultSpec.parse({});
  return {
    random,
    current: () => current,
    set(input) {
      current = faultSpec.parse(input);
      random.reseed(strikeSeed);
      return current;
    },
  };
}
