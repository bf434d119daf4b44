import { type Database, query, sql } from '../../db/database.ts';
import type { SendState } from '../../ledger/states.ts';
import { actionStateWords, sendReasonWords } from '../../ops/format.ts';
import type { TriggerKind } from '../../rules/triggers.ts';
import type { Pair } from '../../shared/thread.ts';
import { type Html, html } from '../html.ts';

/** A rule that matched, and the outcome of its steps. */
export interface RuleRun {
  readonly id: string;
  readonly rule: string;
  readonly mode: 'dry-run' | 'live';
  readonly triggerKind: TriggerKind;
  /** `conversation/message`, or the id of a call or transcript. */
  readonly triggerKey: string;
  readonly triggerAt: Date;
  readonly actions: readonly RuleAction[];
}

/** One step of a rule. */
interface RuleAction {
  readonly kind: string;
  readonly state: string;
  readonly reason: string | null;
  /** For a reply: its row in the send ledger. `body` is null while texts are hidden. */
  readonly send: { readonly state: SendState; readonly reason: string | null; readonly body: string | null } | null;
}

/** From this time (`-infinity`: unbounded) until before another one. */
export interface Span {
  readonly from: Date | string;
  readonly until: Date | string;
}

const maxRuns = 200;

/** Reads the rules that matched between a line and a number within a span: the newest 200, oldest first. */
export async function readRuns(db: Database, { line, number }: Pair, { from, until }: Span): Promise<RuleRun[]> {
  return query(
    db,
    sql<RuleRun>`select r.run_id as id, r.rule, r.mode, r.trigger_kind as "triggerKind", r.trigger_key as "triggerKey",
       r.trigger_at as "triggerAt", a.actions
     from (
       select * from ops.rule_runs where line = ${line} and number = ${number} and is_matched and trigger_at >= ${from} and trigger_at < ${until}
       order by trigger_at desc, run_id desc limit ${maxRuns}
     ) r cross join lateral (
       select coalesce(jsonb_agg(jsonb_build_object('kind', concat_ws(' ', x.kind, x.target), 'state', x.state, 'reason', x.reason,
           'send', case when s.send_id is not null then jsonb_build_object('state', s.state, 'reason', s.reason,
             'body', case when p.is_text_shown then s.body end) end) order by x.ordinal), '[]') as actions
       from ops.rule_actions x cross join reporting.params p left join ops.sends s on s.send_id = x.send_id
       where x.run_id = r.run_id
     ) a
     order by r.trigger_at, r.run_id`,
  );
}

/** What a rule did, in one line: `Rule thanks (live): resolve done`. */
export function renderRun({ rule, mode, actions }: RuleRun): Html {
  return html`Rule <b>${rule}</b>${mode === 'dry-run' && ' (dry-run)'}: ${
    actions.length === 0 ? 'no steps' : actions.map((each, at) => html`${at > 0 && ', '}${actionWords(each)}`)
  }`;
}

function actionWords({ kind, state, reason, send }: RuleAction): Html {
  if (!send) return html`${kind} ${actionStateWords(state)}${reason !== null && ` (${reason})`}`;
  const what = send.reason === 'dry_run' ? 'simulated' : (sendWords[send.state] ?? send.state);
  return html`${kind} ${what}${send.reason !== null && ` (${sendReasonWords(send.state, send.reason)})`}${
    send.state !== 'SENT' && send.body && html`: <q dir="auto">${send.body}</q>`
  }`;
}

const sendWords: Readonly<Record<string, string>> = {
  PLANNED: 'planned',
  HELD: 'held back for now',
  AWAITING_APPROVAL: 'waits for approval',
  RESERVED: 'about to be sent',
  DISPATCHED: 'under way',
  SENT: 'sent',
  SKIPPED: 'skipped by the service',
  REJECTED: 'refused by the service',
  NOT_SENT: 'not sent',
  UNKNOWN: 'with an unknown outcome',
  DENIED: 'not sent',
  EXPIRED: 'not sent, too late',
  NEEDS_HUMAN: 'waits for manual review',
};
