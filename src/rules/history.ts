import { hotQuery, sql, type Transaction, unseen } from '../db/database.ts';
import type { Pair } from '../shared/thread.ts';
import { sameNumbers } from '../warehouse/phone-numbers.ts';
import type { FactsOf } from './facts/declared.ts';
import type { ActiveMode, Scope } from './rule.ts';

/**
 * The reply of a match. `waiting`: a reply to a newer trigger of the thread can still replace it. `sent`: it left, or
 * may have. `dry_run`: it would have left. `none`: it was refused, or never planned.
 */
export type ReplyState = 'none' | 'waiting' | 'dry_run' | 'sent';

/** A rule that matched. */
export interface Match extends Pair {
  readonly rule: string;
  readonly mode: ActiveMode;
  readonly at: Date;
  readonly reply: ReplyState;
  /** It does more than reply and resolve: it has acted even if its reply was refused. */
  readonly doesMore: boolean;
}

/**
 * What rules have done so far, for limits and for the facts about replies. Includes matches of later triggers, because
 * triggers arrive out of order. A live rule counts what was done; a dry-run rule also counts what would have been done.
 */
export interface History {
  repliesTo(thread: Pair, before: Date, mode: ActiveMode): FactsOf<'replies'>;
  /** How often a rule has acted in the given seconds before a trigger, within the scope. */
  earlier(rule: Pick<Match, 'rule' | 'mode'>, scope: Scope, seconds: number, thread: Pair, before: Date): number;
  add(match: Match): void;
  /** Sets how the reply of a match ended. */
  setReply(match: Pick<Match, 'rule' | 'line' | 'number' | 'at'>, reply: 'sent' | 'none'): void;
}

type Held = Omit<Match, 'reply'> & { reply: ReplyState };

export function createHistory(matches: readonly Match[]): History {
  const byRule = new Map<string, Held[]>();
  const byThread = new Map<string, Held[]>();

  function add(match: Match): void {
    const held = { ...match };
    // The ledger replaces a reply of the same rule to an earlier trigger.
    const isReplaced = (older: Held) =>
      older.rule === held.rule && older.mode === held.mode && isReplaceable(older, held.at);
    if (held.reply === 'waiting') {
      for (const older of byThread.get(pairKey(match)) ?? []) if (isReplaced(older)) older.reply = 'none';
    }
    append(byRule, match.rule, held);
    if (match.reply !== 'none') append(byThread, pairKey(match), held);
  }
  for (const match of matches) add(match);

  return {
    add,
    setReply({ rule, at, ...thread }, reply) {
      const isMeant = (held: Held) => held.at.getTime() === at.getTime() && pairKey(held) === pairKey(thread);
      const meant = byRule.get(rule)?.findLast(isMeant);
      if (meant) meant.reply = reply;
    },
    repliesTo(thread, before, mode) {
      const sent = (byThread.get(pairKey(thread)) ?? []).filter(
        (match) => hasReplied(match, mode) && !isReplaceable(match, before),
      );
      return { count: sent.length };
    },
    earlier({ rule, mode }, scope, seconds, thread, before) {
      const since = before.getTime() - seconds * 1_000;
      const forms = sameNumbers(thread.number);
      const isCounted = (match: Held) => {
        if (match.at.getTime() <= since || !hasActed(match, mode)) return false;
        const isThread = match.line === thread.line && match.number === thread.number;
        if (isThread && isReplaceable(match, before) && !match.doesMore) return false;
        return scope === 'contact' ? forms.includes(match.number) : isThread;
      };
      return (byRule.get(rule) ?? []).filter(isCounted).length;
    },
  };
}

/** Whether the reply of a match counts as sent, for rules of a mode. */
function hasReplied(match: Held, mode: ActiveMode): boolean {
  if (match.reply === 'none') return false;
  return mode === 'dry-run' || (match.mode === 'live' && match.reply !== 'dry_run');
}

function hasActed(match: Held, mode: ActiveMode): boolean {
  return hasReplied(match, mode) || (match.doesMore && (mode === 'dry-run' || match.mode === 'live'));
}

/**
 * Whether a reply to the trigger would replace this reply. If this one counted as sent, the thread would get neither:
 * the ledger refuses the older reply because the other party has written again.
 */
function isReplaceable({ reply, at }: Held, trigger: Date): boolean {
  return reply === 'waiting' && at <= trigger;
}

function append<K>(lists: Map<K, Held[]>, key: K, match: Held): void {
  const list = lists.get(key);
  if (list) list.push(match);
  else lists.set(key, [match]);
}

export function pairKey({ line, number }: Pair): string {
  return `${line}/${number}`;
}

export interface HistoryOptions {
  /** Leaves out what rules did at or after this moment. */
  readonly until?: Date;
  /** Ids of sends that this transaction has locked. Nobody can dispatch them now, so their replies are `waiting`. */
  readonly held?: readonly string[];
}

/** Reads the matches that can affect triggers about these people. A send with an unknown outcome counts as sent. */
export async function readHistory(
  tx: Transaction,
  people: readonly Pick<Pair, 'number'>[],
  { until, held = [] }: HistoryOptions,
): Promise<History> {
  const numbers = [...new Set(people.flatMap(({ number }) => sameNumbers(number)))];
  const rows = await hotQuery<Match>(
    tx,
    sql`
      select r.rule, r.mode, r.line, r.number, r.trigger_at as at, a.does_more as "doesMore",
        case when a.reply is null or a.reply = 'skipped' then 'none'
          when a.reply = 'dry_run' then 'dry_run'
          when a.send_id = any(${held}::uuid[]) then 'waiting'
          when s.state = 'DENIED' and s.reason = 'dry_run' then 'dry_run'
          when s.state in ('SKIPPED', 'REJECTED', 'NOT_SENT', 'DENIED', 'EXPIRED') then 'none' else 'sent' end as reply
      from ops.rule_runs r cross join lateral (
        select max(state) filter (where kind = 'reply') as reply,
          (max(send_id::text) filter (where kind = 'reply'))::uuid as send_id,
          not bool_or(kind = 'reply') or bool_or(kind not in ('reply', 'resolve') and argument -> 'sendId' is null) as does_more
        from ops.rule_actions where run_id = r.run_id
      ) a left join ops.sends s on s.send_id = a.send_id
      where r.is_matched and r.line is not null and r.number is not null
        and (${until ?? null}::timestamptz is null or r.trigger_at < ${until ?? null})
        and r.number = any(${unseen(numbers)})`,
  );
  return createHistory(rows);
}
