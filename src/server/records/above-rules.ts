import { sql } from '../../db/database.ts';
import { readAllowedMode, readInForce } from '../../ledger/rules-in-force.ts';
import { chosenTimeZone } from '../../reporting/params.ts';
import { heldBackWords, lesserMode, type Mode } from '../../rules/rule.ts';
import { type Parameters, rangeOf, within } from '../address.ts';
import { type Html, html } from '../html.ts';
import { asks, link } from '../page.ts';
import { type Pages, readTable, renderTable, type Shown } from '../table.ts';
import type { View } from './view.ts';

/**
 * Shown above the list of runs: the rules in force, what each did in the span of the list, its cost and what people
 * answered.
 */
export async function aboveRules(pages: Pages, view: View, query: Parameters): Promise<Html> {
  const { db } = pages;
  const inForce = await readInForce(db);
  const allowed = (await readAllowedMode(db)) ?? 'live';
  const isHeldBack = (await chosenTimeZone(db)) === undefined;
  const button = (path: string, text: string) => html`<a class="ask" href="${path}">${text}</a>`;
  const buttons = asks(
    button('/rules/edit', 'Edit the rules'),
    button('/rules/history', 'Versions'),
    button('/opt-outs', 'Opt-outs'),
  );
  if (!inForce) return html`<p>No rules are in force.</p>${buttons}`;
  const table = await readTable(pages, inForceIn(query, pages.zone));
  const shown = {
    hidden: ['uses_hours'],
    opens: ({ rule }) => `/rules?rule=${encodeURIComponent(rule ?? '')}`,
    show: {
      cost: (usd) => `$${usd}`,
      mode: (mode, { uses_hours }) =>
        mode === 'live' && uses_hours === 't' && isHeldBack
          ? `dry-run: ${heldBackWords}`
          : lesserMode(mode as Mode, allowed),
    },
  } satisfies Shown;
  const { version, appliedAt, by, why } = inForce;
  return html`${buttons}${renderTable('Rules in force', table, shown, pages.zone)}
<p class="note">${link(`/rules/history/${version}`, `Version ${version}`)} is in force, applied ${view.time(appliedAt)} by ${by}${why !== null && html`: ${why}`}. RULES_MODE is ${allowed}. What each rule did is of the time below.</p>`;
}

/**
 * The rules in force, each with its figures for the days in the span of an address. A day counts as a whole, and a text
 * on the day it was planned.
 */
function inForceIn(query: Parameters, zone: string) {
  const dayEnd = sql`(reporting.day_start(o.local_date + 1) - interval '1 microsecond')`;
  const isIn = sql.join([sql`true`, ...within(rangeOf(query, 'week'), dayEnd, zone)], sql` and `);
  const isToday = sql`o.local_date = reporting.local_day(now())`;
  const total = (column: string) => sql`coalesce(sum(${sql.ref(`o.${column}`)}) filter (where ${isIn}), 0)`;
  const some = (column: string, words: string) => sql`nullif(${total(column)}, 0) || ${` ${words}`}`;
  return sql`select r.rule, r.mode, r.uses_hours,
      'matched ' || sum(o.matched_count) filter (where ${isToday}) || ' of ' || sum(o.evaluation_count) filter (where ${isToday}) as today,
      nullif(concat_ws(', ', ${some('sent_count', 'sent')}, ${some('would_send_count', 'only simulated')}, ${some('blocked_count', 'refused')},
        ${some('waiting_count', 'waiting')}, ${some('action_done_count', 'other steps')}, ${some('action_failed_count', 'steps failed')},
        ${some('error_count', 'evaluations failed')}), '') as what_it_did,
      round(nullif(${total('charged_usd')}, 0), 2) as cost, nullif(${total('replied_count')}, 0) as replied, nullif(${total('opted_out_count')}, 0) as opted_out
    from ops.rule_versions v
      cross join lateral rows from (jsonb_to_recordset(v.rules) as (name text, mode text, "usesHours" boolean)) with ordinality as r (rule, mode, uses_hours, at)
      left join reporting.rule_outcomes o on o.rule = r.rule
    where v.version = (select max(version) from ops.rule_versions) group by r.at, 1, 2, 3 order by r.at`;
}
