import { codeIn, meaningOf } from '../api-client/client.ts';
import { query, sql } from '../db/database.ts';
import type { Pauser } from '../ledger/control.ts';
import { readAllowedMode, readInForce, readLimits } from '../ledger/rules-in-force.ts';
import { running } from '../processes/running.ts';
import { holidaysEnd, timeZoneUnset } from '../rules/file/remarks.ts';
import { checkVersion } from '../rules/versions.ts';
import { toType } from '../shared/command-name.ts';
import { ago, countOf, dollars, price, quantity } from '../shared/format.ts';
import { maskKey } from '../shared/masking.ts';
import { readUsersZone } from '../warehouse/users.ts';
import { type Checks, counted, rows } from './check.ts';

/** How to end a refusal by the service. The reason begins with the code of the refusal. */
function remedyOf(reason: string, otherwise: string): string {
  const code = codeIn(reason);
  return code === undefined ? otherwise : meaningOf({ code, scope: 'sms:send and sms:write' }).remedy;
}

interface FailedAction {
  readonly state: 'failed' | 'unclear';
  readonly rule: string;
  readonly kind: string;
  readonly target: string | null;
  readonly reason: string;
  readonly count: number;
}

/** Texts of the last day that did not leave, for one reason. */
interface Unsent {
  readonly reason: string;
  readonly count: number;
  readonly lastAt: Date;
  readonly lines: readonly string[];
  /** No text has left on any of these lines since the first of them. */
  readonly isTotal: boolean;
  /** A text has left on each of these lines since the last of them. */
  readonly isOver: boolean;
}

/** SQL: a row of the last day that was to leave, not of a dry run. */
const isLive = sql`s.mode = 'live' and s.reason is distinct from 'dry_run' and s.planned_at > now() - interval '1 day'`;
const isOfBudget = sql`s.reason ~ '^gate:budget_(account|line|money)'`;
const isUsedUp = sql`${isOfBudget} and s.state not in ('PLANNED', 'HELD') and s.settled_at > date_trunc('day', now(), 'UTC')`;

const unsent = (condition: typeof isLive) => sql<Unsent>`
  with unsent as (
    select line, split_part(coalesce(s.reason, ''), E'\\n', 1) as reason, coalesce(s.settled_at, s.planned_at) as at
    from ops.sends s where ${isLive} and ${condition}
  ), sent as (
    select line, max(settled_at) as at from ops.sends
    where planned_at > now() - interval '1 day' and state = 'SENT' group by line
  ), by_line as (
    select u.reason, line, count(*)::int as count, max(u.at) as last_at,
      coalesce(max(sent.at) > min(u.at), false) as has_sent, coalesce(max(sent.at) > max(u.at), false) as is_over
    from unsent u left join sent using (line) group by 1, 2
  )
  select reason, sum(count)::int as count, max(last_at) as "lastAt",
    (array_agg(line order by count desc, line))[1:5] as lines, not bool_or(has_sent) as "isTotal", bool_and(is_over) as "isOver"
  from by_line group by 1 order by count desc, reason limit 20`;

const raises = 'To send more, raise it under `budgets` in the rules file';

/** A daily budget of which less than a fifth is left, in micro-dollars. */
const findSpent = rows(
  async ({ db }) => {
    const { dailyMicros } = await readLimits(db);
    return sql<{ used: number; daily: number }>`
      select (spent_micros + reserved_micros)::float8 as used, daily from ops.send_budgets, (select ${dailyMicros}::float8 as daily) d
      where scope = 'account' and budget_date = (now() at time zone 'UTC')::date and daily > 0
        and spent_micros + reserved_micros >= 0.8 * daily
        and not exists (select from ops.sends s where ${isLive} and ${isUsedUp})`;
  },
  ({ used, daily }) => ({
    level: 'warning',
    sentence: `${Math.floor((used / daily) * 100)}% of the daily budget of automatic texts is used (${dollars(used)} of ${dollars(daily)}).`,
    remedy: `Once it’s used up, no text is sent until midnight UTC. ${raises}; to stop, run ${toType('sends pause')}.`,
  }),
);

