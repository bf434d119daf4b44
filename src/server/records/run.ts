import { query, sql, type Transaction } from '../../db/database.ts';
import type { SendState } from '../../ledger/states.ts';
import { actionStateWords, sendReasonWords, sendStateWords } from '../../ops/format.ts';
import { explainIn, explainRulesOn, outcomeWords, type RuleExplanation, replyWords } from '../../rules/explain.ts';
import { declarationOf } from '../../rules/facts/declared.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { TriggerKind } from '../../rules/triggers.ts';
import { commandName } from '../../shared/command-name.ts';
import { maskNumbers } from '../../shared/masking.ts';
import { isCallId } from '../../shared/thread.ts';
import { BadAddress } from '../answering.ts';
import { type Html, html } from '../html.ts';
import { areWordsShown, hiddenWords } from '../row-list.ts';
import { facts, frame, section, timeIn } from './frame.ts';
import { idOf, pathIn, type View } from './view.ts';

interface Run {
  readonly rule: string;
  readonly version: string;
  readonly kind: TriggerKind;
  readonly key: string;
  readonly triggerAt: Date;
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
  readonly at: Date;
  readonly sendId: string | null;
  readonly sendState: SendState | null;
  readonly sendReason: string | null;
}

/** The page of an evaluation of a rule: what it did, and why or why not. `rules` are those of the rules file, if it can be read. */
export async function runPage(
  tx: Transaction,
  id: string,
  { view, rules }: { view: View; rules: RuleSet | undefined },
): Promise<string> {
  const [run] = await query<Run>(
    tx,
    sql`select rule, version, trigger_kind as kind, trigger_key as key, trigger_at as "triggerAt", evaluated_at as "evaluatedAt", line,
        number, mode, is_matched as "isMatched", reason, facts from ops.rule_runs where run_id = ${id}`,
  );
  if (!run) throw new BadAddress(`There is no run ${id}: refusals are kept for some weeks, matches for 400 days.`, 404);
  const steps = await query<Step>(
    tx,
    sql`select a.kind, a.state, a.reason, coalesce(a.settled_at, a.begun_at, a.due_at) as at, a.send_id as "sendId",
        s.state as "sendState", s.reason as "sendReason"
      from ops.rule_actions a left join ops.sends s using (send_id) where a.run_id = ${id} order by a.ordinal`,
  );
  const others = await query<{ id: string; rule: string; reason: string; mode: string }>(
    tx,
    sql`select run_id as id, rule, reason, mode from ops.rule_runs
      where rule_runs.rule = any(${rules?.rules.map(({ name }) => name) ?? []}) and trigger_kind = ${run.kind} and trigger_key = ${run.key}
        and run_id <> ${id} order by run_id`,
  );
  const isTextShown = await areWordsShown(tx);
  const explained = rules && (await explain(tx, rules, run));
  return frame({
    title: `${run.rule}, run ${id}`,
    current: '/rules',
    view,
    content: html`<div class="head"><h1>${run.rule} <span class="soft">run ${id}</span></h1></div>
${section(
  'What it came to',
  html`<p><span class="state">${run.isMatched ? 'It matched' : 'It did not match'}</span>${!run.isMatched && html`: ${maskNumbers(outcomeWords(run.reason, run.kind))}`}.</p>
${facts([
  ['on', run.kind],
  [
    'of',
    run.kind.startsWith('call_') || run.kind === 'voicemail_left'
      ? html`<a href="${pathIn(view, `/calls/${run.key}`)}">${run.key}</a>`
      : run.key,
  ],
  ['happened', timeIn(view.zone, run.triggerAt)],
  ['evaluated', timeIn(view.zone, run.evaluatedAt)],
  [
    'other party',
    run.number !== null && html`<a href="${pathIn(view, `/threads/${run.line}/${run.number}`)}">${run.number}</a>`,
  ],
  ['our line', run.line],
  ['mode', run.mode === 'live' ? 'live' : 'dry-run: its steps were only recorded'],
  ['version of the file', run.version],
])}`,
)}
${steps.length > 0 && section('What it did', stepList(steps, view))}
${section('The facts that its condition used', recorded(run.facts))}
${section('Why, rule by rule', explained ? html`${explanations(explained, run.rule, isTextShown)}${evaluatedBy(rules, run.version, isTextShown)}` : noRules)}
${
  others.length > 0 &&
  section(
    'What the other rules did about it',
    html`<ul class="plain prose">${others.map(
      (each) =>
        html`<li><a href="${pathIn(view, `/rules/runs/${each.id}`)}">${each.rule}</a>: ${maskNumbers(outcomeWords(each.reason, run.kind))} <span class="soft">${each.mode}</span></li>`,
    )}</ul>`,
  )
}`,
  });
}

