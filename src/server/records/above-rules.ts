import { query, sql, type Transaction } from '../../db/database.ts';
import { type RulesVersion, readAllowedMode, readInForce } from '../../ledger/rules-in-force.ts';
import type { SendState } from '../../ledger/states.ts';
import { actionStateWords, quantity, sendStateWords } from '../../ops/format.ts';
import { type RuleCounts, readRuleCounts } from '../../reporting/outcomes.ts';
import { chosenTimeZone } from '../../reporting/params.ts';
import { heldBackWords, lesserMode, type Mode } from '../../rules/rule.ts';
import { type Html, html } from '../html.ts';
import { asks, section, soft } from '../page.ts';
import type { View } from './view.ts';

interface Did {
  readonly rule: string;
  readonly kind: string;
  readonly state: string;
  readonly sendState: SendState | null;
  readonly isSimulated: boolean;
  readonly count: number;
}

/** Shown above the list of runs: the rules in force, how often each was evaluated today, and what it did in the last day. */
export async function aboveRules(tx: Transaction, view: View): Promise<Html> {
  const inForce = await readInForce(tx);
  const allowed = (await readAllowedMode(tx)) ?? 'live';
  const zone = await chosenTimeZone(tx);
  const today = await readRuleCounts(tx, 'today');
  const did = await query<Did>(
    tx,
    sql`select r.rule, concat_ws(' ', a.kind, a.target) as kind, a.state, s.state as "sendState", coalesce(s.reason = 'dry_run', false) as "isSimulated", count(*)::integer as count
     from ops.rule_runs r join ops.rule_actions a using (run_id) left join ops.sends s using (send_id)
     where r.evaluated_at > now() - interval '1 day' and r.is_matched group by 1, 2, 3, 4, 5 order by count desc, 2, 3, 4`,
  );
  const rows = (inForce?.rules ?? []).map((rule) =>
    row(rule, allowed, {
      counts: today.find((each) => each.rule === rule.name),
      did: did.filter((each) => each.rule === rule.name),
      zone,
    }),
  );
  const link = (path: string, text: string) => html`<a class="ask" href="${path}">${text}</a>`;
  return html`${asks(link('/rules/edit', 'Edit the rules'), link('/rules/history', 'Versions'))}
${section(
  'In force',
  html`${rows.length > 0 && html`<table class="in-force"><thead><tr><th scope="col">Rule</th><th scope="col">Today</th><th scope="col">What it did in the last day</th></tr></thead><tbody>${rows}</tbody></table>`}
${versionWords(inForce, allowed, view)}`,
)}`;
}

interface Shown {
  readonly counts: RuleCounts | undefined;
  readonly did: readonly Did[];
  /** TIME_ZONE of the workers. */
  readonly zone: string | undefined;
}

function row(
  { name, on, mode, usesHours }: RulesVersion['rules'][number],
  allowed: Mode,
  { counts, did, zone }: Shown,
): Html {
  const isHeldBack = usesHours && mode === 'live' && zone === undefined;
  const path = (result: string) => `/rules?rule=${encodeURIComponent(name)}&span=day&result=${result}`;
  const count = counts
    ? html`matched <a href="${path('matched')}">${quantity(counts.matched)}</a> of ${quantity(counts.tried)}${
        counts.failed > 0 && html`, <a class="warning" href="${path('failed')}">${quantity(counts.failed)} failed</a>`
      }`
    : html`not evaluated`;
  return html`<tr><td>${name}<small>on ${on}, ${lesserMode(isHeldBack ? 'dry-run' : mode, allowed)}${isHeldBack && html`: ${heldBackWords}`}</small></td><td>${count}</td><td>${
    did.length === 0
      ? '–'
      : html`${didWords(did)}${did.some(({ sendState }) => sendState === 'AWAITING_APPROVAL') && html` <a class="link" href="/sends#to-approve">Approve</a>`}`
  }</td></tr>`;
}

/** `reply: 9 simulated, 3 refused by a gate; resolve: 12 done`. */
function didWords(did: readonly Did[]): string {
  const words = ({ state, sendState, isSimulated, count }: Did) =>
    `${quantity(count)} ${sendState ? sendStateWords(sendState, isSimulated ? 'dry_run' : null) : actionStateWords(state)}`;
  const kinds = [...Map.groupBy(did, ({ kind }) => kind)];
  return kinds.map(([kind, some]) => `${kind}: ${some.map(words).join(', ')}`).join('; ');
}

/** Which version is in force, and who applied it, when and why. */
function versionWords(inForce: RulesVersion | undefined, allowed: Mode, view: View): Html {
  if (!inForce) return soft('No rules were applied yet.');
  const { version, appliedAt, by, why } = inForce;
  return html`<p class="note">Version ${version}, applied ${view.time(appliedAt)} by ${by}${why !== null && html`: ${why}`}. RULES_MODE is ${allowed}.</p>`;
}