/** The dearest segment of the last day, if it cost more than twice the newest price before it, in micro-dollars. */
const findDear = rows(
  async ({ db }) => {
    const { unitMicros } = await readLimits(db);
    return sql<{ micros: number; before: number; since: Date }>`
      with priced as (
        select settled_micros::float8 / units as micros, settled_at as since from ops.sends
        where planned_at > now() - interval '7 days' and state = 'SENT' and settled_micros is not null and units > 0
      ), dearest as (
        select * from priced where since > now() - interval '1 day' order by micros desc, since limit 1
      )
      select * from dearest d, lateral (select coalesce(
        (select micros from priced p where p.since < d.since order by p.since desc limit 1), ${unitMicros}::float8) as before) b
      where micros > greatest(${unitMicros}::float8, 2 * before)`;
  },
  ({ micros, before, since }) => ({
    level: 'warning',
    sentence: `The service charged ${price(micros)} for a segment of an automatic text; the usual price was ${price(before)}.`,
    remedy: `For a day, a text is sent only if the rest of the daily budget covers ten times that price. If the price is right, raise \`daily_dollars\` under \`budgets\` in the rules file. If it’s wrong, ask the service’s operator; ${toType('sends pause')} stops all texts.`,
    since,
  }),
);

/** Whether rules are evaluated and their texts leave. */
export const automationChecks: Checks = {
  /** `writes_lost` reports a pause by the recovery. */
  sends_paused: rows(
    sql<{ by: Pauser | null; since: Date; reason: string | null }>`
      select paused_by as by, changed_at as since, pause_reason as reason from ops.send_control
      where is_paused and paused_by is distinct from 'recovery'`,
    ({ by, since, reason }, now) => ({
      level: by === 'ledger' ? 'problem' : 'warning',
      sentence: 'All automatic texts are paused.',
      remedy: `${toType('sends resume')} resumes them, but for those that have expired.`,
      detail: `Paused ${ago(since, now)}${by === 'ledger' ? ' by Trunkline itself' : ''}: ${reason}.`,
      since,
    }),
  ),

  /** Decisions that only a person can take. */
  sends_for_people: [
    // An index has those whose outcome was ever unknown.
    counted(sql`from ops.sends where state = 'NEEDS_HUMAN' and unknown_at is not null`, (count) => ({
      level: 'problem',
      sentence: `${countOf(count, 'automatic text')} may or may not have been sent.`,
      remedy: `Read the threads, from the page /sends, and record each outcome with ${toType('sends settle')}. Nothing is sent again.`,
    })),
    rows(
      sql<{ count: number; since: Date; isLate: boolean }>`
      select count(*)::int as count, min(planned_at) as since,
        bool_or(planned_at < now() - interval '1 hour' or expires_at < now() + interval '15 minutes') as "isLate"
      from ops.sends where state = 'AWAITING_APPROVAL' having count(*) > 0`,
      ({ count, since, isLate }, now) => ({
        level: isLate ? 'warning' : 'notice',
        sentence: `Automatic texts that wait for approval: ${quantity(count)}, the oldest planned ${ago(since, now)}.`,
        remedy: `Approve or reject each on the page /sends, or with ${toType('sends approve')} and ${toType('sends reject')}. What nobody approves expires.`,
        since,
      }),
    ),
    rows(
      sql<{ count: number }>`
      select count(distinct number)::int as count from ops.opt_outs_waiting having count(*) > 0`,
      ({ count }) => ({
        level: 'notice',
        sentence: `${countOf(count, 'number')} may have opted out by a text, and no automatic text goes there until somebody decides.`,
        remedy: `Read the texts on the page /opt-outs, and confirm or clear each, there or with ${toType('opt-outs confirm')} and ${toType('opt-outs clear')}.`,
      }),
    ),
  ],

  sends_unknown: counted(sql`from ops.sends where state = 'UNKNOWN'`, (count) => ({
    level: 'warning',
    sentence: `The outcome of ${countOf(count, 'automatic text')} is unknown: the answer to the request was lost.`,
    remedy:
      'Trunkline searches the threads, for a day at most, and sends nothing again. The page /sends lists such texts.',
  })),

  /** A daily budget that is used up or nearly so, or a price that may use it up. */
  sends_budget: [
    rows(unsent(isUsedUp), ({ count, reason, isOver }) => ({
      level: isOver ? 'notice' : 'warning',
      sentence: `Today, ${countOf(count, 'automatic text')} couldn’t be sent: the daily budget of ${reason === 'gate:budget_money' ? 'money' : 'texts'} ${isOver ? 'was used up; later ones were sent' : 'is used up'}.`,
      remedy: `It is renewed at midnight UTC. ${raises}.`,
    })),
    findSpent,
    findDear,
  ],

  sends_refused: rows(
    unsent(sql`s.state in ('REJECTED', 'NOT_SENT')`),
    ({ count, reason, lastAt, lines, isOver, isTotal }, now) => ({
      level: isOver ? 'notice' : isTotal && count > 1 ? 'problem' : 'warning',
      sentence: `In the last day, ${countOf(count, 'automatic text')} couldn’t be sent, the last ${ago(lastAt, now)}${isOver ? '; later ones were sent' : isTotal ? '; none has been sent since' : ''}.`,
      detail: `From ${lines.map((line) => maskKey('line', line)).join(', ')}: ${reason}.`,
      remedy: remedyOf(reason, 'The page /sends shows the history of each of them.'),
    }),
  ),

  /** A send without obstacles leaves within seconds. */
  sends_waiting: rows(
    sql<{ count: number; reason: string }>`
      select count(*)::int as count, split_part(coalesce(s.reason, ''), E'\\n', 1) as reason
      from ops.sends s cross join ops.send_control k
      where ${isLive} and greatest(s.planned_at, s.approved_at) < now() - interval '1 minute'
        and (s.state in ('PLANNED', 'HELD') and ${isOfBudget} or s.state = 'PLANNED' and not k.is_paused)
      group by 2 order by 1 desc, 2 limit 20`,
    ({ count, reason }) => ({
      level: 'warning',
      sentence: `For more than a minute, ${countOf(count, 'automatic text')} couldn’t be sent.`,
      remedy:
        'Check that a worker takes the queue `sends`, and that the service answers it. A text that waits for the rest of a daily budget is sent once the outcome of those before it is known.',
      detail: reason === '' ? undefined : `The reason: ${reason}.`,
    }),
  ),

  /** No version in force, or one that this release does not understand. */
  async rules_unusable({ db }) {
    const inForce = await readInForce(db);
    const mode = await readAllowedMode(db);
    if (mode === 'off' || (mode === undefined && !inForce)) return [];
    if (!inForce) {
      const sentence = 'No rules are in force: the rules file has an error. Mirroring goes on.';
      const remedy = `${toType('rules check')} shows all errors with their remedies, and ${toType('rules apply')} applies the corrected file.`;
      return [{ level: 'problem', sentence, remedy }];
    }
    const { problem } = checkVersion(inForce);
    if (!problem) return [];
    const sentence = `This release doesn’t understand line ${problem.line} of version ${inForce.version} of the rules, so rules do nothing. Mirroring goes on.`;
    const remedy = `Correct the rules on the page /rules/edit, or with ${toType('rules apply')}.`;
    return [{ level: 'problem', sentence, remedy, detail: `${problem.message} ${problem.remedy}` }];
  },

  async time_zone({ db }) {
    const inForce = await readInForce(db);
    // The start of a worker takes TIME_ZONE over.
    const hasWorker = sql`exists (select from ${running} p where role <> 'web')`;
    const unset = await query(db, sql`select from ops.rollup_state where time_zone is null and ${hasWorker}`);
    if (!inForce || unset.length === 0) return [];
    const mode = (await readAllowedMode(db)) ?? 'live';
    const usesHours = mode !== 'off' && inForce.rules.some((rule) => rule.usesHours && rule.mode !== 'off');
    const zone = await readUsersZone(db);
    if (!usesHours && (zone === null || zone === 'UTC')) return [];
    const { message: sentence, remedy } = timeZoneUnset(null, usesHours);
    const detail = zone === null ? undefined : `Most users of the account are in ${zone}: TIME_ZONE=${zone}.`;
    // Only live rules would act if it were set.
    return [{ level: usesHours && mode === 'live' ? 'warning' : 'notice', sentence, remedy, detail }];
  },

  async holidays_end({ db, now }) {
    const inForce = await readInForce(db);
    const { lastHoliday } = inForce ? checkVersion(inForce) : {};
    const ends = lastHoliday && holidaysEnd(lastHoliday, now);
    return ends ? [{ level: 'warning', sentence: ends.message, remedy: ends.remedy }] : [];
  },

  /**
   * Targets that refuse messages of rules, actions that failed or are unclear, and rules that could not be evaluated.
   */
  rules_failed: [
    rows(
      sql<{ target: string; count: number; since: Date; reason: string }>`
      select target, count(*)::int as count, min(evaluated_at) as since, max(a.reason) as reason
      from ops.rule_actions a join ops.rule_runs r using (run_id)
      where a.state = 'waiting' and target is not null and tries >= 5 group by target order by target`,
      ({ target, count, since, reason }) => ({
        level: 'warning',
        sentence: `A target doesn’t accept what rules tell it. Steps of rules that wait for it: ${quantity(count)}.`,
        remedy: `Try it with ${toType('notify test')}, and correct it in NOTIFY_TARGETS of all workers. The steps are tried again for a day.`,
        detail: `The target is ${target}: ${reason}.`,
        since,
      }),
    ),
    rows(
      sql<FailedAction>`
      select a.state, r.rule, a.kind, a.target, coalesce(a.reason, 'no reason recorded') as reason, count(*)::int as count
      from ops.rule_actions a join ops.rule_runs r using (run_id)
      where a.state in ('failed', 'unclear') and a.settled_at > now() - interval '1 day'
      group by 1, 2, 3, 4, 5 order by count desc, 2, 3, 4 limit 5`,
      ({ state, rule, kind, target, reason, count }) => ({
        level: 'warning',
        sentence: `In the last day, ${countOf(count, 'action')} of rules ${state === 'unclear' ? 'may or may not have been performed' : 'failed'}.`,
        remedy:
          state === 'unclear'
            ? 'Check the conversation: the action isn’t repeated.'
            : target === null
              ? remedyOf(reason, 'The page /rules has the whole reason.')
              : `Try the target with ${toType('notify test')}; ${toType('rules retry')} performs the steps again.`,
        detail: `The rule is ${rule}, the action ${target === null ? kind : `${kind} ${target}`}: ${reason}.`,
      }),
    ),
    rows(
      sql<{ count: number; names: string }>`
      select count(*)::int as count, string_agg(distinct rule, ', ') as names from ops.rule_runs
      where not is_matched and reason like 'error:%' and evaluated_at > now() - interval '1 day' having count(*) > 0`,
      ({ count, names }) => ({
        level: 'warning',
        sentence: `In the last day, rules couldn’t be evaluated ${countOf(count, 'time')}.`,
        remedy: `They did nothing then. The reason in ops.rule_runs begins with "error:". ${toType('rules check')} checks the file.`,
        detail: `The rules: ${names}.`,
      }),
    ),
  ],
};
