import type { Settings } from '../../../config/settings.ts';
import { type Database, query, sql } from '../../db/database.ts';
import { defaultAccountLimits } from '../../ledger/limits.ts';
import { countOf, dollars } from '../../shared/format.ts';
import { dayMs } from '../../shared/time-range.ts';
import { readUsersZone } from '../../warehouse/users.ts';
import type { RuleSet, SampleReply } from '../rule.ts';
import type { RulesProblem } from './problems.ts';

/** What is valid in rules, but probably not meant. */
export interface RulesRemarks {
  readonly warnings: readonly RulesProblem[];
  readonly notices: readonly RulesProblem[];
  /** The texts that rules send, in the order of the file, with the price that budgets assume. */
  readonly replies: readonly (SampleReply & { readonly dollars: number })[];
}

/** The price of a reply, in words. */
export function priceWords({ line, rule, segments, dollars: price }: RulesRemarks['replies'][number]): string {
  return `Line ${line}: a reply of ${rule} is ${countOf(segments, 'segment')}, at most ${dollars(price * 1_000_000)} by the budget.`;
}

/**
 * What valid rules probably don't mean, and where they contradict the settings and, with a database, the account. A
 * missing setting isn't the fault of the rules, and this process may lack a variable of the workers: it's only a
 * notice, unless RULES_MODE is live.
 */
export async function remarksOn(
  set: RuleSet,
  db: Database | undefined,
  { rulesMode, hoursZone, notify }: Pick<Settings, 'rulesMode' | 'hoursZone' | 'notify'>,
): Promise<RulesRemarks> {
  const hoursAt = set.rules.find((rule) => rule.hoursAt && rule.mode !== 'off')?.hoursAt;
  const isZoneUnset = hoursAt !== undefined && hoursZone === undefined;
  const zone = isZoneUnset ? [{ ...hoursAt, ...timeZoneUnset(db ? await readUsersZone(db) : null, true) }] : [];
  const ended = set.datesEnd && holidaysEnd(set.datesEnd.last, new Date());
  const dates = set.datesEnd && ended ? [{ ...set.datesEnd, ...ended }] : [];
  const unknown = db ? [...(await unknownUsers(db, set)), ...(await unknownLines(db, set))] : [];
  const targets = targetProblems(set, notify.targets);
  const areTargetsSet = notify.targets.size > 0;
  const unset = [...zone, ...(areTargetsSet ? [] : targets)];
  const isLive = rulesMode === 'live';
  return {
    warnings: [...set.warnings, ...dates, ...(isLive ? unset : []), ...unknown, ...(areTargetsSet ? targets : [])],
    notices: isLive ? [] : unset,
    replies: set.replies.map((reply) => ({
      ...reply,
      dollars: (reply.segments * defaultAccountLimits.unitMicros) / 1_000_000,
    })),
  };
}

/** Targets in the rules that NOTIFY_TARGETS lacks, and targets that take no facts. */
function targetProblems({ targets }: RuleSet, declared: Settings['notify']['targets']): RulesProblem[] {
  const names = [...declared.keys()].join(', ');
  const whereToDeclare = names
    ? `Its targets are: ${names}.`
    : 'Set NOTIFY_TARGETS for all workers, and where rules are checked.';
  return targets.flatMap(({ name, kind, ...position }) => {
    const target = declared.get(name);
    if (!target) return [{ ...position, message: `NOTIFY_TARGETS has no target ${name}.`, remedy: whereToDeclare }];
    if (kind === 'notify' || target.kind === 'webhook') return [];
    const remedy = `Use notify, or declare it as ${name}=https://…#whsec_….`;
    return [{ ...position, message: `${name} is ${channelWords[target.kind]}, and takes no facts.`, remedy }];
  });
}

const channelWords = { slack: 'a channel of Slack', email: 'an e-mail address' };

/** Maximum users that a remedy names. */
const maxUsers = 20;

/** Users in the rules that are missing in the directory. Empty until users are mirrored. */
async function unknownUsers(db: Database, { users }: RuleSet): Promise<RulesProblem[]> {
  if (users.length === 0) return [];
  const known = await query<{ names: string[]; shown: string }>(
    db,
    sql`
      select array[user_id::text, lower(username), lower(email)] as names, concat(user_id, ' (', user_name, ')') as shown
      from warehouse.users join reporting.dim_user on user_key = user_id where deleted_at is null order by user_name, user_id`,
  );
  if (known.length === 0) return [];
  const names = new Set(known.flatMap((user) => user.names));
  const others = known.length > maxUsers ? ', and others in reporting.dim_user' : '';
  const shown = known.slice(0, maxUsers).map((user) => user.shown);
  return users
    .filter(({ user }) => !names.has(String(user).toLowerCase()))
    .map(({ user, line, column }, at) => ({
      line,
      column,
      message: `The account has no user ${typeof user === 'number' ? `with the id ${user}` : user}.`,
      remedy: `Write line, agent, nobody, or the id, username or e-mail of a user${at === 0 ? `: ${shown.join(', ')}${others}` : ''}.`,
    }));
}

async function unknownLines(db: Database, { lines }: RuleSet): Promise<RulesProblem[]> {
  if (lines.length === 0) return [];
  const known = await query<{ number: string; isLine: boolean }>(
    db,
    sql`
      select number, bool_or(is_line) as "isLine"
      from (
        select line as number, deleted_at is null as is_line from warehouse.sms_lines
        union all
        select endpoint, false from rollups.endpoints where kind = 'number'
        union all
        select endpoint, false from warehouse.user_endpoints where kind = 'number'
        union all
        select line, false from rollups.sms_day_rollup
      ) numbers group by number order by 2 desc, 1`,
  );
  const texting = known.flatMap(({ number, isLine }) => (isLine ? [number] : []));
  if (texting.length === 0) return [];
  const numbers = known.map(({ number }) => number);
  return lines
    .filter(({ number, isSender }) => !(isSender ? texting : numbers).includes(number))
    .map(({ number, isSender, line, column }) => ({
      line,
      column,
      message: `The account has no line ${number}${isSender ? ' that can text' : ''}.`,
      remedy: `Write one of its lines, such as ${texting.slice(0, 3).join(', ')}.`,
    }));
}

/**
 * Says that no time zone is set, and proposes the most frequent one among the account's users (null if unknown).
 * `usesHours`: rules depend on hours.
 */
export function timeZoneUnset(zone: string | null, usesHours: boolean): Record<'message' | 'remedy', string> {
  const users = zone === null ? '' : ` Most users of the account are in ${zone}.`;
  const effect = usesHours ? 'rules that speak of hours do not act' : 'the days of the reports are those of UTC';
  const place = zone === null ? 'a place such as America/New_York' : 'another place';
  return {
    message: `TIME_ZONE is not set, so ${effect}.${users}`,
    remedy: `Set TIME_ZONE=${zone ?? 'UTC'}, or to ${place}, for all processes, and restart them.`,
  };
}

/** How many days before the end of the dated holidays a warning begins. */
const holidaysEndDays = 30;

/** Says that the dated holidays of a calendar have ended, or end soon. Undefined while they don't. */
export function holidaysEnd(last: string, now: Date): Record<'message' | 'remedy', string> | undefined {
  const daysLeft = (Date.parse(last) - now.getTime()) / dayMs;
  if (daysLeft > holidaysEndDays) return undefined;
  return {
    message: `The dated holidays of the rules ${daysLeft < 0 ? 'ended' : 'end'} on ${last}.`,
    remedy:
      'Add those of the next year, or write days of every year without one, such as 12-25, and remove past dates.',
  };
}
