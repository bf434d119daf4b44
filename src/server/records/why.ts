import { query, sql, type Transaction } from '../../db/database.ts';
import { readControl } from '../../ledger/control.ts';
import { readAllowedMode } from '../../ledger/rules-in-force.ts';
import { isUnsent } from '../../ledger/states.ts';
import { sendReasonWords, sendStateWords } from '../../ledger/words.ts';
import {
  type Choice,
  explainIn,
  outcomeWords,
  type PastRun,
  type RuleExplanation,
  replyWords,
} from '../../rules/explain.ts';
import { declarationOf } from '../../rules/facts/declared.ts';
import { parseRules } from '../../rules/file/parse.ts';
import { heldBackWords } from '../../rules/rule.ts';
import type { RulesReader } from '../../rules/versions.ts';
import { isCallId } from '../../shared/call-id.ts';
import { spellingsOf } from '../../warehouse/phone-numbers.ts';
import { idOf } from '../address.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { factsOf, items, link, type RecordPage, section, soft } from '../page.ts';
import { codes } from '../words.ts';
import { ask } from './forms.ts';
import { stepWords } from './rule-runs.ts';
import { bubble } from './send.ts';
import { hiddenWords, type View } from './view.ts';

const noRules = parseRules('rules: []', { file: 'no rules', timeZone: undefined });

/** Why rules did, or didn't, act on a text or ended call: what each decides about it, and did. Throws `BadAddress`. */
export async function explanationPage(
  tx: Transaction,
  id: string,
  view: View,
  rules: RulesReader,
): Promise<RecordPage> {
  const isCall = isCallId(id);
  const choice: Choice = isCall ? { callId: id } : { messageId: idOf(id) };
  const inForce = await rules(tx);
  const found = await explainIn(tx, inForce ?? noRules, choice, 'live');
  if (!found) throw new BadAddress(`The ${isCall ? 'ended call' : 'text'} ${id} is not held.`, 404);
  const { message, call } = found;
  const explained = concerned(found.rules);
  const { number = null, at = null } = message ?? call ?? {};
  const page = message
    ? link(`/threads/${message.line}/${message.number}?text=${id}#text-${id}`, 'The text')
    : link(`/calls/${id}`, 'The call');
  return {
    title: titleOf(explained, message ? 'text' : 'call'),
    about: html`${page} of ${view.time(at)}${number !== null && html`, with ${number}`}`,
    parts: [
      message?.direction === 'in' && view.areWordsShown && bubble(message.text),
      await obstacles(tx, { number, view, hasRules: inForce !== undefined }),
      section(
        'Rule by rule',
        html`${explained.length === 0 ? soft('None waits for this.') : explained.map((each) => ruleOf(each, id, view))}
<p class="note">Evaluated now by the rules in force, with the data that was known then.</p>
${!view.areWordsShown && hiddenWords}`,
      ),
    ],
  };
}

/** The rules that wait for this or did; first those that recorded something. */
function concerned(rules: readonly RuleExplanation[]): RuleExplanation[] {
  return rules
    .filter(({ outcome, past }) => past !== undefined || !/^(off|other_trigger)$/.test(outcome))
    .sort((a, b) => Number(b.past !== undefined) - Number(a.past !== undefined));
}

/** The answer in a sentence. */
function titleOf(rules: readonly RuleExplanation[], noun: 'text' | 'call'): string {
  if (rules.length === 0) return `No rule in force waits for this ${noun}`;
  const acted = rules.flatMap(({ past }) => (past?.isMatched ? [past] : []));
  const replies = acted.flatMap(({ rule, actions }) => actions.map((each) => ({ ...each, rule })));
  const reply =
    replies.find(({ sendState }) => sendState === 'SENT') ?? replies.find(({ sendState }) => sendState !== null);
  if (reply?.sendState) {
    const { rule, sendState: state, sendReason: reason } = reply;
    if (state === 'SENT') return `${rule} answered this ${noun}`;
    const why = reason === null ? sendStateWords(state, null) : sendReasonWords(state, reason);
    return `${rule} did not answer this ${noun}${isUnsent({ state }) ? ' yet' : ''}: ${why}`;
  }
  const [did] = acted;
  if (did) return `${did.rule} ${did.mode === 'live' ? 'acted' : 'would have acted'} on this ${noun}`;
  const [first] = rules;
  if (first?.past) return `${first.rule} did not act on this ${noun}: ${outcomeWords(first.past.reason, first.on)}`;
  const fits = rules.find(({ outcome }) => outcome === 'matched');
  return fits ? `${fits.rule} fits this ${noun}, but did nothing` : `No rule fits this ${noun}`;
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
      html`${number} ${link(`/opt-outs?number=${number}`, codes.status[status.status] ?? '')} ${view.time(status.at)}, ${codes.evidence[status.evidence]}: no rule texts them.`,
  ].filter((each) => each !== false);
  return list.length > 0 && section('What holds for every rule', items(list, 'prose'));
}

function ruleOf(
  { rule, on, outcome, falseClauses, heldBack, does, reply, past }: RuleExplanation,
  id: string,
  view: View,
): Html {
  return html`<div class="rule"><h3>${rule} <small>${outcomeWords(past ? past.reason : outcome, on)}</small></h3>
${past && pastOf(past, id, past.mode !== 'live' && heldBack ? `, as ${heldBackWords}` : '', view)}
${!past?.isMatched && falseClauses.map((each) => clauseOf(each, view))}
${!past && outcome === 'matched' && html`<p class="soft">It would do: ${does?.join(', ')}${reply !== undefined && `. ${gateWords(reply)}`} Nothing of it is recorded: the rule was not in force then, or no worker ran.</p>`}</div>`;
}

/** What a rule did, and knew; what its targets refused can be sent again. */
function pastOf(past: PastRun, id: string, heldBack: string, view: View): Html {
  const { version, mode, actions, evaluatedAt } = past;
  const known = Object.entries(past.facts).map(([path, value]) => [path, shortened(value)]);
  const isFailed = actions.some(({ kind, state }) => state === 'failed' && /^(notify|webhook) /.test(kind));
  return html`<p class="soft">Evaluated ${view.time(evaluatedAt)} by version ${version}${mode !== 'live' && ', in dry-run mode: its steps were only recorded'}${heldBack}.</p>${items(actions.map(stepWords))}${
    isFailed &&
    ask(view, 'Retry', 'What failed is sent to its target again, with the same id.', {
      'Send it again': ['rules retry', { run: past.id, of: id }],
    })
  }${known.length > 0 && html`<details><summary>What it knew then</summary>${factsOf(view, Object.fromEntries(known), String)}</details>`}`;
}

function gateWords(reply: string): string {
  const isRefused = reply.startsWith('gate:');
  return isRefused ? `Its reply would be refused: ${sendReasonWords('DENIED', reply)}.` : replyWords(reply);
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
