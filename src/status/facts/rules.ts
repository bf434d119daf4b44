import { type Database, query } from '../../warehouse/database.ts';

/** The rules that the workers go by, and what they did lately. */
export interface RulesFacts {
  readonly mode: string;
  /** Null while no file was ever good. */
  readonly version: string | null;
  readonly loadedAt: Date | null;
  readonly ruleCount: number;
  /** Why the newest file is not in force. */
  readonly problem: string | null;
  /** Of the last day, by rule. */
  readonly lastDay: readonly { readonly rule: string; readonly tried: number; readonly matched: number }[];
  /** Actions whose effect is not certain, or that the service refused, in the last day. */
  readonly failedCount: number;
}

/** Undefined while no worker has looked at a rules file. */
export async function readRules(db: Database): Promise<RulesFacts | undefined> {
  const [row] = await query<RulesFacts>(
    db,
    `select mode, version, loaded_at as "loadedAt", jsonb_array_length(rules) as "ruleCount", problem,
       (select count(*)::integer from ops.rule_actions
        where state in ('failed', 'unclear') and settled_at > now() - interval '1 day') as "failedCount",
       (select coalesce(jsonb_agg(d order by d.rule), '[]') from (
          select rule, count(*) as tried, count(*) filter (where is_matched) as matched from ops.rule_runs
          where evaluated_at > now() - interval '1 day' group by rule) d) as "lastDay"
     from ops.rules_loaded`,
    [],
  );
  return row;
}
