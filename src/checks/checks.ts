import type { Context } from '../context.ts';
import { type Database, type OpenDatabase, query, sql } from '../db/database.ts';
import { describeRefusal } from '../db/refusals.ts';
import { UserError } from '../shared/errors.ts';
import { automationChecks } from './automation.ts';
import { type Checks, type Find, type Finding, levels, type Seen, type Told } from './check.ts';
import { processChecks, settingChecks } from './deployment.ts';
import { mirrorChecks } from './mirror.ts';
import { postgresChecks } from './postgres.ts';
import { reportChecks } from './reporting.ts';
import { serviceChecks } from './service.ts';

/** All checks, in the order in which findings of the same level are shown. What couldn't be asked comes last. */
export const allChecks: Checks = {
  ...{ ...postgresChecks, ...processChecks, ...serviceChecks, ...mirrorChecks },
  ...{ ...automationChecks, ...reportChecks, ...settingChecks },
};

/** Checks whose findings are mere consequences of others, so their remedies would mislead. */
const hides: Readonly<Record<string, readonly string[]>> = {
  // Processes can't report themselves.
  database_takes_no_writes: ['mirror_behind', 'web_missing', 'worker_missing', 'calls_unproven'],
  web_missing: ['polling'],
  worker_missing: ['mirror_behind'],
  queue_unreachable: ['mirror_behind'],
};

/** An answer. If it can't be had, it is unknown; the others aren't affected. */
export type Part<T> =
  | { readonly state: 'known'; readonly value: T }
  | { readonly state: 'unknown'; readonly reason: string };

/** The value of a part, or `otherwise` while it is unknown. */
export const known = <T, F = undefined>(part: Part<T>, otherwise?: F): T | F =>
  part.state === 'known' ? part.value : (otherwise as F);

export const awaySentence = 'Postgres doesn’t answer: check that it runs and that DATABASE_URL is right.';

/** Postgres can't be queried, so nothing is known. */
export class DatabaseUnavailable extends UserError {
  readonly code = 'database_unavailable';
}

/** What is asked before the checks, by name. */
type Asks = Readonly<Record<string, (seen: Seen) => Promise<unknown>>>;
type Answers<A extends Asks> = { readonly [name in keyof A]: Part<Awaited<ReturnType<A[name]>>> };

/** Whom to ask. Without `metrics`, what only this process has seen is left out. */
export type Asked = Pick<Context, 'queues' | 'settings'> & {
  readonly database: Pick<OpenDatabase, 'db'>;
  readonly metrics?: Pick<Context['metrics'], 'isRefusing'> | undefined;
};

/**
 * Milliseconds after which a slow statement is given up, and one that waits for a lock. The second is shorter than
 * Postgres's deadlock_timeout, because the transaction holds a lock on every table that it has read.
 */
const [slowMs, lockedMs] = [3_000, 300];

/**
 * Asks one after the other, on one connection and in a transaction that only reads: `asks`, then the checks. One that
 * fails is unknown, and a new transaction asks the rest. Only rejects with `DatabaseUnavailable`.
 */
export async function askAll<A extends Asks>(
  { database, queues, settings, metrics }: Asked,
  asks: A,
  checks: Checks = allChecks,
): Promise<{ readonly takenAt: Date; readonly answers: Answers<A>; readonly findings: Finding[] }> {
  const rest = Object.entries<Asks[string]>({ ...asks, ...asksOf(checks) });
  const answers: Record<string, Part<unknown>> = {};
  const unknown = new Map<string, Error>();
  const isRefusing = metrics?.isRefusing() ?? false;
  const seen = { queues: queues.health(), isRefusing, settings, unknown };
  let now = new Date();

  async function askRest(db: Database): Promise<void> {
    const limits = sql`set_config('statement_timeout', ${String(slowMs)}, true), set_config('lock_timeout', ${String(lockedMs)}, true)`;
    const [moment] = await query(db, sql<{ now: Date }>`select now(), ${limits}`);
    now = moment?.now ?? now;
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
      const [name, ask] = next;
      try {
        answers[name] = { state: 'known', value: await ask({ ...seen, db, now }) };
      } catch (error) {
        const failure = error instanceof Error ? error : new Error(String(error));
        answers[name] = { state: 'unknown', reason: failure.message };
        unknown.set(name, failure);
        throw failure;
      }
    }
  }

  try {
    await database.db.connection().execute(async (db) => {
      while (rest.length > 0) {
        const asking = db.transaction().setAccessMode('read only').execute(askRest);
        await asking.catch((error) => [...unknown.values()].includes(error) || Promise.reject(error));
      }
    });
  } catch (cause) {
    const refusal = cause instanceof UserError ? { sentence: cause.message, ...cause } : describeRefusal(cause);
    const reason = refusal && `${refusal.sentence} ${refusal.remedy ?? ''}`.trim();
    throw new DatabaseUnavailable(reason ?? awaySentence, { cause });
  }
  return { takenAt: now, answers: answers as Answers<A>, findings: findingsIn(answers, checks) };
}

/** What checks ask, one after the other. */
function asksOf(checks: Checks): Readonly<Record<string, Find>> {
  const asks = Object.entries(checks).map(([id, finds]): [string, Find] => [
    id,
    async (seen) => {
      const told: Told[] = [];
      for (const find of [finds].flat()) told.push(...(await find(seen)));
      return told;
    },
  ]);
  return Object.fromEntries(asks);
}

/** The findings among the answers, most severe first, without those that are consequences of another. */
function findingsIn(answers: Readonly<Record<string, Part<unknown>>>, checks: Checks): Finding[] {
  const toldBy = (id: string) => known(answers[id] as Part<readonly Told[]>, []);
  const ids = Object.keys(checks);
  const hidden = ids.flatMap((id) => (toldBy(id).length > 0 ? (hides[id] ?? []) : []));
  return ids
    .filter((id) => !hidden.includes(id))
    .flatMap((check) => toldBy(check).map((each): Finding => ({ check, ...each, since: each.since ?? undefined })))
    .sort((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level));
}

/** Runs the checks. Rejects with `DatabaseUnavailable` while Postgres can't be queried. */
export async function findings(context: Asked, checks: Checks = allChecks): Promise<Finding[]> {
  return (await askAll(context, {}, checks)).findings;
}
