import { type Database, query, sql } from '../../db/database.ts';
import { sendReasonWords } from '../../ledger/words.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Report, RuleReport } from '../../rules/simulate/report.ts';
import { simulate, simulationLimits } from '../../rules/simulate/simulate.ts';
import { commandName } from '../../shared/command-name.ts';
import { countOf, dollars, quantity } from '../../shared/format.ts';
import { isCallId } from '../../shared/thread.ts';
import { type Html, html } from '../html.ts';
import { items, section, soft } from '../page.ts';
import type { View } from './view.ts';

const days = 7;
/** Texts, and calls, that a page simulates: some seconds of work. */
const maxEvents = 2_000;

/** What rules would have done in the last days. */
export interface Simulation {
  readonly draft: Report;
  /** What those in force would have done. Undefined if they are the same, or this release does not understand them. */
  readonly inForce: Report | undefined;
  /** Whether there were more events than a page simulates. */
  readonly isCut: boolean;
}

/** Simulates a draft, and the rules in force beside it, on the same span: the last seven days, or less if they were busy. */
export async function simulateDraft(db: Database, draft: RuleSet, inForce: RuleSet | undefined): Promise<Simulation> {
  const to = new Date();
  const [span] = await query<{ from: Date; isCut: boolean }>(
    db,
    sql`select greatest(start.at, cut.at) as from, coalesce(cut.at > start.at, false) as "isCut"
      from (select ${to}::timestamptz - make_interval(days => ${days}) as at) start, (
        select greatest(
          (select sent_at from warehouse.sms_messages where sent_at < ${to} order by sent_at desc offset ${maxEvents - 1} limit 1),
          (select started_at from warehouse.calls where started_at < ${to} order by started_at desc offset ${maxEvents - 1} limit 1)
        ) as at) cut`,
  );
  const { from = to, isCut = false } = span ?? {};
  return {
    draft: await simulate(db, { set: draft, from, to }),
    inForce: inForce && (await simulate(db, { set: inForce, from, to })),
    isCut,
  };
}

export function renderSimulation({ draft, inForce, isCut }: Simulation, view: View): Html {
  const before = (name: string) => inForce?.rules.find(({ rule }) => rule === name);
  const gone = inForce?.rules.filter(({ rule }) => !draft.rules.some((each) => each.rule === rule)) ?? [];
  const acted = draft.rules.filter(({ examples }) => examples.length > 0);
  return section(
    'Simulation',
    html`<p class="note">What these rules would have done from ${view.time(draft.from)} to ${view.time(draft.to)}, had they been live${
      inForce && ', and in brackets what those in force would have done'
    }. Nothing was sent or written. ${simulationLimits}${
      isCut &&
      html` Only the newest ${quantity(maxEvents)} texts or calls are simulated here: <code>${commandName} rules simulate</code> has no limit.`
    }</p>
<table class="simulation"><thead><tr><th scope="col">Rule</th><th scope="col" class="number">Matched</th><th scope="col" class="number">Texts</th><th scope="col" class="number">Cost at most</th></tr></thead><tbody>
${draft.rules.map((each) => row(each, inForce && before(each.rule), inForce && !before(each.rule) ? 'new' : undefined))}
${gone.map((each) => row({ ...each, matched: 0, messages: 0, micros: 0, blocked: {}, held: 0 }, each, 'removed'))}
<tr class="whole"><th scope="row">All</th>${figures(draft, inForce)}</tr></tbody></table>
${acted.map((each) => examplesOf(each, view))}
${acted.length === 0 && soft('No rule would have matched.')}`,
    'outcome',
  );
}

function row(rule: RuleReport, before: RuleReport | undefined, tag: string | undefined): Html {
  const { rule: name, on, tried, blocked, held, isApprovalNeeded } = rule;
  const kept = Object.entries(blocked)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${quantity(count)} × ${sendReasonWords('DENIED', reason)}`);
  return html`<tr><th scope="row">${name}${tag && html` <span class="tag">${tag}</span>`}<small>on ${on}, tried ${countOf(tried, 'time')}${
    kept.length > 0 && `; texts not sent: ${kept.join(', ')}`
  }${held > 0 && `; ${countOf(held, 'text')} would first wait for the end of quiet hours`}${isApprovalNeeded && '; each text would first wait for approval'}</small></th>${figures(rule, before)}</tr>`;
}

type Figures = Pick<Report, 'matched' | 'messages' | 'micros'>;

function figures(now: Figures, before: Figures | undefined): Html {
  const cell = (name: keyof Figures, words: (value: number) => string) =>
    html`<td class="number">${words(now[name])}${before && before[name] !== now[name] && html` <small>(${words(before[name])})</small>`}</td>`;
  return html`${cell('matched', quantity)}${cell('messages', quantity)}${cell('micros', dollars)}`;
}

function examplesOf({ rule, examples, matched }: RuleReport, view: View): Html {
  const count =
    matched > examples.length ? `the first ${examples.length} of ${quantity(matched)}` : countOf(matched, 'match');
  return html`<div class="rule"><h3>${rule} <small>${count}</small></h3>${items(
    examples.map(
      (each) =>
        html`<a href="${isCallId(each.id) ? `/calls/${each.id}` : `/rules/explain/${each.id}`}">${view.time(each.at)} ${each.thread}</a>: ${each.outcome}${
          each.reason !== undefined && ` (${sendReasonWords('DENIED', each.reason)})`
        }${view.areWordsShown && each.text !== undefined && html` <q dir="auto">${each.text}</q>`}`,
    ),
  )}</div>`;
}
