import { query, type Transaction } from '../warehouse/database.ts';
import type { Evaluation, TriedMode } from './evaluate.ts';
import type { FactsOf } from './facts/declared.ts';
import type { RuleSet, Scope } from './rule.ts';

interface Thread {
  readonly line: string;
  readonly number: string;
}

/** A rule that matched. */
export interface Match extends Thread {
  readonly rule: string;
  /** Of a rule on trial: what it asked for was noted, and nothing done. */
  readonly mode: TriedMode;
  readonly at: Date;
  readonly reply: ReplyFate;
  /** It does more than reply, and resolve after the reply: without the reply too, it has acted. */
  readonly doesMore: boolean;
}

/**
 * Where a reply is. `waiting`: a newer trigger in the thread can take its place. `gone`: it went out, or may have. `noted`:
 * it would have, were it not for a trial. `none`: it was refused, or never planned.
 */
export type ReplyFate = 'none' | 'waiting' | 'noted' | 'gone';

/**
 * What rules have done so far: the facts about replies, and what limits count. Triggers come late and out of order, so what
 * was done about a later one counts as well. A live rule goes by what was done, one on trial also by what would have been.
 */
export interface History {
  repliesTo(thread: Thread, before: Date, mode: TriedMode): FactsOf<'replies'>;
  /** How often a rule has acted since so many seconds before a trigger, in the thread, on its line, or at all. */
  earlier(rule: Asking, scope: Scope, seconds: number, thread: Thread, before: Date): number;
  add(match: Match): void;
  /** Says how the reply of a match ended. */
  settle(match: Pick<Match, 'rule' | 'line' | 'number' | 'at'>, reply: Exclude<ReplyFate, 'waiting'>): void;
}

/** A rule, and the mode that it is tried in. */
interface Asking {
  /** Its name. */
  readonly rule: string;
  readonly mode: TriedMode;
}

/** A match whose reply may still end. */
type Held = Omit<Match, 'reply'> & { reply: ReplyFate };

const dayMs = 86_400_000;

export function createHistory(matches: readonly Match[]): History {
  const byRule = new Map<string, Held[]>();
  const replies = new Map<string, Held[]>();

  function add(match: Match): void {
    const held = { ...match };
    append(byRule, match.rule, held);
    if (match.reply !== 'none') append(replies, keyOf(match), held);
  }
  for (const match of matches) add(match);

  return {
    add,
    settle({ rule, at, ...thread }, reply) {
      const isMeant = (held: Held) => held.at.getTime() === at.getTime() && keyOf(held) === keyOf(thread);
      const meant = byRule.get(rule)?.findLast(isMeant);
      if (meant) meant.reply = reply;
    },
    repliesTo(thread, before, mode) {
      const sent = (replies.get(keyOf(thread)) ?? []).filter(
        (match) => hasReplied(match, mode) && !givesWay(match, before),
      );
      const last = sent.reduce<Date | undefined>((newest, { at }) => (newest && newest > at ? newest : at), undefined);
      return {
        count: sent.length,
        count_24h: sent.filter(({ at }) => at.getTime() > before.getTime() - dayMs).length,
        last_at: last,
      };
    },
    earlier({ rule, mode }, scope, seconds, thread, before) {
      const since = before.getTime() - seconds * 1_000;
      return (byRule.get(rule) ?? []).filter((match) => {
        if (match.at.getTime() <= since || !hasActed(match, mode)) return false;
        const isThread = match.line === thread.line && match.number === thread.number;
        if (isThread && givesWay(match, before) && !match.doesMore) return false;
        return scope === 'account' || (scope === 'line' ? match.line === thread.line : isThread);
      }).length;
    },
  };
}

/** Whether a reply of the match has left or will, as rules of a mode see it. */
function hasReplied({ mode: own, reply }: Held, mode: TriedMode): boolean {
  if (reply === 'none') return false;
  return mode === 'dry-run' || (own === 'live' && reply !== 'noted');
}

function hasActed(match: Held, mode: TriedMode): boolean {
  return hasReplied(match, mode) || (match.doesMore && (mode === 'dry-run' || match.mode === 'live'));
}

/**
 * Whether the reply to a trigger would take the place of this one, which still waits. To count it as sent would leave the
 * thread without any: it is refused when they have written again.
 */
function givesWay({ reply, at }: Held, trigger: Date): boolean {
  return reply === 'waiting' && at <= trigger;
}

function append(lists: Map<string, Held[]>, key: string, match: Held): void {
  const list = lists.get(key);
  if (list) list.push(match);
  else lists.set(key, [match]);
}

function keyOf({ line, number }: Thread): string {
  return `${line}/${number}`;
}

/** The match that an evaluation adds to what later ones go by. */
export function matchOf({ rule, mode, actions }: Evaluation, thread: Thread, at: Date): Match {
  const kinds = new Set(actions.map(({ kind }) => kind));
  return {
    ...thread,
    rule: rule.name,
    mode,
    at,
    reply: kinds.has('reply') ? 'waiting' : 'none',
    doesMore: !kinds.has('reply') || actions.some(({ kind }) => kind !== 'reply' && kind !== 'resolve'),
  };
}

/** Which part of history is read. */
export interface HistorySpan {
  /** The first trigger that it is read for. */
  readonly from: Date;
  /** What rules did from here on is left out. */
  readonly until?: Date;
  /** The sends that are held for the rest of the transaction: until then nobody dispatches them, so their replies wait. */
  readonly held?: readonly string[];
}

/**
 * Reads what rules have done that can matter to triggers of these threads. Of the other sends only those are known not to
 * have gone out that the ledger says so of: one whose outcome is unknown counts, and one that may be tried again.
 */
export async function readHistory(
  tx: Transaction,
  { rules }: Pick<RuleSet, 'rules'>,
  threads: readonly Thread[],
  { from, until, held = [] }: HistorySpan,
): Promise<History> {
  const limits = rules.flatMap(({ limits }) => [limits.line, limits.account]);
  const furthest = Math.max(0, ...limits.map((limit) => limit?.seconds ?? 0));
  const rows = await query<Match>(
    tx,
    `select r.rule, r.mode, r.line, r.number, r.trigger_at as at, a.does_more as "doesMore",
       case when a.reply is null or a.reply = 'skipped' then 'none' when a.reply = 'dry_run' then 'noted' when a.send_id = any($7) then 'waiting'
         when s.state = 'DENIED' and s.reason = 'dry_run' then 'noted'
         when s.state in ('SKIPPED', 'REJECTED', 'NOT_SENT', 'DENIED', 'EXPIRED') then 'none' else 'gone' end as reply
     from ops.rule_runs r cross join lateral (
       select max(state) filter (where kind = 'reply') as reply, (max(send_id::text) filter (where kind = 'reply'))::uuid as send_id,
         not bool_or(kind = 'reply') or bool_or(kind not in ('reply', 'resolve')) as does_more
       from ops.rule_actions where run_id = r.run_id
     ) a left join ops.sends s on s.send_id = a.send_id
     where r.is_matched and r.line is not null and r.number is not null and ($6::timestamptz is null or r.trigger_at < $6)
       and ((r.line, r.number) in (select * from unnest($1::text[], $2::text[]))
         or (r.rule = any($3) and r.trigger_at > $4::timestamptz - $5 * interval '1 second'))`,
    [
      threads.map(({ line }) => line),
      threads.map(({ number }) => number),
      rules.filter(({ limits }) => limits.line || limits.account).map(({ name }) => name),
      from,
      furthest,
      until ?? null,
      held,
    ],
  );
  return createHistory(rows);
}
