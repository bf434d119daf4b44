import { type Database, hotQuery, type Transaction } from '../warehouse/database.ts';
import type { RuleLimits } from './limits.ts';
import type { SendState } from './states.ts';

/** What a rule wants to be sent. */
export interface SendPlan {
  readonly rule: string;
  readonly ruleVersion?: string;
  /** Since when the rule has been in force: what was replied to before, by whatever rule, it does not reply to. */
  readonly ruleSince?: Date;
  readonly line: string;
  /** One recipient: two would make a group. */
  readonly number: string;
  /** What the rule answers, as it was read from the service. */
  readonly trigger: { readonly kind: 'message' | 'call'; readonly id: string; readonly at: Date };
  readonly text: string;
  readonly mode: 'dry-run' | 'live';
  readonly limits?: RuleLimits;
}

/** A send of the ledger; moments are those of the database's clock. */
export interface Send extends Omit<SendPlan, 'ruleVersion' | 'ruleSince' | 'limits'> {
  readonly sendId: string;
  readonly ruleVersion: string | null;
  readonly limits: RuleLimits;
  readonly state: SendState;
  readonly reason: string | null;
  readonly fence: number;
  readonly tries: number;
  readonly dueAt: Date;
  readonly expiresAt: Date;
  /** Whether its moment has come: of RESERVED and DISPATCHED, whether the lease is over. */
  readonly isDue: boolean;
  readonly baseline: readonly string[];
  readonly looks: number;
  readonly units: number | null;
  readonly reservedMicros: number;
  readonly settledMicros: number | null;
  readonly budgetDate: string | null;
  readonly messageId: string | null;
  readonly isReconciled: boolean;
  readonly plannedAt: Date;
  readonly dispatchedAt: Date | null;
  readonly unknownAt: Date | null;
  readonly settledAt: Date | null;
}

/** Timers fire a little early against the database's clock. */
const earlyMs = 50;

/** The columns of `ops.sends s` under the names of `Send`. */
export const sendColumns = `s.send_id as "sendId", s.rule, s.rule_version as "ruleVersion", s.line, s.number,
  jsonb_build_object('kind', s.trigger_kind, 'id', s.trigger_id) as trigger, s.trigger_at, s.body as text, s.mode, s.limits,
  s.state, s.reason, s.fence, s.tries, s.due_at as "dueAt", s.expires_at as "expiresAt",
  s.due_at <= clock_timestamp() + interval '${earlyMs} ms' as "isDue",
  coalesce(s.baseline_message_ids, '{}')::text[] as baseline, s.looks_count as looks, s.units,
  s.reserved_micros::float8 as "reservedMicros", s.settled_micros::float8 as "settledMicros",
  s.budget_date::text as "budgetDate", s.message_id as "messageId", s.is_reconciled as "isReconciled",
  s.planned_at as "plannedAt", s.dispatched_at as "dispatchedAt", s.unknown_at as "unknownAt", s.settled_at as "settledAt"`;

export type SendRow = Omit<Send, 'trigger'> & { trigger: Omit<Send['trigger'], 'at'>; trigger_at: Date };

export function sendOf({ trigger, trigger_at, ...row }: SendRow): Send {
  return { ...row, trigger: { ...trigger, at: trigger_at } };
}

/** The send as it stands. */
export async function findSend(db: Database | Transaction, sendId: string): Promise<Send | undefined> {
  const rows = await hotQuery<SendRow>(db, `select ${sendColumns} from ops.sends s where send_id = $1`, [sendId]);
  return rows.map(sendOf)[0];
}

/** The send, locked to the end of the transaction; whoever else holds it is waited for. */
export async function lockSend(tx: Transaction, sendId: string): Promise<Send | undefined> {
  const text = `select ${sendColumns} from ops.sends s where send_id = $1 for update of s`;
  return (await hotQuery<SendRow>(tx, text, [sendId])).map(sendOf)[0];
}
