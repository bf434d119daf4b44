import { query, sql, type Transaction } from '../../db/database.ts';
import type { SendState } from '../../ledger/states.ts';
import { actionStateWords, sendReasonWords, sendStateWords } from '../../ops/format.ts';
import { explainRulesOn, outcomeWords, type RuleExplanation, replyWords } from '../../rules/explain.ts';
import { declarationOf } from '../../rules/facts/declared.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { TriggerKind } from '../../rules/triggers.ts';
import { commandName } from '../../shared/command-name.ts';
import { maskNumbers } from '../../shared/masking.ts';
import { BadAddress } from '../answering.ts';
import { type Html, html } from '../html.ts';
import { areWordsShown, hiddenWords } from '../row-list.ts';
import { facts, frame, section, timeIn } from './frame.ts';
import { pathIn, type View } from './view.ts';

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
  if (!run) throw new BadAddress(`There is no run ${id}: those that did not match are kept for some weeks.`, 404);
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
${section('Why, rule by rule', explained ? explanations(explained, run, rules, isTextShown) : html`<p class="soft">This process cannot read the rules file (RULES_FILE), so the conditions cannot be evaluated here. <code>${commandName} rules explain</code> does it where the file is.</p>`)}
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

function explanations(
  explained: readonly RuleExplanation[],
  { rule, version }: Run,
  rules: RuleSet | undefined,
  isTextShown: boolean,
): Html {
  if (explained.length === 0) return html`<p class="soft">No rule of the present file waits for this.</p>`;
  const own = explained.toSorted((a, b) => Number(b.rule === rule) - Number(a.rule === rule));
  const isSame = rules?.version === version;
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
<p class="note">Evaluated now, with the data that was known then, by ${isSame ? 'the same version of the rules file' : `version ${rules?.version} of the rules file; the run was by version ${version}`}.</p>
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
