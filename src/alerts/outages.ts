import { randomUUID } from 'node:crypto';
import { outageOf } from '../checks/postgres.ts';
import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import { beat } from '../shared/beat.ts';
import { type Alert, deliver } from './messages.ts';
import { recordOutage } from './store.ts';

/** How long a finding must last before its alert is sent, and how long it must be absent before the end is sent. */
export const holdMs = 30_000;

/**
 * SQLSTATE classes of faulty statements, for example when a migration is missing. The log names these errors; they
 * aren't an outage.
 */
const ownMistake = /^(?:42|22|23)...$/;

/** The drivers' own errors are plain, so these come from our code. */
const isFaultOfCode = (error: unknown) =>
  error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;

export type Outages = ReturnType<typeof createOutages>;

/**
 * Alerts from memory that Postgres is away or refuses writes, because nothing can be recorded then. The process that
 * last evaluated the checks sends this alert. So does a process that starts during the outage, because perhaps no other
 * process runs.
 */
export function createOutages({ settings, log }: Pick<Context, 'settings' | 'log'>) {
  const targets = settings.notify.alerts;
  let isWatching = true;
  let outage: { alert: Alert; readonly toldTo: Set<string>; tries: number } | undefined;
  let overAt: number | undefined;

  /** Tells of this error of Postgres once such errors have lasted. */
  async function failed(error: unknown): Promise<void> {
    const code = String((error as { code?: unknown }).code ?? '');
    if (ownMistake.test(code) || isFaultOfCode(error)) return;
    const { check, level, sentence, remedy } = outageOf(code);
    const found = { kind: 'began', check, level, sentence, remedy, endedAt: null, told: null } as const;
    outage ??= { alert: { ...found, alertId: randomUUID(), since: new Date() }, toldTo: new Set(), tries: 0 };
    overAt = undefined;
    const { toldTo } = outage;
    if (toldTo.size === 0) outage.alert = { ...outage.alert, ...found };
    const { alert } = outage;
    if (Date.now() - Number(alert.since) < beat.ms(holdMs)) return;
    outage.tries += 1;
    const attempt = { settings, log, tries: outage.tries };
    const telling = targets.map(async (target) => {
      if (!toldTo.has(target) && (await deliver(target, alert, attempt)) === undefined) toldTo.add(target);
    });
    await Promise.all(telling);
  }

  return {
    failed,
    /** Runs a round of the watch: claims it, and evaluates the checks if this process has the lease. */
    async during(db: Database, claim: () => Promise<boolean>, evaluate: () => Promise<void>): Promise<void> {
      try {
        isWatching = await claim();
        // Before the checks: one that still finds the fault then continues this alert.
        if (outage && outage.toldTo.size > 0) {
          for (const target of targets) await recordOutage(db, target, outage.alert, outage.toldTo.has(target));
        }
        if (isWatching) await evaluate();
      } catch (error) {
        if (isWatching) await failed(error);
        throw error;
      }
      if (outage === undefined) return;
      // An outage that returns within this time is the same one, and isn't sent again.
      overAt ??= Date.now();
      if (outage.toldTo.size === 0 || Date.now() - overAt >= beat.ms(holdMs)) outage = undefined;
    },
  };
}
