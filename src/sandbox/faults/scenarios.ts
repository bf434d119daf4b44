import { z } from 'zod';
import type { Store } from '../store/store.ts';
import type { Timers } from '../timers.ts';
import { type Faults, injectSubscriptionFault } from './faults.ts';
import { type FaultInput, type SubscriptionFaultInput, subscriptionFault } from './spec.ts';

/** The faults in force until the next step. */
interface ScenarioStep {
  /** Start, as a share of the scenario's duration. */
  from: number;
  about: string;
  faults: FaultInput;
  /** Applied to the oldest enabled subscription when the step starts. */
  subscription?: SubscriptionFaultInput;
}

/** A sequence of faults over time. When it ends, no fault is left. */
interface FaultScenario {
  about: string;
  /** Default duration. */
  seconds: number;
  steps: readonly [ScenarioStep, ...ScenarioStep[]];
}

export const scenarioNames = ['flaky', 'slow', 'outage', 'late', 'drift', 'shuffle'] as const;
export type ScenarioName = (typeof scenarioNames)[number];

const proxyDown = { kind: 'html', status: 502 } as const;
/** Faults apply to OAuth endpoints only when they name them. */
const everywhere = ['/'];

export const scenarios: Record<ScenarioName, FaultScenario> = {
  flaky: {
    about: 'Some requests fail in changing ways; some deliveries arrive twice or never.',
    seconds: 120,
    steps: [
      { from: 0, about: 'one request in ten fails with 500', faults: { errorRate: 0.1, duplicate: 0.1 } },
      {
        from: 0.25,
        about: 'connections break, before and after a request is processed',
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
        about: 'answers are truncated, empty, or the HTML page of a proxy',
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
        about: 'one read in ten gets 404, and one request in five 429',
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
    about: 'Answers get slower, finally a few bytes at a time, then faster again.',
    seconds: 120,
    steps: [
      { from: 0, about: 'half a second before each answer', faults: { latencyMs: 500 } },
      { from: 0.25, about: 'two seconds before each answer', faults: { latencyMs: 2_000 } },
      {
        from: 0.5,
        about: 'one answer in five stalls for half a minute; the others arrive 64 bytes at a time',
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
    about: 'The service goes down, with OAuth and deliveries, and comes back with throttling.',
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
        about: 'most requests get 429 or 503, and deliveries arrive late and twice',
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
    about: 'Recordings and transcripts are late or vanish; deliveries are ahead of the API or far behind it.',
    seconds: 120,
    steps: [
      {
        from: 0,
        about: 'deliveries arrive a second before the API returns their text or call',
        faults: { recordingDelayMs: 20_000, transcriptDelayMs: 30_000, deliveries: [{ kind: 'early' }] },
      },
      {
        from: 0.4,
        about: 'deliveries are ten seconds late, and half of them repeat later',
        faults: {
          recordingDelayMs: 20_000,
          transcriptDelayMs: 30_000,
          delayMs: 10_000,
          deliveries: [{ kind: 'redelivered', afterMs: 20_000, rate: 0.5 }],
        },
      },
      {
        from: 0.75,
        about: 'half of the reads find no recordings or transcripts',
        faults: { answers: [{ kind: 'noRows', rate: 0.5, operations: ['listRecordings', 'listTranscripts'] }] },
      },
    ],
  },
  drift: {
    about: 'The service behaves like another version: keys, values, limits, bodies and subscriptions change.',
    seconds: 120,
    steps: [
      {
        from: 0,
        about: 'unknown keys and values, and paging state beside the data',
        faults: { answers: [{ kind: 'newKeys' }, { kind: 'newValues', rate: 0.3 }, { kind: 'siblings', rate: 0.5 }] },
      },
      {
        from: 0.25,
        about: 'fields are null, missing, or of another type',
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
        about: 'call ids are numbers; threads allow a limit of ten and are paged from the oldest',
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
    about: 'Deliveries overtake each other, repeat and arrive in batches, while pages shift between reads.',
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
        about: 'deliveries arrive in batches, and some a hundred times',
        faults: { batch: 5, reorder: 0.3, deliveries: [{ kind: 'repeated', rate: 0.05 }] },
      },
    ],
  },
};

/** The scenario that runs, as /_sandbox/scripts shows it. */
export const runningScenario = z.object({
  name: z.enum(scenarioNames),
  startedAt: z.string(),
  endsAt: z.string(),
  step: z.string().describe('Description of the current step.'),
});
type RunningScenario = z.output<typeof runningScenario>;

interface ScenarioDeps {
  faults: Faults;
  store: Pick<Store, 'subscriptions'>;
  timers: Timers;
  now: () => Date;
}

export type ScenarioRunner = ReturnType<typeof createScenarioRunner>;

/**
 * Runs one scenario at a time: idle → running → idle. A scenario runs until its last step is over, another one starts,
 * or anyone replaces the faults, as a reset does. It leaves no faults behind.
 */
export function createScenarioRunner(deps: ScenarioDeps) {
  const { faults, store, timers, now } = deps;
  let current: { scenario: RunningScenario; revision: number } | null = null;

  const isRunning = () => current !== null && current.revision === faults.revision();

  function enter(scenario: RunningScenario, { about, faults: next, subscription }: ScenarioStep): void {
    faults.set(next);
    scenario.step = about;
    current = { scenario, revision: faults.revision() };
    const oldest = store.subscriptions.values().find(({ enabled }) => enabled);
    if (subscription === undefined || oldest === undefined) return;
    injectSubscriptionFault(deps, oldest.id, subscriptionFault.parse(subscription));
  }

  /** Removes the faults of the running scenario, if there is one. */
  function stop(): void {
    if (isRunning()) faults.set({});
    current = null;
  }

  return {
    stop,
    running: (): RunningScenario | null => (isRunning() && current !== null ? { ...current.scenario } : null),
    /** Starts at once; `seconds` is the duration of the whole scenario. */
    start(name: ScenarioName, seconds = scenarios[name].seconds): RunningScenario {
      const { steps } = scenarios[name];
      const startedAt = now();
      const endsAt = new Date(startedAt.getTime() + seconds * 1000);
      const scenario = { name, startedAt: startedAt.toISOString(), endsAt: endsAt.toISOString(), step: '' };
      const after = (share: number, act: () => void) =>
        timers.after(share * seconds * 1000, () => {
          if (isRunning() && current?.scenario === scenario) act();
        });
      enter(scenario, steps[0]);
      for (const step of steps.slice(1)) after(step.from, () => enter(scenario, step));
      after(1, stop);
      return { ...scenario };
    },
  };
}
