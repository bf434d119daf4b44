import { type Database, query, sql } from '../../db/database.ts';
import { sendReasonWords } from '../../ledger/words.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Report, RuleReport } from '../../rules/simulate/report.ts';
import { simulate, simulationLimits } from '../../rules/simulate/simulate.ts';
import { isCallId } from '../../shared/call-id.ts';
import { commandName } from '../../shared/command-name.ts';
import { countOf, dollars, quantity } from '../../shared/format.ts';
import { type Html, html } from '../html.ts';
import { items, section, soft } from '../page.ts';
import { type Row, renderTable } from '../table.ts';
import type { View } from './view.ts';

const days = 7;
/** Texts, and calls, that a page simulates: some seconds of work. */
const maxEvents = 2_000;

/** What a draft of the rules would have done in the last seven days, or less if they were busy. */
export async function simulateDraft(db: Database, draft: RuleSet, view: View): Promise<Html> {
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
  const report = await simulate(db, { set: draft, from, to });
  const acted = report.rules.filter(({ examples }) => examples.length > 0);
  const columns = (['rule', 'tried', 'matched', 'texts', 'cost_at_most', 'notes'] as const).map((name) => ({
    ...{ name, type: /matched|texts|cost/.test(name) ? ('number' as const) : ('text' as const) },
  }));
  const rows = [...report.rules.map(rowOf), { ...figuresOf(report), rule: 'All' }];
  return html`${section(
    'Simulation',
    html`<p class="note">What these rules would have done from ${view.time(from)} to ${view.time(to)}, had they been live. Nothing was sent or written. ${simulationLimits}${
      isCut &&
      html` Only the newest ${quantity(maxEvents)} texts or calls are simulated here: <code>${commandName} rules simulate</code> has no limit.`
    }</p>`,
    'outcome',
  )}${renderTable('Simulation', { columns, rows }, { show: { cost_at_most: (cost) => cost } }, view.zone)}
${acted.length === 0 ? soft('No rule would have matched.') : html`<section class="card">${acted.map((each) => examplesOf(each, view))}</section>`}`;
}

function figuresOf({ matched, messages, micros }: Pick<Report, 'matched' | 'messages' | 'micros'>): Row {
  return { matched: String(matched), texts: String(messages), cost_at_most: dollars(micros) };
}

function rowOf(report: RuleReport): Row {
  const { rule, on, tried, blocked, held, isApprovalNeeded } = report;
  const notes = [
    ...Object.entries(blocked).map(([reason, n]) => `${quantity(n)} × not sent: ${sendReasonWords('DENIED', reason)}`),
    ...(held > 0 ? [`${countOf(held, 'text')} would first wait for the end of quiet hours`] : []),
    ...(isApprovalNeeded ? ['each text would first wait for approval'] : []),
  ].join('; ');
  return { ...figuresOf(report), rule, tried: `on ${on}, tried ${countOf(tried, 'time')}`, notes: notes || null };
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
