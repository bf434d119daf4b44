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
  /** Of the last day, by rule; `failed` are evaluations that ended in an error. */
  readonly lastDay: readonly {
    readonly rule: string;
    readonly tried: number;
    readonly matched: number;
    readonly failed: number;
  }[];
  /** Actions of the last day, by kind and state. */
  readonly actions: readonly { readonly kind: string; readonly state: string; readonly count: number }[];
  /** Actions that the service refused, or whose effect is not certain, in the last day; the most frequent first. */
  readonly failures: readonly ActionFailure[];
}

export interface ActionFailure {
  readonly rule: string;
  readonly kind: string;
  readonly state: 'failed' | 'unclear';
  readonly reason: string;
  readonly count: number;
}

/** Undefined while no worker has looked at a rules file. */
export async function readRules(db: Database): Promise<RulesFacts | undefined> {
  const [loaded] = await query<Omit<RulesFacts, 'lastDay' | 'actions' | 'failures'>>(
    db,
    `select mode, version, loaded_at as "loadedAt", jsonb_array_length(rules) as "ruleCount", problem from ops.rules_loaded`,
    [],
  );
  if (!loaded) return undefined;
  const lastDay = await query<RulesFacts['lastDay'][number]>(
    db,
    `select rule, count(*)::integer as tried, count(*) filter (where is_matched)::integer as matched,
       count(*) filter (where reason like 'error:%')::integer as failed
     from ops.rule_runs where evaluated_at > now() - interval '1 day' group by rule order by rule`,
    [],
  );
  const actions = await query<RulesFacts['actions'][number]>(
    db,
    `select a.kind, a.state, count(*)::integer as count
     from ops.rule_runs r join ops.rule_actions a using (run_id)
     where r.evaluated_at > now() - interval '1 day' group by 1, 2 order by 1, 2`,
    [],
  );
  const failures = await query<ActionFailure>(
    db,
    `select r.rule, a.kind, a.state, coalesce(a.reason, 'no reason was kept') as reason, count(*)::integer as count
     from ops.rule_actions a join ops.rule_runs r using (run_id)
     where a.state in ('failed', 'unclear') and a.settled_at > now() - interval '1 day'
     group by 1, 2, 3, 4 order by count desc, 1, 2 limit 5`,
    [],
  );
  return { ...loaded, lastDay, actions, failures };
}
