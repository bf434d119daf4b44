import type { RawBuilder } from 'kysely';
import { type Database, query, sql, type Transaction } from '../db/database.ts';
import type { AccountLimits } from './limits.ts';

/*
 * ops.rules_loaded holds the rules of each worker. During a deploy, workers may have different rules. A planned send
 * stays in force as long as any worker has its rule, and a single worker evaluates new triggers.
 */

type Mode = 'off' | 'dry-run' | 'live';

/** Seconds without a heartbeat after which a worker counts as dead. */
const goneAfterSeconds = 15;

/**
 * After a worker has stopped, its planned sends stay in force for so many seconds: its successor may have other rules.
 */
export const inForceSeconds = 60;

/** SQL: seen within so many seconds. Ignores a time in the future, written while the clock of Postgres was wrong. */
const isSeenWithin = (seconds: number) =>
  sql`l.seen_at between now() - ${sql.lit(seconds)} * interval '1 second' and now() + ${sql.lit(inForceSeconds)} * interval '1 second'`;

/** SQL: the worker of a row `l` runs. */
export const isRunning = sql`(l.stopped_at is null and ${isSeenWithin(goneAfterSeconds)})`;

/**
 * SQL: the mode of a rule: the most permissive one in the files of running workers. If none of them has the rule,
 * workers that stopped within the last minute count. `off` if nobody has the rule, `unknown` while no worker has a
 * valid file, `live` if no worker ever had rules.
 */
export const ruleMode = (rule: RawBuilder<unknown>) => sql`(
  select case when not exists (select from ops.rules_loaded) then 'live' when count(*) = 0 then 'unknown'
    else (array['off', 'dry-run', 'live'])[coalesce(max(r.rank) filter (where ${isRunning}), max(r.rank), 1)] end
  from ops.rules_loaded l left join lateral (
    select array_position(array['off', 'dry-run', 'live'], each ->> 'mode') as rank
    from jsonb_array_elements(l.rules) each where each ->> 'name' = ${rule}) r on true
  where l.version is not null and ${isSeenWithin(inForceSeconds)})`;

export async function readRuleMode(db: Database | Transaction, rule: string): Promise<Mode | 'unknown'> {
  const [row] = await query<{ mode: Mode | 'unknown' }>(db, sql`select ${ruleMode(sql`${rule}::text`)} as mode`);
  return row?.mode ?? 'live';
}

/** Whether a worker with RULES_MODE=live is running. It does what workers in other modes may not do. */
export async function isAnyLive(db: Database | Transaction): Promise<boolean> {
  const rows = await query(db, sql`select from ops.rules_loaded l where l.mode = 'live' and ${isRunning} limit 1`);
  return rows.length > 0;
}

/** A running worker and its rules. */
export interface LoadedRules {
  readonly processId: string;
  /** Null until a file has been valid. */
  readonly version: string | null;
  /** Its RULES_MODE. */
  readonly mode: Mode;
  readonly loadedAt: Date | null;
  /** Why its newest file isn't in use. */
  readonly problem: string | null;
  readonly rules: readonly {
    readonly name: string;
    readonly on: string;
    readonly mode: Mode;
    readonly heldBack?: 'time_zone_unset';
  }[];
  /** Keys (`sinceKey`) of the rules that aren't off. */
  readonly keys: readonly string[];
  readonly limits: Partial<AccountLimits>;
  /** Whether its rules depend on hours, and their time zone: null until somebody sets one. */
  readonly usesHours: boolean;
  readonly timeZone: string | null;
}

const columns = sql`l.process_id as "processId", l.version, l.mode, l.loaded_at as "loadedAt", l.problem, l.rules,
  case when l.version is null then '{}' else array(select jsonb_object_keys(l.since)) end as keys, l.limits,
  l.is_using_hours as "usesHours", l.time_zone as "timeZone"`;

/** The running workers, newest file first. */
export function readRunning(db: Database | Transaction): Promise<LoadedRules[]> {
  return query<LoadedRules>(
    db,
    sql`select ${columns} from ops.rules_loaded l where ${isRunning} order by l.loaded_at desc nulls last, l.process_id`,
  );
}

/** The rules in use: those of the evaluating worker. If no worker is running, those of the one seen last. */
export async function readInUse(db: Database | Transaction): Promise<LoadedRules | undefined> {
  const running = await readRunning(db);
  const inUse = chooseEvaluator(running) ?? running[0];
  if (inUse) return inUse;
  const [last] = await query<LoadedRules>(
    db,
    sql`select ${columns} from ops.rules_loaded l order by l.seen_at desc, l.process_id limit 1`,
  );
  return last;
}

/**
 * The worker whose rules are evaluated if workers differ. Only the highest RULES_MODE counts; among these, a worker
 * whose rules include all the others', else the one that loaded its file last. Undefined if none has rules. `running`
 * has the newest file first.
 */
export function chooseEvaluator(running: readonly LoadedRules[]): LoadedRules | undefined {
  const loaded = running.filter(({ version, mode }) => version !== null && mode !== 'off');
  const live = loaded.filter(({ mode }) => mode === 'live');
  const able = live.length > 0 ? live : loaded;
  const all = new Set(able.flatMap(({ keys }) => keys));
  return able.find(({ keys }) => keys.length === all.size) ?? able[0];
}
