import type { Context } from '../context.ts';
import { courses, type ScriptName, type Step } from './courses.ts';
import { strikeSubscription, subscriptionFault } from './subscriptions.ts';

/** A script under way. */
export interface RunningScript {
  name: ScriptName;
  startedAt: string;
  endsAt: string;
  /** What is in force at present. */
  step: string;
}

/**
 * Scripts by name, one at a time: idle → running → idle. One runs until its last step is over, another begins, or its
 * faults are replaced by whoever sets others; a reset does that too. It leaves no fault behind.
 */
export interface Scripts {
  /** Begins at once; `seconds` is how long the whole takes. */
  start(name: ScriptName, seconds?: number): RunningScript;
  /** Ends the faults of the script under way; without one, does nothing. */
  stop(): void;
  running(): RunningScript | null;
}

type Stage = Pick<Context, 'faults' | 'store' | 'timers' | 'now'>;

export function createScripts(stage: Stage): Scripts {
  const { faults, store, timers, now } = stage;
  let current: { script: RunningScript; revision: number } | null = null;

  const isRunning = () => current !== null && current.revision === faults.revision();

  function enter(script: RunningScript, { about, faults: next, subscription }: Step): void {
    faults.set(next);
    script.step = about;
    current = { script, revision: faults.revision() };
    const oldest = store.subscriptions.values().find(({ enabled }) => enabled);
    if (subscription === undefined || oldest === undefined) return;
    strikeSubscription(stage, oldest.id, subscriptionFault.parse(subscription));
  }

  function stop(): void {
    if (isRunning()) faults.set({});
    current = null;
  }

  return {
    stop,
    running: () => (isRunning() && current !== null ? { ...current.script } : null),
    start(name, seconds = courses[name].seconds) {
      const { steps } = courses[name];
      const startedAt = now();
      const endsAt = new Date(startedAt.getTime() + seconds * 1000);
      const script = { name, startedAt: startedAt.toISOString(), endsAt: endsAt.toISOString(), step: '' };
      const later = (share: number, act: () => void) =>
        timers.after(share * seconds * 1000, () => {
          if (isRunning() && current?.script === script) act();
        });
      enter(script, steps[0]);
      for (const step of steps.slice(1)) later(step.from, () => enter(script, step));
      later(1, stop);
      return { ...script };
    },
  };
}
