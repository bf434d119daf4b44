import type { RawBuilder } from 'kysely';
import { goneAfterSeconds } from '../db/connection-limits.ts';
import { type Database, hotQuery, query, sql, type Transaction } from '../db/database.ts';
import { type AccountLimits, accountLimits, type Mode, modes } from './limits.ts';

/** A row of `ops.rule_versions`: rules that were applied. */
export interface RulesVersion {
  readonly version: number;
  /** The rules as YAML. */
  readonly text: string;
  readonly appliedAt: Date;
  /** A name, or RULES_FILE. */
  readonly by: string;
  readonly why: string | null;
  readonly rules: readonly {
    readonly name: string;
    readonly on: string;
    readonly mode: Mode;
    /** It depends on local times of TIME_ZONE. */
    readonly usesHours: boolean;
  }[];
  readonly limits: Partial<AccountLimits>;
}

/** SQL: a row `v` of `ops.rule_versions` is in force. */
export const isInForce = sql`v.version = (select max(version) from ops.rule_versions)`;

/** The chosen versions, the newest first; by default the one in force. */
export function readVersions(
  db: Database | Transaction,
  which: RawBuilder<unknown> = isInForce,
): Promise<RulesVersion[]> {
  return hotQuery<RulesVersion>(
    db,
    sql`select version, body as text, applied_at as "appliedAt", applied_by as by, why, rules, limits
      from ops.rule_versions v where ${which} order by version desc`,
  );
}

/** The rules that all workers use. Undefined before any rules were applied. */
export async function readInForce(db: Database | Transaction): Promise<RulesVersion | undefined> {
  return (await readVersions(db))[0];
}

/** The account's limits in the rules in force, with defaults for the others. */
export async function readLimits(db: Database | Transaction): Promise<AccountLimits> {
  return accountLimits((await readInForce(db))?.limits);
}

/** SQL: the mode of a rule in force; `off` if it isn't. `live` before any rules were applied. */
export const ruleMode = (rule: RawBuilder<unknown>) => sql`coalesce((
  select coalesce((select each ->> 'mode' from jsonb_array_elements(v.rules) each where each ->> 'name' = ${rule}), 'off')
  from ops.rule_versions v where ${isInForce}), 'live')`;

export async function readRuleMode(db: Database | Transaction, rule: string): Promise<Mode> {
  const [row] = await query<{ mode: Mode }>(db, sql`select ${ruleMode(sql`${rule}::text`)} as mode`);
  return row?.mode ?? 'live';
}

/** SQL: the process of a row `p` of `ops.processes` works. */
const isRunning = sql`p.rules_mode is not null and p.seen_at > now() - ${sql.lit(goneAfterSeconds)} * interval '1 second'`;

/** The highest RULES_MODE of the running workers; undefined while none runs. */
export async function readAllowedMode(db: Database | Transaction): Promise<Mode | undefined> {
  const [row] = await query<{ mode: Mode | null }>(
    db,
    sql`select (${modes}::text[])[max(array_position(${modes}::text[], p.rules_mode))] as mode from ops.processes p where ${isRunning}`,
  );
  return row?.mode ?? undefined;
}

/** Whether another running worker has a higher RULES_MODE: this worker then leaves the work to it. */
export async function isOutranked(db: Database | Transaction, mode: Mode): Promise<boolean> {
  const rows = await hotQuery(
    db,
    sql`select from ops.processes p
      where array_position(${modes}::text[], p.rules_mode) > array_position(${modes}::text[], ${mode}) and ${isRunning} limit 1`,
  );
  return rows.length > 0;
}
