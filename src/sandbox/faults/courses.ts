import type { FaultInput } from './spec.ts';
import type { SubscriptionFaultInput } from './subscriptions.ts';

/** A part of a script: what is in force until the next begins. */
export interface Step {
  /** When it begins, as a share of the whole. */
  from: number;
  about: string;
  faults: FaultInput;
  /** What happens at its beginning to the oldest enabled subscription. */
  subscription?: SubscriptionFaultInput;
}

/** A course of faults over time; at its end all is well again. */
export interface Course {
  about: string;
  /** How long it takes unless told otherwise. */
  seconds: number;
  steps: readonly [Step, ...Step[]];
}

export const scriptNames = ['flaky', 'slow', 'outage', 'late', 'drift', 'shuffle'] as const;
export type ScriptName = (typeof scriptNames)[number];

const proxyDown = { kind: 'html', status: 502 } as const;
/** OAuth has no prefix of its own, so whatever strikes everything says so. */
const everywhere = ['/'];

export const courses: Record<ScriptName, Course> = {
  flaky: {
    about: 'Some requests fail in ever new ways, and some deliveries come twice or never.',
    seconds: 120,
    steps: [
      { from: 0, about: 'one request in ten fails with 500', faults: { errorRate: 0.1, duplicate: 0.1 } },
      {
        from: 0.25,
        about: 'connections break, before and after a request was carried out',
        faults: {
          drop: 0.05,
          answers: [
            { kind: 'reset', rate: 0.1 },
            { kind: 'reset', when: 'midway', rate: 0.1 },
            { kind: 'reset', when: 'after', rate: 0.1 },
          ],
        },
      },
      {
        from: 0.5,
        about: 'answers are cut, empty, or the page of a proxy',
        faults: {
          duplicate: 0.2,
          answers: [
            { ...proxyDown, rate: 0.1 },
            { kind: 'html', status: 200, rate: 0.05 },
            { kind: 'truncated', rate: 0.05 },
            { kind: 'cutOff', rate: 0.05 },
            { kind: 'empty', rate: 0.05 },
          ],
        },
      },
      {
        from: 0.75,
        about: 'objects are not found now and then, and one request in five is asked to wait',
        faults: {
          drop: 0.05,
          answers: [
            { kind: 'error', status: 404, rate: 0.1, operations: ['GET /'] },
            { kind: 'error', status: 429, retryAfterSeconds: 1, rate: 0.2 },
          ],
        },
      },
    ],
  },
  slow: {
    about: 'Answers take longer and longer, at last byte by byte, and become fast again.',
    seconds: 120,
    steps: [
      { from: 0, about: 'half a second before each answer', faults: { latencyMs: 500 } },
      { from: 0.25, about: 'two seconds before each answer', faults: { latencyMs: 2_000 } },
      {
        from: 0.5,
        about: 'one answer in five stalls for half a minute, the others drip',
        faults: {
          answers: [
            { kind: 'slow', ms: 30_000, rate: 0.2 },
            { kind: 'drip', everyMs: 100, bytes: 64 },
          ],
        },
      },
      { from: 0.8, about: 'half a second before each answer', faults: { latencyMs: 500 } },
    ],
  },
  outage: {
    about: 'The service goes down for good, OAuth and deliveries with it, and comes back under throttling.',
    seconds: 90,
    steps: [
      {
        from: 0,
        about: 'every other request fails',
        faults: { answers: [{ kind: 'error', rate: 0.5, operations: everywhere }] },
      },
      {
        from: 0.15,
        about: 'a proxy answers 502 to everything, and nothing is delivered',
        faults: { drop: 1, answers: [{ ...proxyDown, operations: everywhere }] },
      },
      {
        from: 0.4,
        about: 'connections are reset',
        faults: { drop: 1, answers: [{ kind: 'reset', operations: everywhere }] },
      },
      {
        from: 0.65,
        about: 'most requests are asked to wait, and deliveries come late and twice',
        faults: {
          duplicate: 0.5,
          delayMs: 3_000,
          answers: [
            { kind: 'error', status: 429, retryAfterSeconds: 2, rate: 0.4, operations: everywhere },
            {
              kind: 'error',
              status: 503,
              retryAfterSeconds: 3,
              retryAfterAs: 'date',
              rate: 0.4,
              operations: everywhere,
            },
          ],
        },
      },
    ],
  },
  late: {
    about: 'Recordings and transcripts come late and vanish, deliveries are ahead of the API or far behind it.',
    seconds: 120,
    steps: [
      {
        from: 0,
        about: 'events are told a second before the API knows of them',
        faults: { recordingDelayMs: 20_000, transcriptDelayMs: 30_000, deliveries: [{ kind: 'early' }] },
      },
      {
        from: 0.4,
        about: 'deliveries are ten seconds late, and come once more later',
        faults: {
          recordingDelayMs: 20_000,
          transcriptDelayMs: 30_000,
          delayMs: 10_000,
          deliveries: [{ kind: 'redelivered', afterMs: 20_000, rate: 0.5 }],
        },
      },
      {
        from: 0.75,
        about: 'half of the time recordings and transcripts are not there',
        faults: { answers: [{ kind: 'noRows', rate: 0.5, operations: ['listRecordings', 'listTranscripts'] }] },
      },
    ],
  },
  drift: {
    about: 'The service becomes another version of itself: keys, values, limits, bodies and subscriptions change.',
    seconds: 120,
    steps: [
      {
        from: 0,
        about: 'unknown keys and values, and paging state beside the data',
        faults: { answers: [{ kind: 'newKeys' }, { kind: 'newValues', rate: 0.3 }, { kind: 'siblings', rate: 0.5 }] },
      },
      {
        from: 0.25,
        about: 'fields are null, gone, or of another type',
        faults: {
          answers: [
            { kind: 'fields', change: 'null', rate: 0.3 },
            { kind: 'fields', change: 'drop', rate: 0.2 },
            { kind: 'fields', change: 'retype', rate: 0.2 },
          ],
        },
      },
      {
        from: 0.5,
        about: 'call ids are numbers, threads allow ten messages at a time and begin with the oldest',
        faults: {
          unquotedCallIds: true,
          answers: [{ kind: 'unquotedCallIds' }, { kind: 'limit', max: 10 }, { kind: 'oldestFirst' }],
        },
      },
      {
        from: 0.75,
        about: 'deliveries are wrapped, sent by PUT or as forms, and a subscription is disabled',
        faults: {
          deliveries: [
            { kind: 'wrapped', as: 'nested', rate: 0.3 },
            { kind: 'put', rate: 0.3 },
            { kind: 'form', rate: 0.3 },
            { kind: 'suffixed', rate: 0.3 },
            { kind: 'unknownType', rate: 0.2 },
          ],
        },
        subscription: { kind: 'disabled' },
      },
    ],
  },
  shuffle: {
    about: 'Deliveries overtake each other, repeat and come in batches, while pages shift under whoever reads them.',
    seconds: 90,
    steps: [
      { from: 0, about: 'deliveries overtake each other', faults: { reorder: 0.5, duplicate: 0.2 } },
      {
        from: 0.35,
        about: 'a new call or message appears after every fifth page',
        faults: { reorder: 0.5, answers: [{ kind: 'shift', announce: true, rate: 0.2 }] },
      },
      {
        from: 0.7,
        about: 'deliveries come in batches, and some a hundred times',
        faults: { batch: 5, reorder: 0.3, deliveries: [{ kind: 'repeated', rate: 0.05 }] },
      },
    ],
  },
};