function stepList(steps: readonly Step[], view: View): Html {
  return html`<ol class="steps">${steps.map(
    ({ kind, state, reason, at, sendId, sendState, sendReason }) =>
      html`<li>${timeIn(view.zone, at, true)}<span class="step">${kind}</span><span>${actionStateWords(state)}${reason !== null && `: ${maskNumbers(reason)}`}${
        sendId !== null &&
        html`; <a href="${pathIn(view, `/sends/${sendId}`)}">send ${sendId.slice(0, 8)}</a> ${sendState !== null && sendStateWords(sendState, sendReason)}${sendState !== null && sendReason !== null && ` (${maskNumbers(sendReasonWords(sendState, sendReason))})`}`
      }</span></li>`,
  )}</ol>`;
}

function recorded(values: Run['facts']): Html {
  if (Object.keys(values).length === 0) return html`<p class="soft">None were recorded.</p>`;
  return html`<table class="values"><tbody>${Object.entries(values).map(
    ([path, value]) =>
      html`<tr><th scope="row"><code>${path}</code></th><td>${value === null ? 'missing' : shortened(value)}</td></tr>`,
  )}</tbody></table>`;
}

/** Evaluates the conditions again with the data of then; an idle thread needs the time that the rule waits for. */
function explain(tx: Transaction, rules: RuleSet, { rule, kind, key, triggerAt }: Run): Promise<RuleExplanation[]> {
  const idleSeconds = rules.rules.find(({ name }) => name === rule)?.idleSeconds;
  const trigger = { kind, key, at: triggerAt, ...(idleSeconds !== undefined && { idleSeconds }) };
  return explainRulesOn(tx, rules, trigger, 'live');
}

const noRules = html`<p class="soft">This process cannot read the rules file (RULES_FILE), so the conditions cannot be evaluated here. <code>${commandName} rules explain</code> does it where the file is.</p>`;

/**
 * The page that says of a text or an ended call, by its id, what each rule makes of it: those that did not match leave no run.
 * Throws `BadAddress`.
 */
export async function explanationPage(
  tx: Transaction,
  id: string,
  { view, rules }: { view: View; rules: RuleSet | undefined },
): Promise<string> {
  const isCall = isCallId(id);
  const choice = isCall ? { callId: id } : { messageId: idOf(id) };
  const title = `Rules on the ${isCall ? 'call' : 'text'} ${id}`;
  const isTextShown = await areWordsShown(tx);
  const explanation = rules && (await explainIn(tx, rules, choice, 'live'));
  if (rules && !explanation) {
    throw new BadAddress(`The ${isCall ? 'ended call' : 'text'} ${id} is not held.`, 404);
  }
  const asked = explanation?.rules.filter(({ outcome }) => outcome !== 'other_trigger') ?? [];
  const { message, call } = explanation ?? {};
  const subject = message
    ? html`<a href="${pathIn(view, `/threads/${message.line}/${message.number}?text=${id}`)}">The text</a>`
    : call && html`<a href="${pathIn(view, `/calls/${id}`)}">The call</a>`;
  return frame({
    title,
    current: '/rules',
    view,
    content: html`<div class="head"><h1>${title}</h1></div>
${subject && html`<p class="about">${subject} of ${timeIn(view.zone, (message ?? call)?.at ?? null)}</p>`}
${section('Why, rule by rule', rules ? html`${explanations(asked, undefined, isTextShown)}${evaluatedBy(rules, undefined, isTextShown)}` : noRules)}`,
  });
}

/** What each rule makes of it, the given one first. */
function explanations(explained: readonly RuleExplanation[], first: string | undefined, isTextShown: boolean): Html {
  if (explained.length === 0) return html`<p class="soft">No rule of the present file waits for this.</p>`;
  const own = explained.toSorted((a, b) => Number(b.rule === first) - Number(a.rule === first));
  return html`${own.map(
    ({ rule: name, on, outcome, falseClauses, reply }) =>
      html`<div class="rule"><h3><b>${name}</b> ${outcomeWords(outcome, on)}</h3>
${falseClauses.map(
  ({ clause, facts }) =>
    html`<div class="clause"><p><span class="problem">false:</span> <code>${clause.replace(/\s+/g, ' ')}</code></p>${Object.entries(
      facts,
    ).map(
      ([path, value]) => html`<p class="soft"><code>${path}</code> = ${valueWords(path, value, isTextShown)}</p>`,
    )}</div>`,
)}
${reply !== undefined && html`<p class="soft">${replyWords(reply)}</p>`}</div>`,
  )}
`;
}

/** By which rules it was evaluated; `version` is that of a run. */
function evaluatedBy(rules: RuleSet | undefined, version: string | undefined, isTextShown: boolean): Html {
  const own = `version ${rules?.version} of the rules file${version === undefined ? '' : `; the run was by version ${version}`}`;
  return html`<p class="note">Evaluated now, with the data that was known then, by ${rules?.version === version ? 'the same version of the rules file' : own}.</p>
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
