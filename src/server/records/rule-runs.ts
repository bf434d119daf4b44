import type { RawBuilder } from 'kysely';
import { query, sql, type Transaction } from '../../db/database.ts';
import { sendReasonWords, sendStateWords } from '../../ledger/words.ts';
import type { PastRun } from '../../rules/explain.ts';
import { actionStateWords } from '../../rules/runs.ts';
import { type Html, html } from '../html.ts';
import { link } from '../page.ts';
import type { View } from './view.ts';

/** A rule that matched, and what its steps came to. */
export interface RuleRun {
  readonly rule: string;
  readonly mode: 'dry-run' | 'live';
  /** `conversation/message`, or the id of a call or transcript. */
  readonly trigger_key: string;
  /** The id of the text or call that it was about. */
  readonly subject: string;
  readonly trigger_at: Date;
  readonly steps: readonly RuleStep[];
}

/** A step. The words of a reply are null while they are hidden. */
type RuleStep = PastRun['actions'][number] & { readonly body?: string | null };

const maxRuns = 200;

/** The id of the text or call that a run `r` was about. */
export const subjectOfRun = sql`case when r.trigger_kind in ('transcript_ready', 'action_required')
  then (select t.call_id from warehouse.transcripts t where t.transcript_id = r.trigger_key::bigint)
  else regexp_replace(r.trigger_key, '^.*/', '') end`;

/** Reads the rules that matched (`r` of ops.rule_runs): the newest 200, oldest first. */
export function readRuns(tx: Transaction, where: RawBuilder<unknown>, { areWordsShown }: View): Promise<RuleRun[]> {
  return query(
    tx,
    sql<RuleRun>`select r.rule, r.mode, r.trigger_key, r.trigger_at, ${subjectOfRun} as subject, a.steps
     from (
       select * from ops.rule_runs r where r.is_matched and ${where} order by r.trigger_at desc, r.run_id desc limit ${maxRuns}
     ) r cross join lateral (
       select coalesce(jsonb_agg(jsonb_build_object('kind', concat_ws(' ', x.kind, x.target), 'state', x.state, 'reason', x.reason,
           'sendId', s.send_id, 'sendState', s.state, 'sendReason', s.reason, 'body', case when ${areWordsShown} then s.body end)
           order by x.ordinal), '[]') as steps
       from ops.rule_actions x left join ops.sends s on s.send_id = x.send_id
       where x.run_id = r.run_id
     ) a
     order by r.trigger_at, r.run_id`,
  );
}

/** What a rule did, in one line: `Rule thanks (dry-run): resolve: only simulated`. */
export function renderRun({ subject, rule, mode, steps }: RuleRun): Html {
  return html`Rule ${link(`/rules/explain/${subject}`, rule)}${mode === 'dry-run' && ' (dry-run)'}: ${
    steps.length === 0 ? 'no steps' : steps.map((each, at) => html`${at > 0 && ', '}${stepWords(each)}`)
  }`;
}

/** What a step came to: `reply: refused by a gate (the person has opted out)`. */
export function stepWords({ kind, state, reason, sendId, sendState, sendReason, body }: RuleStep): Html {
  if (sendState === null) return html`${kind}: ${actionStateWords(state)}${reason !== null && ` (${reason})`}`;
  const why = sendReason !== null && ` (${sendReasonWords(sendState, sendReason)})`;
  const words = sendState !== 'SENT' && body && html`: <q dir="auto">${body}</q>`;
  return html`${kind}: ${link(`/sends/${sendId}`, sendStateWords(sendState, sendReason))}${why}${words}`;
}
