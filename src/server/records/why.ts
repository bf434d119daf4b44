import { query, sql, type Transaction } from '../../db/database.ts';
import { readControl } from '../../ledger/control.ts';
import { readAllowedMode } from '../../ledger/rules-in-force.ts';
import { isUnsent } from '../../ledger/states.ts';
import { sendReasonWords, sendStateWords, sendWords } from '../../ledger/words.ts';
import {
  type Choice,
  type Explanation,
  explainIn,
  outcomeWords,
  type PastRun,
  pastRuns,
  type RuleExplanation,
  replyWords,
} from '../../rules/explain.ts';
import { declarationOf } from '../../rules/facts/declared.ts';
import { parseRules } from '../../rules/file/parse.ts';
import { heldBackWords } from '../../rules/rule.ts';
import { actionStateWords } from '../../rules/runs.ts';
import type { Trigger } from '../../rules/triggers.ts';
import type { RulesReader } from '../../rules/versions.ts';
import { spellingsOf } from '../../shared/phone-numbers.ts';
import { isCallId } from '../../shared/thread.ts';
import { idOf } from '../address.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { ask, asks, facts, items, link, type RecordPage, section, soft } from '../page.ts';
import { evidenceWords } from './opt-outs.ts';
import { bubble } from './send.ts';
import { hiddenWords, type View } from './view.ts';

/* Why a rule did, or did not, act on a text or call: of its id, with all rules; of a run, with what that run recorded. */

interface Asked {
  readonly view: View;
  readonly rules: RulesReader;
}

const noRules = parseRules('rules: []', { file: 'no rules', timeZone: undefined });

/** The page of a text or ended call: what each rule decides about it, and did. Throws `BadAddress`. */
export async function explanationPage(tx: Transaction, id: string, asked: Asked): Promise<RecordPage> {
  const isCall = isCallId(id);
  const of = await explain(tx, isCall ? { callId: id } : { messageId: idOf(id) }, asked);
  if (of) return answer(tx, of, asked);
  throw new BadAddress(`The ${isCall ? 'ended call' : 'text'} ${id} is not held.`, 404);
}

