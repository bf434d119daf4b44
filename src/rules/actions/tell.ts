import { hash } from 'node:crypto';
import type { DeclaredTarget } from '../../../config/settings.ts';
import { type Database, inTransaction, query, sql } from '../../db/database.ts';
import { listProposals, type Proposal } from '../../ledger/approvals.ts';
import { createChannel, type Message } from '../../notify/channels.ts';
import { toType } from '../../shared/command-name.ts';
import { maskNumbers } from '../../shared/masking.ts';
import type { Facts } from '../facts/declared.ts';
import { readFactsAgain } from '../facts/read-again.ts';
import { factAt } from '../facts/values.ts';
import { type Rule, type Step, targetOf } from '../rule.ts';
import type { RulesReader } from '../versions.ts';
import type { ClaimedAction, Outcome } from './action-states.ts';

/* Steps that tell people and systems something: `notify` and `webhook`. A lost answer is no reason not to tell again. */

export interface TellContext {
  readonly db: Database;
  readonly rules: RulesReader;
  /** NOTIFY_TARGETS. */
  readonly targets: ReadonlyMap<string, DeclaredTarget>;
  /** PUBLIC_URL, where the pages are. */
  readonly publicUrl: string | undefined;
}

/** Longer than a channel takes. It goes on when the process stops: a message that is aborted may have arrived. */
const sendMs = 30_000;

/**
 * The request that tells a target what the step says, or why there is none. The words are made of the facts now, by the rules
 * in force, so that they are stored nowhere.
 */
export async function requestToTell(
  context: TellContext,
  action: ClaimedAction,
): Promise<{ send(): Promise<void> } | Outcome> {
  const { db, rules, targets } = context;
  const name = action.target ?? '';
  const target = targets.get(name);
  if (!target) return { state: 'failed', reason: `NOTIFY_TARGETS has no target ${name}` };
  if (action.kind === 'webhook' && target.kind !== 'webhook') {
    return { state: 'failed', reason: `${name} is no webhook in NOTIFY_TARGETS, so it takes no facts` };
  }
  const sentCount = action.kind === 'notify' ? await countSent(db, name) : 0;
  if (sentCount >= maxPerHour) {
    return { state: 'skipped', reason: `left out: ${name} got ${maxPerHour} notifications within an hour` };
  }
  const isLast = sentCount + 1 === maxPerHour;
  const { sendId } = action.argument;
  const content = await inTransaction(db, async (tx) => {
    if (sendId !== undefined) {
      const [proposal] = await listProposals(tx, 1, sendId);
      return proposal && askFor(proposal, context.publicUrl, isLast);
    }
    const set = await rules(tx);
    if (!set) throw new Error('this release does not understand the rules in force');
    const rule = set.rules.find((each) => each.name === action.rule);
    const step = rule && stepOf(rule, action);
    const facts = await readFactsAgain(tx, set, { ...action.trigger, at: action.triggerAt }, 'live');
    return step && facts && contentOf(step, facts, action, isLast);
  });
  if (!content)
    return { state: 'skipped', reason: 'the rule does not say this any more, or what it was about is gone' };
  const message = { id: messageId(action), ...content };
  return { send: () => createChannel(target).send(message, AbortSignal.timeout(sendMs)) };
}

/** Notifications of a target within an hour. */
const maxPerHour = 60;
const lastRemark = `(Notification ${maxPerHour} of this hour: further ones are left out.)`;

async function countSent(db: Database, target: string): Promise<number> {
  const [row] = await query<{ count: number }>(
    db,
    sql`select count(*)::integer as count from ops.rule_actions
      where target = ${target} and kind = 'notify' and state = 'done' and settled_at > now() - interval '1 hour'`,
  );
  return row?.count ?? 0;
}

/** The step at the same place, else another one of its kind that tells the same target. */
function stepOf({ steps }: Rule, { kind, ordinal, target }: ClaimedAction): Step | undefined {
  return [...steps.slice(ordinal - 1, ordinal), ...steps].find(
    (step) => step.kind === kind && targetOf(step) === target,
  );
}

/** Asks for the approval of a text. The link leads to its page, which needs the sign-in: only a POST from there approves. */
function askFor(
  { sendId, rule, number, text, expiresAt }: Proposal,
  publicUrl: string | undefined,
  isLast: boolean,
): Omit<Message, 'id'> {
  const page = publicUrl === undefined ? undefined : new URL(`/sends/${sendId}`, publicUrl).href;
  const to = maskNumbers(number);
  const how = page ?? `To approve it: ${toType(`sends approve ${sendId}`)}`;
  return {
    headline: `A text to ${to} waits for approval (rule ${rule})`,
    paragraphs: [text, how, ...(isLast ? [lastRemark] : [])],
    event: { type: 'rule.approval', data: { rule, sendId, to, text, expiresAt, page } },
  };
}

function contentOf(
  step: Step,
  facts: Facts,
  { rule, trigger, triggerAt }: ClaimedAction,
  isLast: boolean,
): Omit<Message, 'id'> | undefined {
  if (step.kind === 'notify') {
    const text = step.text.render(facts);
    return {
      paragraphs: isLast ? [text, lastRemark] : [text],
      event: { type: 'rule.notify', data: { rule, text } },
    };
  }
  if (step.kind !== 'webhook') return undefined;
  const data = { rule, trigger: { kind: trigger.kind, at: triggerAt }, facts: chosen(facts, step.facts) };
  return { paragraphs: [], event: { type: 'rule.matched', data } };
}

/** The facts at these paths, in their groups. */
function chosen(facts: Facts, paths: readonly string[] = Object.keys(facts)): object {
  const all: Record<string, unknown> = {};
  for (const path of paths) {
    const [group = '', name] = path.split('.');
    const value = factAt(facts, path);
    all[group] = name === undefined ? value : { ...(all[group] as object | undefined), [name]: value };
  }
  return all;
}

/** The same for every attempt at a step on a trigger, also after a database was restored. */
function messageId({ rule, trigger, ordinal }: ClaimedAction): string {
  return hash('sha256', JSON.stringify([rule, trigger.kind, trigger.key, ordinal])).slice(0, 32);
}

/** Which failed steps are to be performed again: those of some runs, or all that were to tell a target. */
export type RetriedSteps = { readonly runIds: readonly string[] } | { readonly target: string };

/** Makes failed `notify` and `webhook` steps due again, with the ids of their messages. Returns how many. */
export async function retryTelling(db: Database, which: RetriedSteps): Promise<number> {
  const wanted = 'runIds' in which ? sql`run_id = any(${which.runIds}::bigint[])` : sql`target = ${which.target}`;
  const rows = await query(
    db,
    sql`update ops.rule_actions set state = 'waiting', due_at = now(), tries = 0, settled_at = null,
        claimed_until = '-infinity'
      where state = 'failed' and target is not null and ${wanted} returning 1`,
  );
  return rows.length;
}
