import { type TargetKind, targetKinds } from '../inbox/targets.ts';
import type { SendState } from '../ledger/send.ts';
import {
  ago,
  countOf,
  dollars,
  exactly,
  missingTextWords,
  quantity,
  readFirst,
  sendStateNames,
  simulatedWords,
  span,
  streamNames,
  toTheSecond,
} from '../ops/format.ts';
import { adviceOf } from '../ops/health-checks/check.ts';
import { lateSeconds } from '../ops/health-checks/mirror.ts';
import { healthChecks, verdictOf } from '../ops/health-checks.ts';
import type { Backlog, Completeness, InboxStatus } from '../ops/snapshot/mirror.ts';
import { known, type Part, type Snapshot } from '../ops/snapshot.ts';
import { eventTypeOf } from '../shared/event-types.ts';
import { isDirectory, ofEachList } from '../warehouse/directory.ts';
import { documentOf, type Html, html, readAssets, refreshSeconds, withCode } from './html.ts';

export const style = readAssets('page.css', 'status-page.css');

/** How a page shows a time. */
type Moment = (at: Date | null) => Html;

/**
 * The status page: a self-contained document that refreshes itself, with or without JavaScript. `timeZone` applies to
 * all its times.
 */
export function renderPage(snapshot: Snapshot, { timeZone }: { readonly timeZone: string }): string {
  const { takenAt } = snapshot;
  // Relative to the snapshot, with the exact time as a tooltip.
  const moment: Moment = (at) =>
    at === null
      ? html`<span class="soft">never</span>`
      : html`<time datetime="${at.toISOString()}" title="${exactly(at, timeZone)}">${ago(at, takenAt)}</time>`;
  const schema = known(snapshot.schema);
  return frame(
    verdictOf(snapshot).sentence,
    html`${verdict(snapshot)}
${streams(snapshot, moment)}
<div class="columns">
  <div class="stack">${inbox(snapshot)}${completeness(snapshot, moment)}</div>
  <div class="stack">${sends(snapshot, moment)}${rules(snapshot, moment)}${subscriptions(snapshot, moment)}</div>
</div>
<footer>
  <span><time datetime="${takenAt.toISOString()}" title="${exactly(takenAt, timeZone)}">${toTheSecond(takenAt, timeZone).slice(11, 19)}</time> ${timeZone}</span>
  <span>release ${snapshot.release} (${snapshot.commit})</span>
  <span>up ${span(snapshot.uptimeSeconds)}</span>
  ${schema && html`<span>Postgres ${schema.postgres}</span><span>schema ${schema.newestMigration ?? 'none'}</span>`}
  <nav aria-label="For programs"><a href="/api/status">JSON</a><a href="/metrics">Metrics</a></nav>
</footer>`,
  );
}

/** The status page if Postgres doesn't answer: only the sentence. */
export function renderOutage(sentence: string): string {
  return frame(
    sentence,
    html`<section class="verdict"><span class="dot problem"></span><h1>${sentence}</h1></section>`,
  );
}

function verdict(snapshot: Snapshot): Html {
  const { level, sentence } = verdictOf(snapshot);
  const checks = healthChecks(snapshot);
  const worst = level === 'ok' ? undefined : checks[0];
  const others = worst ? checks.slice(1) : checks;
  return html`<section class="verdict" aria-live="polite">
  <span class="dot ${level}"></span>
  <div><h1>${sentence}</h1>${worst && html`<p class="remedy">${withCode(adviceOf(worst))}</p>`}</div>
  ${
    others.length > 0 &&
    html`<ul class="checks">${others.map(
      (each) =>
        html`<li><span class="dot ${each.level}"></span><span>${each.sentence} <span class="remedy">${withCode(adviceOf(each))}</span></span></li>`,
    )}</ul>`
  }
</section>`;
}