interface Run extends Pick<Trigger, 'kind' | 'key'> {
  readonly id: string;
  readonly rule: string;
  readonly choice: Choice | null;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** The page of a rule's evaluation: what it did, and the same explanation. Throws `BadAddress`. */
export async function runPage(tx: Transaction, id: string, asked: Asked): Promise<RecordPage> {
  const [run] = await query<Run>(
    tx,
    sql`select run_id as id, rule, trigger_kind as kind, trigger_key as key, facts, case
          when trigger_kind in ('message_received', 'thread_idle') then jsonb_build_object('messageId', split_part(trigger_key, '/', 2))
          when trigger_kind not in ('transcript_ready', 'action_required') then jsonb_build_object('callId', trigger_key)
          else (select jsonb_build_object('callId', call_id) from warehouse.transcripts where transcript_id::text = trigger_key) end as choice
      from ops.rule_runs where run_id = ${id}`,
  );
  if (!run) throw new BadAddress(`There is no run ${id}: refusals are kept for some weeks, matches for 400 days.`, 404);
  const { rule, kind: on } = run;
  const { rules, ...of } = (run.choice && (await explain(tx, run.choice, asked))) ?? { rules: [] };
  const past = (await pastRuns(tx, run)).get(rule);
  const known = rules.find((each) => each.rule === rule);
  const own = known ?? { rule, on, mode: 'off', outcome: 'other_trigger', falseClauses: [], isTooOldNow: false };
  return answer(tx, { ...of, rules: [{ ...own, past }, ...rules.filter((each) => each !== known)] }, asked, run);
}

/** What the rules in force make of a text or call: those that wait for it, at first those that recorded something. */
async function explain(tx: Transaction, choice: Choice, asked: Asked): Promise<Explanation | undefined> {
  const found = await explainIn(tx, (await asked.rules(tx)) ?? noRules, choice, 'live');
  const isOfCall = (on: string) => on !== 'message_received' && on !== 'thread_idle';
  const isOf = ({ outcome, on }: RuleExplanation) => outcome !== 'other_trigger' && isOfCall(on) === 'callId' in choice;
  return (
    found && {
      ...found,
      rules: found.rules.filter(isOf).sort((a, b) => Number(b.past !== undefined) - Number(a.past !== undefined)),
    }
  );
}

async function answer(tx: Transaction, of: Explanation, { view, rules }: Asked, run?: Run): Promise<RecordPage> {
  const { message, call, rules: explained } = of;
  const { number = null, at = null } = message ?? call ?? {};
  const page = message
    ? link(`/threads/${message.line}/${message.number}?text=${message.messageId}#text-${message.messageId}`, 'The text')
    : call && link(`/calls/${call.callId}`, 'The call');
  const isFailed = run !== undefined && explained[0]?.past?.actions.some(isRetryable);
  return {
    title: titleOf(run ? explained.slice(0, 1) : explained, message ? 'text' : 'call'),
    about: page
      ? html`${page} of ${view.time(at)}${number !== null && html`, with ${number}`}`
      : 'What it was about is not held any more.',
    parts: [
      isFailed &&
        asks(
          ask({
            label: 'Retry',
            question: 'What failed is sent to its target again, with the same id.',
            answers: [['Send it again', `/rules/runs/${run.id}/retry`]],
          }),
        ),
      message?.direction === 'in' && view.areWordsShown && bubble(message.text),
      await obstacles(tx, { number, view, hasRules: (await rules(tx)) !== undefined }),
      section(
        'Rule by rule',
        html`${explained.length === 0 ? soft('None waits for this.') : explained.map((each) => ruleOf(each, view))}
<p class="note">Evaluated now by the rules in force, with the data that was known then.</p>
${!view.areWordsShown && hiddenWords}`,
      ),
      run !== undefined &&
        html`<details><summary>For operators</summary>${facts(view, [
          ['run', run.id],
          ['trigger', `${run.kind} ${run.key}`],
          ...Object.entries(run.facts).map(([path, value]) => [path, shortened(value)] as const),
        ])}</details>`,
    ],
  };
}

/** The answer in a sentence. */
function titleOf(rules: readonly RuleExplanation[], noun: 'text' | 'call'): string {
  if (rules.length === 0) return `No rule in force waits for this ${noun}`;
  const acted = rules.flatMap(({ rule, past }) => (past?.isMatched ? [{ rule, ...past }] : []));
  const replies = acted.flatMap(({ rule, actions }) =>
    actions.flatMap((each) => (each.sendState ? { ...each, rule } : [])),
  );
  const reply = replies.find(({ sendState }) => sendState === 'SENT') ?? replies[0];
  if (reply?.sendState === 'SENT') return `${reply.rule} answered this ${noun}`;
  if (reply?.sendReason === 'dry_run') return `${reply.rule} would have answered this ${noun}: it was in dry-run mode`;
  if (reply?.sendState && isUnsent({ state: reply.sendState }))
    return `${reply.rule} has not answered this ${noun} yet: ${sendWords(reply.sendState, reply.sendReason)}`;
  if (reply?.sendState)
    return `${reply.rule} did not answer this ${noun}: ${sendReasonWords(reply.sendState, reply.sendReason ?? sendStateWords(reply.sendState, null))}`;
  const [did] = acted;
  if (did)
    return did.mode === 'live'
      ? `${did.rule} acted on this ${noun}`
      : `${did.rule} would have acted on this ${noun}: it was in dry-run mode`;
  const refused = rules.find(({ past }) => past !== undefined);
  if (refused?.past)
    return `${refused.rule} did not act on this ${noun}: ${outcomeWords(refused.past.reason, refused.on)}`;
  const fits = rules.find(({ outcome }) => outcome === 'matched');
  if (fits) return `${fits.rule} fits this ${noun}, but did nothing`;
  return `No rule fits this ${noun}`;
}

/** What keeps all rules from acting, whatever their conditions say. */
async function obstacles(
  tx: Transaction,
  { number, hasRules, view }: { number: string | null; hasRules: boolean; view: View },
): Promise<Html | false> {
  const { isPaused, reason, since } = await readControl(tx);
  const allowed = (await readAllowedMode(tx)) ?? 'off';
  const [status] = await query<{ status: string; evidence: string; at: Date }>(
    tx,
    sql`select opt_status as status, evidence, decided_at as at from reporting.sms_opt_status
      where number = any(${number === null ? [] : spellingsOf(number)}) and opt_status in ('opt_out', 'unsure') order by opt_status limit 1`,
  );
  const list = [
    !hasRules && html`No rules are in force: ${link('/rules/edit', 'write the first ones')}.`,
    allowed === 'off' && html`Rules are not evaluated: no worker runs, or RULES_MODE is off.`,
    allowed === 'dry-run' && html`Rules only record what they would do: RULES_MODE is dry-run.`,
    isPaused &&
      html`${link('/sends', 'All texts are paused')} since ${view.time(since)}: ${reason ?? 'no reason given'}.`,
    status !== undefined &&
      html`${number} ${link(`/opt-outs?number=${number}`, status.status === 'opt_out' ? 'opted out' : 'may have opted out')} ${view.time(status.at)}, ${evidenceWords[status.evidence]}: no rule texts them.`,
  ].filter((each) => each !== false);
  return list.length > 0 && section('What holds for every rule', items(list, 'prose'));
}

function ruleOf({ rule, on, outcome, falseClauses, heldBack, does, reply, past }: RuleExplanation, view: View): Html {
  const isTried = past !== undefined && past.mode !== 'live';
  return html`<div class="rule"><h3>${rule} <small>${outcomeWords(past ? past.reason : outcome, on)}</small></h3>
${past && html`<p class="soft">Evaluated ${view.time(past.evaluatedAt)} by version ${past.version}${isTried && ', in dry-run mode: its steps were only recorded'}${isTried && heldBack && `, as ${heldBackWords}`}.</p>${items(past.actions.map(stepWords))}`}
${!past?.isMatched && falseClauses.map((each) => clauseOf(each, view))}
${!past && outcome === 'matched' && html`<p class="soft">It would do: ${does?.join(', ')}${reply !== undefined && `. ${gateWords(reply)}`} Nothing of it is recorded: the rule was not in force then, or no worker ran.</p>`}</div>`;
}

function gateWords(reply: string): string {
  const isRefused = reply.startsWith('gate:');
  return isRefused ? `Its reply would be refused: ${sendReasonWords('DENIED', reply)}.` : replyWords(reply);
}

const isRetryable = ({ kind, state }: PastRun['actions'][number]) =>
  state === 'failed' && /^(notify|webhook) /.test(kind);

function stepWords({ kind, state, reason, sendId, sendState, sendReason }: PastRun['actions'][number]): Html {
  if (sendId === null || sendState === null)
    return html`${kind}: ${actionStateWords(state)}${reason !== null && ` (${reason})`}`;
  const why = sendReason !== null && ` (${sendReasonWords(sendState, sendReason)})`;
  return html`${kind}: ${link(`/sends/${sendId}`, sendStateWords(sendState, sendReason))}${why}`;
}

function clauseOf({ clause, facts: used }: RuleExplanation['falseClauses'][number], view: View): Html {
  return html`<div class="clause"><p><span class="problem">false:</span> <code>${clause.replace(/\s+/g, ' ')}</code></p>${Object.entries(
    used,
  ).map(([path, value]) => html`<p class="soft"><code>${path}</code> = ${valueWords(path, value, view)}</p>`)}</div>`;
}

function valueWords(path: string, value: unknown, { areWordsShown }: View): string {
  if (value === undefined) return 'missing';
  if (areWordsShown || typeof value !== 'string' || !declarationOf(path)?.isPrivate) return shortened(value);
  return `(${[...value].length} characters, hidden)`;
}

const maxLength = 200;

function shortened(value: unknown): string {
  const text = value instanceof Date ? value.toISOString() : typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
