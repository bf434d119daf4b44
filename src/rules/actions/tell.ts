import { hash } from 'node:crypto';
import { type DeclaredTarget, pageUrl } from '../../../config/settings.ts';
import { type Database, query, sql, type Transaction } from '../../db/database.ts';
import { takeLock } from '../../db/locks.ts';
import { listProposals, type Proposal } from '../../ledger/approvals.ts';
import { type Message, sendTo } from '../../notify/channels.ts';
import { toType } from '../../shared/command-name.ts';
import { maskNumbers } from '../../shared/masking.ts';
import type { ClaimedAction, Outcome } from './action-states.ts';

/* `notify` and `webhook`: steps that tell people and systems something. If the answer is lost, they tell it again. */

export interface TellContext {
  readonly db: Database;
  /** NOTIFY_TARGETS. */
  readonly targets: ReadonlyMap<string, DeclaredTarget>;
  /** PUBLIC_URL, where the pages are. */
  readonly publicUrl: string | undefined;
}

/** Longer than `sendTo` takes. It isn't aborted when the process stops: an aborted message may have arrived. */
const sendMs = 30_000;

/** The request that tells a target what the match recorded, or why there is none. */
export async function requestToTell(
  { db, targets, publicUrl }: TellContext,
  action: ClaimedAction,
): Promise<{ refusal(tx: Transaction): Promise<Outcome | undefined>; send(): Promise<void> } | Outcome> {
  const name = action.target ?? '';
  const target = targets.get(name);
  if (!target) return { state: 'failed', reason: `NOTIFY_TARGETS has no target ${name}` };
  if (action.kind === 'webhook' && target.kind !== 'webhook') {
    return { state: 'failed', reason: `${name} is no webhook in NOTIFY_TARGETS, so it takes no facts` };
  }
  const { sendId } = action.argument;
  const [proposal] = sendId === undefined ? [] : await listProposals(db, 1, sendId);
  const content = sendId === undefined ? contentOf(action) : proposal && askFor(proposal, publicUrl);
  if (!content) return { state: 'skipped', reason: 'what it was about is gone' };
  const { paragraphs, ...rest } = content;
  let isLast = false;
  return {
    async refusal(tx) {
      if (action.kind !== 'notify') return undefined;
      const place = await placeOf(tx, action);
      if ('state' in place) return place;
      ({ isLast } = place);
      return undefined;
    },
    send() {
      const message = { id: messageId(action), ...rest, paragraphs: [...paragraphs, ...(isLast ? [lastRemark] : [])] };
      return sendTo(target, message, AbortSignal.timeout(sendMs));
    },
  };
}

/** Maximum notifications of a target within an hour. */
const maxPerHour = 60;
const lastRemark = `(Notification ${maxPerHour} of this hour: further ones are left out.)`;

/** Milliseconds that a notification waits if it depends on whether another one arrives. */
const besideOthersMs = 1_000;

/**
 * Whether a notification is the last one of the hour, or why it may not leave now. Decides on one at a time, and the
 * last one leaves alone: any notification on its way can fail, and then the next one takes its place.
 */
async function placeOf(
  tx: Transaction,
  { target, runId, ordinal, tries }: ClaimedAction,
): Promise<{ readonly isLast: boolean } | Outcome> {
  await takeLock(tx, 'notifications');
  const others = sql`ops.rule_actions where target = ${target} and kind = 'notify' and (run_id, ordinal) <> (${runId}, ${ordinal})`;
  const [row] = await query<{ told: number; leaving: number }>(
    tx,
    sql`select
      (select count(*)::integer from ${others} and state = 'done' and settled_at > now() - interval '1 hour') as told,
      (select count(*)::integer from ${others} and state = 'waiting' and begun_at is not null and claimed_until > now()) as leaving`,
  );
  const { told = 0, leaving = 0 } = row ?? {};
  if (told >= maxPerHour) {
    return { state: 'skipped', reason: `left out: ${target} got ${maxPerHour} notifications within an hour` };
  }
  if (leaving > 0 && told + leaving >= maxPerHour - 1) {
    return { state: 'later', afterMs: besideOthersMs, reason: 'others are on their way', tries, isBegun: false };
  }
  return { isLast: told === maxPerHour - 1 };
}

/** Asks for the approval of a text. The link opens its page behind the sign-in: only a POST from there approves. */
function askFor(
  { sendId, rule, number, text, expiresAt }: Proposal,
  publicUrl: string | undefined,
): Omit<Message, 'id'> {
  const page = pageUrl(publicUrl, `/sends/${sendId}`);
  const to = maskNumbers(number);
  const how = page ?? `To approve it: ${toType(`sends approve ${sendId}`)}`;
  return {
    headline: `A text to ${to} waits for approval (rule ${rule})`,
    paragraphs: [text, how],
    event: { type: 'rule.approval', data: { rule, sendId, to, text, expiresAt, page } },
  };
}

/** Undefined if the words were removed after RETENTION_DAYS. */
function contentOf({ argument, rule, trigger, triggerAt }: ClaimedAction): Omit<Message, 'id'> | undefined {
  const { text, facts } = argument;
  if (text !== undefined) return { paragraphs: [text], event: { type: 'rule.notify', data: { rule, text } } };
  if (facts === undefined) return undefined;
  const data = { rule, trigger: { kind: trigger.kind, at: triggerAt }, facts };
  return { paragraphs: [], event: { type: 'rule.matched', data } };
}

/** The id of a step's message: the same for every attempt on a trigger, also after a database was restored. */
function messageId({ rule, trigger, ordinal }: ClaimedAction): string {
  return hash('sha256', JSON.stringify([rule, trigger.kind, trigger.key, ordinal])).slice(0, 32);
}

/** The failed steps to perform again: those of some runs, or all that tell a target. */
export type RetriedSteps = { readonly runIds: readonly string[] } | { readonly target: string };

/** Makes failed `notify` and `webhook` steps due again, with the ids of their messages. Returns how many. */
export async function retryTelling(db: Database, which: RetriedSteps): Promise<number> {
  const wanted = 'runIds' in which ? sql`run_id = any(${which.runIds}::bigint[])` : sql`target = ${which.target}`;
  const rows = await query(
    db,
    sql`update ops.rule_actions set state = 'waiting', due_at = now(), tries = 0, settled_at = null,
        claimed_until = '-infinity', argument = coalesce(argument, '{}') || jsonb_build_object('since', clock_timestamp())
      where state = 'failed' and target is not null and ${wanted} returning 1`,
  );
  return rows.length;
}
