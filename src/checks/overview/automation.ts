import { type Database, query, sql } from '../../db/database.ts';
import { type LedgerSummary, summarizeSends } from '../../ledger/control.ts';
import { countWaiting } from '../../ledger/opt-outs.ts';
import { readAllowedMode, readInForce } from '../../ledger/rules-in-force.ts';
import { type RuleCounts, readRuleCounts } from '../../reporting/outcomes.ts';
import type { RulesProblem } from '../../rules/file/problems.ts';
import type { Mode } from '../../rules/rule.ts';
import { checkVersion } from '../../rules/versions.ts';
import { maskKey } from '../../shared/masking.ts';
import { readUsersZone } from '../../warehouse/users.ts';

/** The rules in force, and their results. */
export interface RulesStatus {
  /** What they may do: the highest RULES_MODE of the running workers. */
  readonly mode: Mode;
  readonly version: number;
  readonly appliedAt: Date;
  readonly by: string;
  readonly why: string | null;
  readonly ruleCount: number;
  /** The first error in the version in force, if this release does not understand it. */
  readonly unreadable: RulesProblem | null;
  /** The last date of the calendar whose dated holidays end first. Null without any. */
  readonly lastHoliday: string | null;
  /** Whether rules depend on hours in TIME_ZONE. */
  readonly usesHours: boolean;
  /** The most frequent time zone of the account's users. Null until one is known. */
  readonly usersZone: string | null;
  /** Today's evaluations, by the local day of the reports. */
  readonly today: readonly RuleCounts[];
  /** Evaluations of the last day that ended in an error, by rule. */
  readonly failing: readonly { readonly rule: string; readonly count: number }[];
  /** Actions of the last day that the service refused, or whose effect is uncertain. Most frequent first. */
  readonly failures: readonly ActionFailure[];
  /** Targets that have refused a step of a rule several times, with the steps that wait for them. */
  readonly refusingTargets: readonly RefusingTarget[];
}

export interface RefusingTarget {
  readonly target: string;
  readonly count: number;
  readonly since: Date;
  readonly reason: string;
}

export interface ActionFailure {
  readonly rule: string;
  readonly kind: string;
  readonly state: 'failed' | 'unclear';
  readonly reason: string;
  readonly count: number;
}

/** Undefined until rules were applied. */
export async function readRules(db: Database): Promise<RulesStatus | undefined> {
  const inForce = await readInForce(db);
  if (!inForce) return undefined;
  const { version, appliedAt, by, why, rules } = inForce;
  const { problem = null, lastHoliday = null } = checkVersion(inForce);
  const loaded = {
    mode: (await readAllowedMode(db)) ?? 'live',
    ...{ version, appliedAt, by, why, ruleCount: rules.length, unreadable: problem, lastHoliday },
    usesHours: rules.some(({ usesHours, mode }) => usesHours && mode !== 'off'),
    usersZone: await readUsersZone(db),
  };
  const failing = await query<RulesStatus['failing'][number]>(
    db,
    sql`select rule, count(*)::integer as count from ops.rule_runs
     where not is_matched and reason like 'error:%' and evaluated_at > now() - interval '1 day' group by rule order by rule`,
  );
  const failures = await query<ActionFailure>(
    db,
    sql`select r.rule, concat_ws(' ', a.kind, a.target) as kind, a.state, coalesce(a.reason, 'no reason recorded') as reason, count(*)::integer as count
     from ops.rule_actions a join ops.rule_runs r using (run_id)
     where a.state in ('failed', 'unclear') and a.settled_at > now() - interval '1 day'
     group by 1, 2, 3, 4 order by count desc, 1, 2 limit 5`,
  );
  const refusingTargets = await query<RefusingTarget>(
    db,
    sql`select target, count(*)::integer as count, min(evaluated_at) as since, max(a.reason) as reason
     from ops.rule_actions a join ops.rule_runs r using (run_id)
     where a.state = 'waiting' and target is not null and tries >= 5 group by target order by target`,
  );
  return { ...loaded, today: await readRuleCounts(db, 'today'), failing, failures, refusingTargets };
}

/** The ledger, and why automatic texts don't leave. Simulated sends are counted separately. */
export interface SendsStatus extends LedgerSummary {
  /** The dry-run part of `counts`. */
  readonly simulated: LedgerSummary['counts'];
  /** The part of `counts.DENIED` that every gate let pass: only simulated sends. */
  readonly passedCount: number;
  /** Live sends of the last day that failed or wait, by state and reason. Most frequent first. */
  readonly troubles: readonly SendTrouble[];
  /** Numbers that may have opted out and still need a decision. */
  readonly waitingOptOuts: number;
  /**
   * The dearest segment of the last day, and the newest price before it, in micro-dollars; null while nothing was charged.
   */
  readonly dearest: { readonly micros: number; readonly at: Date; readonly beforeMicros: number | null } | null;
  /** Texts that a person has to approve; null for none. */
  readonly approvals: { readonly count: number; readonly since: Date; readonly isLate: boolean } | null;
}

