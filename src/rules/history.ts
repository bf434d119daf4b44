import { type Database, query, type Transaction } from '../warehouse/database.ts';
import type { Evaluation } from './evaluate.ts';
import type { FactsOf } from './facts/declared.ts';
import type { Rule, RuleSet, Scope } from './rule.ts';

interface Thread {
  readonly line: string;
  readonly number: string;
}

/** A rule that matched, and whether a reply of it went out or is on its way. */
export interface Match extends Thread {
  readonly rule: string;
  readonly at: Date;
  readonly hasReply: boolean;
}

/** What rules have done so far: the facts about replies, and what limits count. */
export interface History {
  repliesTo(thread: Thread, before: Date): FactsOf<'replies'>;
  /** How often a rule matched in the seconds up to a moment, in the thread, on its line, or at all. */
  earlier(rule: Pick<Rule, 'name'>, scope: Scope, seconds: number, thread: Thread, before: Date): number;
  add(match: Match): void;
}

const dayMs = 86_400_000;

export function createHistory(matches: readonly Match[]): History {
  const byRule = new Map<string, Match[]>();
  const replies = new Map<string, Match[]>();

  function add(match: Match): void {
    append(byRule, match.rule, match);
    if (match.hasReply) append(replies, keyOf(match), match);
  }
  for (const match of matches) add(match);

  return {
    add,
    repliesTo(thread, before) {
      const sent = (replies.get(keyOf(thread)) ?? []).filter(({ at }) => at <= before);
      const last = sent.reduce<Date | undefined>((newest, { at }) => (newest && newest > at ? newest : at), undefined);
      return {
        count: sent.length,
        count_24h: sent.filter(({ at }) => at.getTime() > before.getTime() - dayMs).length,
        last_at: last,
      };
    },
    earlier({ name }, scope, seconds, thread, before) {
      const since = before.getTime() - seconds * 1_000;
      return (byRule.get(name) ?? []).filter(
        (match) =>
          match.at <= before &&
          match.at.getTime() > since &&
          (scope === 'account' || (match.line === thread.line && (scope === 'line' || match.number === thread.number))),
      ).length;
    },
  };
}

function append(lists: Map<string, Match[]>, key: string, match: Match): void {
  const list = lists.get(key);
  if (list) list.push(match);
  else lists.set(key, [match]);
}

function keyOf({ line, number }: Thread): string {
  return `${line}/${number}`;
}

/** The match that an evaluation adds to what later ones go by. */
export function matchOf({ rule, actions }: Evaluation, thread: Thread, at: Date): Match {
  return { ...thread, rule: rule.name, at, hasReply: actions.some(({ kind }) => kind === 'reply') };
}

/**
 * Reads what rules have done that can matter to triggers of these threads from a moment on; without what they did from
 * `until` on.
 */
export async function readHistory(
  db: Database | Transaction,
  { rules }: Pick<RuleSet, 'rules'>,
  threads: readonly Thread[],
  from: Date,
  until?: Date,
): Promise<History> {
  const limits = rules.flatMap(({ limits }) => [limits.line, limits.account]);
  const furthest = Math.max(0, ...limits.map((limit) => limit?.seconds ?? 0));
  const rows = await query<{ rule: string; line: string; number: string; at: Date; has_reply: boolean }>(
    db,
    `select r.rule, r.line, r.number, r.trigger_at as at, exists (
       select from ops.rule_actions a where a.run_id = r.run_id and a.kind = 'reply' and a.state in ('waiting', 'done', 'unclear', 'dry_run')
     ) as has_reply
     from ops.rule_runs r
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
    ],
  );
  return createHistory(rows.map(({ has_reply, ...row }) => ({ ...row, hasReply: has_reply })));
}
