import { query, sql, type Transaction } from '../../db/database.ts';
import type { SendState } from '../../ledger/states.ts';
import { actionStateWords, sendReasonWords, sendStateWords } from '../../ops/format.ts';
import { explainIn, explainRulesOn, outcomeWords, type RuleExplanation, replyWords } from '../../rules/explain.ts';
import { declarationOf } from '../../rules/facts/declared.ts';
import { heldBackWords, type RuleSet } from '../../rules/rule.ts';
import type { TriggerKind } from '../../rules/triggers.ts';
import { maskNumbers } from '../../shared/masking.ts';
import { isCallId } from '../../shared/thread.ts';
import { idOf } from '../address.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { ask, asks, facts, items, link, type RecordPage, section, soft, steps } from '../page.ts';
import { hiddenWords, type View } from './view.ts';

interface Run {
  readonly rule: string;
  readonly version: string;
  readonly kind: TriggerKind;
  readonly key: string;
  readonly triggerAt: Date;
  readonly afterSeconds: number | null;
  readonly evaluatedAt: Date;
  readonly line: string | null;
  readonly number: string | null;
  readonly mode: string;
  readonly isMatched: boolean;
  readonly reason: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

interface Step {
  readonly kind: string;
  readonly state: string;
  readonly reason: string | null;
  /** It failed to tell a target, and can be performed again. */
  readonly isRetryable: boolean;
  readonly at: Date;
  readonly sendId: string | null;
  readonly sendState: SendState | null;
  readonly sendReason: string | null;
}

/** The page of a rule's evaluation: what it did, and why or why not. `rules` are those in force. */
export async function runPage(
  tx: Transaction,
  id: string,
  { view, rules }: { view: View; rules: RuleSet | undefined },
): Promise<RecordPage> {
  const [run] = await query<Run>(
    tx,
    sql`select rule, version, trigger_kind as kind, trigger_key as key, trigger_at as "triggerAt", after_seconds as "afterSeconds", evaluated_at as "evaluatedAt", line,
        number, mode, is_matched as "isMatched", reason, facts from ops.rule_runs where run_id = ${id}`,
  );
  if (!run) throw new BadAddress(`There is no run ${id}: refusals are kept for some weeks, matches for 400 days.`, 404);
  const taken = await query<Step>(
    tx,
    sql`select concat_ws(' ', a.kind, a.target) as kind, a.state, a.reason, a.state = 'failed' and a.target is not null as "isRetryable", coalesce(a.settled_at, a.begun_at, a.due_at) as at, a.send_id as "sendId",
        s.state as "sendState", s.reason as "sendReason"
      from ops.rule_actions a left join ops.sends s using (send_id) where a.run_id = ${id} order by a.ordinal`,
  );
  const others = await query<{ id: string; rule: string; reason: string; mode: string }>(
    tx,
    sql`select run_id as id, rule, reason, mode from ops.rule_runs
      where rule_runs.rule = any(${rules?.rules.map(({ name }) => name) ?? []}) and trigger_kind = ${run.kind} and trigger_key = ${run.key}
        and run_id <> ${id} order by run_id`,
  );
  const isTextShown = view.areWordsShown;
  const explained = rules && (await explain(tx, rules, run));
  const isOfCall = run.kind.startsWith('call_') || run.kind === 'voicemail_left';
  const words = (reason: string) => maskNumbers(outcomeWords(reason, run.kind));
  return {
    title: `${run.rule}, run ${id}`,
    heading: html`${run.rule} <span class="soft">run ${id}</span>`,
    parts: [
      taken.some(({ isRetryable }) => isRetryable) &&
        asks(
          ask({
            label: 'Retry',
            question: 'What failed is sent to its target again, with the same id.',
            answers: [['Send it again', `/rules/runs/${id}/retry`]],
          }),
        ),
      section(
        'What it came to',
        html`<p><span class="state">${run.isMatched ? 'It matched' : 'It did not match'}</span>${!run.isMatched && `: ${words(run.reason)}`}.</p>
${facts(view, [
  ['on', run.kind],
  ['of', isOfCall ? link(`/calls/${run.key}`, run.key) : run.key],
  ['happened', run.triggerAt],
  ['evaluated', run.evaluatedAt],
  ['other party', run.number !== null && link(`/threads/${run.line}/${run.number}`, run.number)],
  ['our line', run.line],
  ['mode', run.mode === 'live' ? 'live' : 'dry-run: its steps were only recorded'],
  ['version', run.version],
])}`,
      ),
      taken.length > 0 &&
        section('What it did', steps(taken.map((each) => [view.time(each.at, true), each.kind, stepWords(each)]))),
      section('The facts that its condition used', recorded(run.facts)),
      section(
        'Why, rule by rule',
        explained
          ? html`${explanations(explained, run.rule, isTextShown)}${evaluatedBy(rules, run.version, isTextShown)}`
          : noRules,
      ),
      others.length > 0 &&
        section(
          'What the other rules did about it',
          items(
            others.map(
              ({ id, rule, reason, mode }) =>
                html`${link(`/rules/runs/${id}`, rule)}: ${words(reason)} <span class="soft">${mode}</span>`,
            ),
            'prose',
          ),
        ),
    ],
  };
}

function stepWords({ state, reason, sendId, sendState, sendReason }: Step): Html {
  const own = html`${actionStateWords(state)}${reason !== null && `: ${maskNumbers(reason)}`}`;
  if (sendId === null || sendState === null) return own;
  const why = sendReason !== null && ` (${maskNumbers(sendReasonWords(sendState, sendReason))})`;
  return html`${own}; ${link(`/sends/${sendId}`, `send ${sendId.slice(0, 8)}`)} ${sendStateWords(sendState, sendReason)}${why}`;
}

function recorded(values: Run['facts']): Html {
  if (Object.keys(values).length === 0) return soft('None were recorded.');
  return html`<table class="values"><tbody>${Object.entries(values).map(
    ([path, value]) =>
      html`<tr><th scope="row"><code>${path}</code></th><td>${value === null ? 'missing' : shortened(value)}</td></tr>`,
  )}</tbody></table>`;
}

/**
 * Evaluates the conditions again with the data of that time. For an idle thread, this needs the rule's waiting time.
 */
function explain(
  tx: Transaction,
  rules: RuleSet,
  { rule, kind, key, triggerAt, afterSeconds }: Run,
): Promise<RuleExplanation[]> {
  const idle = rules.rules.find(({ name }) => name === rule)?.idle;
  const delay = { ...(idle && { idle }), ...(afterSeconds !== null && { afterSeconds }) };
  const trigger = { kind, key, at: triggerAt, ...delay };
  return explainRulesOn(tx, rules, trigger, 'live');
}

const noRules = html`<p class="soft">No rules are in force, so no condition can be evaluated.</p>`;

/**
 * The page that shows, for the id of a text or ended call, what each rule decides about it. Rules that didn't match
 * have left no run. Throws `BadAddress`.
 */
export async function explanationPage(
  tx: Transaction,
  id: string,
  { view, rules }: { view: View; rules: RuleSet | undefined },
): Promise<RecordPage> {
  const isCall = isCallId(id);
  const choice = isCall ? { callId: id } : { messageId: idOf(id) };
  const title = `Rules on the ${isCall ? 'call' : 'text'} ${id}`;
  const isTextShown = view.areWordsShown;
  const explanation = rules && (await explainIn(tx, rules, choice, 'live'));
  if (rules && !explanation) {
    throw new BadAddress(`The ${isCall ? 'ended call' : 'text'} ${id} is not held.`, 404);
  }
  const asked = explanation?.rules.filter(({ outcome }) => outcome !== 'other_trigger') ?? [];
  const { message, call } = explanation ?? {};
  const subject = message
    ? link(`/threads/${message.line}/${message.number}?text=${id}`, 'The text')
    : call && link(`/calls/${id}`, 'The call');
  return {
    title,
    ...(subject && { about: html`${subject} of ${view.time((message ?? call)?.at ?? null)}` }),
    parts: [
      section(
        'Why, rule by rule',
        rules
          ? html`${explanations(asked, undefined, isTextShown)}${evaluatedBy(rules, undefined, isTextShown)}`
          : noRules,
      ),
    ],
  };
}

/** What each rule decides, the given one first. */
function explanations(explained: readonly RuleExplanation[], first: string | undefined, isTextShown: boolean): Html {
  if (explained.length === 0) return soft('No rule in force waits for this.');
  const own = explained.toSorted((a, b) => Number(b.rule === first) - Number(a.rule === first));
  return html`${own.map(
    ({ rule: name, on, heldBack, outcome, falseClauses, does, reply }) =>
      html`<div class="rule"><h3><b>${name}</b> ${outcomeWords(outcome, on)}</h3>
${falseClauses.map(
  ({ clause, facts }) =>
    html`<div class="clause"><p><span class="problem">false:</span> <code>${clause.replace(/\s+/g, ' ')}</code></p>${Object.entries(
      facts,
    ).map(
      ([path, value]) => html`<p class="soft"><code>${path}</code> = ${valueWords(path, value, isTextShown)}</p>`,
    )}</div>`,
)}
${heldBack && html`<p class="soft">Its steps are only recorded: ${heldBackWords}.</p>`}
${does !== undefined && html`<p class="soft">It does: ${does.join(', ')}.</p>`}
${reply !== undefined && html`<p class="soft">${replyWords(reply)}</p>`}</div>`,
  )}
`;
}

/** The rules that it was evaluated by. `version` is the one of a run. */
function evaluatedBy(rules: RuleSet | undefined, version: string | undefined, isTextShown: boolean): Html {
  const own = `version ${rules?.version} of the rules${version === undefined ? '' : `; the run was by version ${version}`}`;
  return html`<p class="note">Evaluated now, with the data that was known then, by ${rules?.version === version ? 'the same version of the rules' : own}.</p>
${!isTextShown && hiddenWords}`;
}

function valueWords(path: string, value: unknown, isTextShown: boolean): string {
  if (value === undefined) return 'missing';
  if (typeof value === 'string' && declarationOf(path)?.isPrivate && !isTextShown) {
    return `(${[...value].length} characters, hidden)`;
  }
  return shortened(value);
}

const maxLength = 200;

function shortened(value: unknown): string {
  const text = value instanceof Date ? value.toISOString() : typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