export interface SendTrouble {
  readonly kind: /** The service refused it or could not be reached; it is not retried. */
    | 'refused'
    /** A daily budget is used up. */
    | 'budget'
    /** It was planned a minute or more ago and hasn't left, or waits as long for the rest of a daily budget. */
    | 'held_up';
  readonly reason: string;
  readonly count: number;
  readonly lastAt: Date;
  /** Masked. */
  readonly lines: readonly string[];
  /** No text has left on any of these lines since the first of these sends. */
  readonly isTotal: boolean;
  /** A text has left on each of these lines since the last of these sends. */
  readonly isOver: boolean;
}

/** A send without obstacles leaves within seconds. */
const heldUpSeconds = 60;

/** A row that is never sent, because its rule, or its worker's RULES_MODE, is dry-run. */
const isSimulated = sql`(s.mode = 'dry-run' or coalesce(s.reason, '') = 'dry_run')`;

export async function readSends(db: Database): Promise<SendsStatus> {
  const counted = await query<{ state: keyof LedgerSummary['counts']; count: number; passed: number }>(
    db,
    sql`select state, count(*)::integer as count, count(*) filter (where reason = 'dry_run')::integer as passed from ops.sends s where s.planned_at > now() - interval '1 day' and ${isSimulated}
     group by state`,
  );
  const troubles = await query<SendTrouble>(
    db,
    sql`with recent as (
       select s.line, s.state, split_part(coalesce(s.reason, ''), E'\\n', 1) as reason, coalesce(s.settled_at, s.planned_at) as at,
         case when s.state in ('REJECTED', 'NOT_SENT') then 'refused'
           when s.state in ('PLANNED', 'HELD') and s.reason ~ '^gate:budget_(account|line|money)' then
             case when greatest(s.planned_at, s.approved_at) < now() - ${heldUpSeconds} * interval '1 second' then 'held_up' end
           when s.reason ~ '^gate:budget_(account|line|money)' and s.settled_at > date_trunc('day', now(), 'UTC') then 'budget'
           when s.state = 'PLANNED' and greatest(s.planned_at, s.approved_at) < now() - ${heldUpSeconds} * interval '1 second' and not k.is_paused then 'held_up' end as kind
       from ops.sends s cross join ops.send_control k
       where s.planned_at > now() - interval '1 day' and not ${isSimulated}
     ), sent as (
       select line, max(settled_at) as at from ops.sends s
       where s.planned_at > now() - interval '1 day' and state = 'SENT' group by line
     ), by_line as (
       select r.kind, r.reason, r.line, count(*)::integer as count, max(r.at) as last_at,
         coalesce(max(sent.at) > min(r.at), false) as has_sent, coalesce(max(sent.at) > max(r.at), false) as is_over
       from recent r left join sent using (line) where r.kind is not null group by 1, 2, 3
     )
     select kind, reason, sum(count)::integer as count, max(last_at) as "lastAt",
       (array_agg(line order by count desc, line))[1:5] as lines, not bool_or(has_sent) as "isTotal", bool_and(is_over) as "isOver"
     from by_line group by 1, 2 order by count desc, kind, reason limit 20`,
  );
  const [dearest] = await query<NonNullable<SendsStatus['dearest']>>(
    db,
    sql`with priced as (
        select settled_micros::float8 / units as micros, settled_at as at from ops.sends
        where planned_at > now() - interval '7 days' and state = 'SENT' and settled_micros is not null and units > 0
      ), dearest as (
        select * from priced where at > now() - interval '1 day' order by micros desc, at limit 1
      )
      select d.*, (select micros from priced p where p.at < d.at order by p.at desc limit 1) as "beforeMicros" from dearest d`,
  );
  const [approvals] = await query<NonNullable<SendsStatus['approvals']>>(
    db,
    sql`select count(*)::integer as count, min(planned_at) as since,
        bool_or(planned_at < now() - interval '1 hour' or expires_at < now() + interval '15 minutes') as "isLate"
      from ops.sends where state = 'AWAITING_APPROVAL' having count(*) > 0`,
  );
  return {
    ...(await summarizeSends(db)),
    simulated: Object.fromEntries(counted.map(({ state, count }) => [state, count])),
    passedCount: counted.find(({ state }) => state === 'DENIED')?.passed ?? 0,
    waitingOptOuts: await countWaiting(db),
    dearest: dearest ?? null,
    approvals: approvals ?? null,
    troubles: troubles.map((each) => ({ ...each, lines: each.lines.map((line) => maskKey('line', line)) })),
  };
}