function frame(title: string, content: Html): string {
  return documentOf({
    title,
    style,
    head: html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>`,
    current: '/',
    content,
    isLive: true,
  });
}

const tableOf: Readonly<Record<TargetKind, string>> = {
  thread: 'warehouse.sms_messages',
  call: 'warehouse.calls',
  recordings: 'warehouse.recordings',
  transcripts: 'warehouse.transcripts',
  ...ofEachList(({ table }) => table.name),
};

/** One card per stream: how fresh it is, how many rows are mirrored, and how many reads are pending. */
function streams(snapshot: Snapshot, moment: Moment): Html {
  const { freshness } = snapshot;
  if (freshness.state === 'unknown') {
    return html`<section class="card"><p class="unknown">The streams could not be read: ${freshness.reason}</p></section>`;
  }
  return html`<section class="streams">${targetKinds.map((kind) => stream(snapshot, kind, moment))}</section>`;
}

function stream(snapshot: Snapshot, kind: TargetKind, moment: Moment): Html {
  const fresh = known(snapshot.freshness, []).find((each) => each.kind === kind);
  const held = known(snapshot.holdings, []).find(({ table }) => table === tableOf[kind]);
  const backlog = known(snapshot.backlog, []).find((each) => each.kind === kind);
  const { level, word, state } = stateOf(snapshot, kind, backlog, fresh?.readAt ?? null);
  const isList = isDirectory(kind);
  const rows = held && `${held.isExact ? '' : 'about '}${quantity(held.rows)}`;
  return html`<article class="card stream">
  <header><h3>${streamNames[kind]}</h3><a class="state" href="/targets?kind=${kind}&amp;state=${state}" title="${word}"><span class="dot ${level}"></span><span class="word soft">${word}</span></a></header>
  <p class="newest">${isList ? (rows ?? '?') : moment(fresh?.newestAt ?? null)}</p>
  <p>${!isList && rows && html`${rows} held <span class="hint">· </span>`}<span class="${isList ? '' : 'hint'}">read ${moment(fresh?.readAt ?? null)}</span></p>
  <p><a href="/targets?kind=${kind}&amp;state=pending">${pending(backlog)}</a></p>
</article>`;
}

/** The condition of a stream. `state` filters the list of its reads. */
function stateOf({ parked }: Snapshot, kind: TargetKind, backlog: Backlog | undefined, readAt: Date | null) {
  const is = (level: string, word: string, state = 'pending') => ({ level, word, state });
  const wait = known(parked, []).find((each) => each.kind === kind);
  if (wait) return is('problem', wait.missingScope ? `needs ${wait.missingScope}` : 'refused', 'parked');
  if (!backlog) return is('quiet', 'not known');
  if (backlog.failing > 0) return is('warning', `${quantity(backlog.failing)} failing`, 'failing');
  if ((backlog.oldestDueSeconds ?? 0) > lateSeconds) return is('warning', 'behind');
  if (backlog.due > 0) return is('ok', 'reading');
  return readAt === null ? is('quiet', 'nothing read yet') : is('ok', 'up to date');
}

function pending(backlog: Backlog | undefined): Html {
  if (!backlog) return html``;
  const { due, later, history, unconfirmed, isAtLeast, oldestDueSeconds } = backlog;
  const least = isAtLeast ? 'at least ' : '';
  const parts = [
    due > 0 && `${quantity(due)} due, oldest ${span(oldestDueSeconds ?? 0)}`,
    later > 0 && `${quantity(later)} ${due > 0 ? 'later' : 'due later'}`,
    history > 0 && `${quantity(history)} of history`,
    unconfirmed > 0 && `${quantity(unconfirmed)} unconfirmed`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? html`nothing pending` : html`${least}${parts.join(' · ')}`;
}

/** Deliveries per minute and by type. */
function inbox({ inbox }: Snapshot): Html {
  return card(
    'Deliveries',
    '/deliveries',
    inbox,
    (status) =>
      status.types.length === 0
        ? html`<p class="soft">None in the last day.</p>`
        : html`${pace(status)}${types(status)}`,
    ({ types }) => ({
      words: `${quantity(types.reduce((sum, { lastHour }) => sum + lastHour, 0))} in the last hour`,
      isFine: true,
    }),
  );
}

const paceHeight = 24;

function pace({ perMinute }: InboxStatus): Html {
  const peak = Math.max(1, ...perMinute);
  const bars = perMinute.map((count, at) => {
    const tall = count === 0 ? 0 : Math.max(1, (count / peak) * paceHeight);
    return html`<rect x="${at + 0.12}" y="${(paceHeight - tall).toFixed(2)}" width="0.76" height="${tall.toFixed(2)}"/>`;
  });
  return html`<svg class="pace" viewBox="0 0 ${perMinute.length} ${paceHeight + 1}" preserveAspectRatio="none" role="img" aria-label="Deliveries per minute in the last hour, at most ${quantity(peak)}">${bars}<rect class="base" x="0" y="${paceHeight}" width="${perMinute.length}" height="0.5"/></svg>
<p class="axis"><span>an hour ago</span><span>at most ${quantity(peak)} a minute</span><span>now</span></p>`;
}

function types({ types, isAtLeast, unrecognized }: InboxStatus): Html {
  const more = isAtLeast ? '+' : '';
  return html`<table>
<thead><tr><th>type</th><th class="number">last hour</th><th class="number">last day</th></tr></thead>
<tbody>${types.map(
    ({ type, lastHour, lastDay }) =>
      html`<tr><td>${type ?? 'no type in the address'}</td><td class="number">${deliveriesLink(type, 'hour', quantity(lastHour))}</td><td class="number">${deliveriesLink(type, 'day', `${quantity(lastDay)}${more}`)}</td></tr>`,
  )}
<tr><td class="${unrecognized.lastDay > 0 ? 'warning' : 'soft'}">not recognized</td><td class="number soft"><a href="/deliveries?recognized=no&amp;span=all">${quantity(unrecognized.count)}${unrecognized.isAtLeast && '+'} kept</a></td><td class="number"><a href="/deliveries?recognized=no&amp;span=day">${quantity(unrecognized.lastDay)}</a></td></tr></tbody>
</table>`;
}

/** Links to the counted deliveries. An unknown type has no filter. */
function deliveriesLink(type: string | null, span: 'hour' | 'day', text: string): Html {
  const known = type === null ? 'none' : eventTypeOf(type);
  return known === undefined ? html`${text}` : html`<a href="${`/deliveries?type=${known}&span=${span}`}">${text}</a>`;
}

/** Hourly coverage of the last two days, and missing texts. */
function completeness({ completeness }: Snapshot, moment: Moment): Html {
  return card(
    'Compared with the service',
    '/coverage',
    completeness,
    (status) =>
      status.hours.length === 0
        ? html`<p class="soft">Call history has not been compared yet.</p>`
        : html`${strip(status)}
<p class="note">${proven(status)}${unannounced(status)}</p>
${status.backfillShare !== null && html`<p>Back-fill of history: ${Math.floor(status.backfillShare * 100)}%. Until it is in, ${readFirst}.</p>`}
${status.openGapCount > 0 && html`<p class="warning">${countOf(status.openGapCount, 'gap')} in the webhooks, being filled.</p>`}
${status.lines.map(
  (each) =>
    html`<p class="${each.state === 'unexplained' ? 'warning' : 'soft'}">Line ${each.line}: ${countOf(each.missing, 'unread text')} ${missingTextWords(each)}, since ${moment(each.since)}.</p>`,
)}`,
    ({ hours, openGapCount, lines }) => ({
      words: `${quantity(hours.filter(({ state }) => state === 'proven').length)} of ${countOf(hours.length, 'hour')} proven`,
      isFine:
        openGapCount === 0 &&
        hours.every(({ state }) => state === 'proven' || state === 'waiting') &&
        lines.every(({ state }) => state !== 'unexplained'),
    }),
  );
}

function strip({ hours }: Completeness): Html {
  const width = 100 / hours.length;
  return html`<svg class="bar" viewBox="0 0 100 7" preserveAspectRatio="none" role="img" aria-label="${proven({ hours })}">${hours.map(
    ({ state }, at) =>
      html`<rect class="${state}" x="${(at * width).toFixed(2)}" y="0" width="${(width * 0.86).toFixed(2)}" height="7"/>`,
  )}</svg>`;
}

function proven({ hours }: Pick<Completeness, 'hours'>): string {
  const count = hours.filter(({ state }) => state === 'proven').length;
  return `${quantity(count)} of the last ${countOf(hours.length, 'hour')} proven complete`;
}

function unannounced({ lastDay }: Completeness): string {
  if (lastDay.reported === 0) return '.';
  return `; webhooks did not announce ${quantity(lastDay.unannounced)} of ${countOf(lastDay.reported, 'call')} in the last day.`;
}

/** Automatic texts: today's cost and its cap, the sends by state, and whether they are paused. */
function sends({ sends }: Snapshot, moment: Moment): Html {
  return card(
    'Automatic texts',
    '/sends',
    sends,
    ({ control, counts, simulated, today, dailyMicros, passedCount }) => {
      const row = (name: string, path: string, shown: Html | string, isWarning = false) =>
        html`<tr><td class="${isWarning ? 'warning' : ''}">${name}</td><td class="number"><a href="${path}">${shown}</a></td></tr>`;
      const rows = Object.entries(counts).flatMap(([key, all]) => {
        const state = key as SendState;
        // A simulated send ends as DENIED too, although no gate refused it.
        const passed = state === 'DENIED' ? Math.min(all, passedCount) : 0;
        const count = all - passed;
        const marked = `${quantity(count)}${simulatedWords((simulated[state] ?? 0) - passed, count)}`;
        return [
          ...(passed > 0 ? [row('simulated', '/sends?mode=dry-run&span=day', quantity(passed))] : []),
          ...(count > 0
            ? [row(sendStateNames[state], `/sends?state=${state}&span=day`, marked, state === 'NEEDS_HUMAN')]
            : []),
        ];
      });
      const paused =
        control.isPaused && html`<p class="warning">Paused ${moment(control.since)}: ${control.reason}</p>`;
      return html`${paused}<p class="note">${dollars(today.spent)} spent today of ${dollars(dailyMicros)}${today.reserved > 0 && html`, ${dollars(today.reserved)} reserved`}</p>
${rows.length > 0 ? html`<table><tbody>${rows}</tbody></table>` : html`<p class="soft">None in the last day.</p>`}`;
    },
    ({ control, counts, today }) => ({
      words: control.isPaused ? 'paused' : `${dollars(today.spent)} today`,
      isFine: !control.isPaused && !counts.NEEDS_HUMAN,
    }),
  );
}

function subscriptions({ subscriptions }: Snapshot, moment: Moment): Html {
  return card(
    'Webhook subscriptions',
    undefined,
    subscriptions,
    ({ ours, broken, otherReceivers, checkedAt }) => {
      const row = (type: string, level: string, words: string) =>
        html`<tr><td>${type}</td><td class="number ${level}">${words}</td></tr>`;
      const rows = [
        ...ours.map((type) => row(type, 'ok', 'enabled')),
        ...broken.map((type) => row(type, 'warning', 'disabled or missing')),
      ];
      const others = otherReceivers.length > 0 && html` · ${countOf(otherReceivers.length, 'other receiver')}`;
      return html`${rows.length > 0 ? html`<table><tbody>${rows}</tbody></table>` : html`<p class="soft">None of ours.</p>`}
<p class="note">checked ${moment(checkedAt)}${others}</p>`;
    },
    ({ ours, broken }) => ({
      words: `${quantity(ours.length)} enabled`,
      isFine: ours.length > 0 && broken.length === 0,
    }),
  );
}

/** Which rules are in force, and what they did today. */
function rules({ rules }: Snapshot, moment: Moment): Html {
  if (rules.state === 'known' && known(rules) === undefined) return html``;
  return card(
    'Rules',
    '/rules',
    rules,
    (status) => {
      if (!status) return html``;
      const { mode, version, appliedAt, by, ruleCount, today } = status;
      const rows = today.map(
        ({ rule, tried, matched }) =>
          html`<tr><td>${rule}</td><td class="number"><a href="${matchesPath(rule)}">${quantity(matched)}</a></td><td class="number soft">${quantity(tried)}</td></tr>`,
      );
      const table = html`<table><thead><tr><th>today</th><th class="number">matched</th><th class="number">evaluated</th></tr></thead><tbody>${rows}</tbody></table>`;
      return html`${rows.length > 0 && table}<p class="note">${mode} · ${quantity(ruleCount)} in force, version ${version}, applied ${moment(appliedAt)} by ${by}</p>`;
    },
    (status) => ({
      words: status ? `${quantity(status.ruleCount)} in force, ${status.mode}` : '',
      isFine: !status || status.unreadable === null,
    }),
  );
}

/** The matches of a rule in the last day. */
function matchesPath(rule: string): string {
  return `/rules?rule=${encodeURIComponent(rule)}&span=day&result=matched`;
}

/** What a phone shows of a folded card. A card with a problem is unfolded. */
interface Brief {
  readonly words: string;
  readonly isFine: boolean;
}

/**
 * A card that shows its part of the snapshot, or why it is unknown. Its title links to `path`. With `brief`, phones
 * fold it.
 */
function card<T>(
  title: string,
  path: string | undefined,
  part: Part<T>,
  show: (value: T) => Html,
  brief?: (value: T) => Brief,
): Html {
  const heading = html`<h2>${path === undefined || part.state === 'unknown' ? title : html`<a href="${path}">${title}</a>`}</h2>`;
  if (part.state === 'unknown') {
    return html`<section class="card">${heading}<p class="unknown">This could not be read: ${part.reason}</p></section>`;
  }
  if (!brief) return html`<section class="card">${heading}${show(part.value)}</section>`;
  const { words, isFine } = brief(part.value);
  return html`<details class="card fold"${!isFine && html` open`}><summary>${heading}<span class="brief">${words}</span></summary>${show(part.value)}</details>`;
}
