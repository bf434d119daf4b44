import type { FastifyInstance } from 'fastify';
import { adviceOf } from '../checks/check.ts';
import { known, type Part } from '../checks/checks.ts';
import { lateSeconds } from '../checks/mirror.ts';
import { type Backlog, type Overview, statusJson, verdictOf } from '../checks/overview.ts';
import { readFirst } from '../completeness/first-backfill.ts';
import { missingTextWords } from '../completeness/gaps/unread-comparisons.ts';
import { kindNames, type TargetKind, targetKinds } from '../inbox/targets.ts';
import { countWords } from '../ledger/words.ts';
import { eventTypeOf } from '../shared/event-types.ts';
import { ago, countOf, dollars, duration, exactly, quantity, toTheSecond } from '../shared/format.ts';
import { isDirectory, ofEachList } from '../warehouse/directory.ts';
import { type Html, html, withCode } from './html.ts';
import { answerPage, link, renderPage } from './page.ts';

/** Serves the status page, which refreshes itself, and its JSON. `timeZone` applies to all its times. */
export function serveStatus(app: FastifyInstance, overview: () => Promise<Overview>, timeZone: string): void {
  app.get('/', async (_request, reply) => answerPage(reply, renderStatus(await overview(), timeZone)));
  app.get('/api/status', async () => statusJson(await overview()));
}

/** How the page shows a time: relative to the overview, with the exact time as a tooltip. */
type Moment = (at: Date | null) => Html;

export function renderStatus(overview: Overview, timeZone: string): string {
  const { takenAt, release, commit, uptimeSeconds } = overview;
  const moment: Moment = (at) =>
    at === null
      ? html`<span class="soft">never</span>`
      : html`<time datetime="${at.toISOString()}" title="${exactly(at, timeZone)}">${ago(at, takenAt)}</time>`;
  const schema = known(overview.schema);
  return renderPage({
    title: verdictOf(overview).sentence,
    current: '/',
    isLive: true,
    head: verdict(overview),
    parts: [
      kindCards(overview, moment),
      html`<div class="cards">${deliveries(overview)}${comparison(overview, moment)}${texts(overview, moment)}</div>`,
      html`<footer><span><time datetime="${takenAt.toISOString()}">${toTheSecond(takenAt, timeZone).slice(11, 19)}</time> ${timeZone}</span>
<span>release ${release} (${commit}), up ${duration(uptimeSeconds)}</span>
${schema && html`<span>Postgres ${schema.postgres}, schema ${schema.newestMigration ?? 'none'}</span>`}
<span>${link('/api/status', 'JSON')} · ${link('/metrics', 'Metrics')}</span></footer>`,
    ],
  });
}

/** The sentence, and each check that failed with its remedy. */
function verdict(overview: Overview): Html {
  const { level, sentence } = verdictOf(overview);
  const checks = overview.findings;
  const worst = level === 'ok' ? undefined : checks[0];
  return html`<section class="verdict" aria-live="polite"><span class="dot ${level}"></span>
<div><h1>${sentence}</h1>${worst && html`<p class="soft">${withCode(adviceOf(worst))}</p>`}
<ul class="checks">${(worst ? checks.slice(1) : checks).map(
    (each) =>
      html`<li><span class="dot ${each.level}"></span><span>${each.sentence} <span class="soft">${withCode(adviceOf(each))}</span></span></li>`,
  )}</ul></div></section>`;
}

const tableOf: Readonly<Record<TargetKind, string>> = {
  thread: 'warehouse.sms_messages',
  call: 'warehouse.calls',
  recordings: 'warehouse.recordings',
  transcripts: 'warehouse.transcripts',
  ...ofEachList(({ table }) => table.name),
};

/** One card a kind: how fresh it is, how many rows are held, and how many reads are pending. */
function kindCards(overview: Overview, moment: Moment): Html {
  const { freshness } = overview;
  if (freshness.state === 'unknown') {
    return html`<section class="card"><p class="unknown">What is mirrored could not be read: ${freshness.reason}</p></section>`;
  }
  return html`<section class="cards kinds">${targetKinds.map((kind) => kindCard(overview, kind, moment))}</section>`;
}

function kindCard(overview: Overview, kind: TargetKind, moment: Moment): Html {
  const fresh = known(overview.freshness, []).find((each) => each.kind === kind);
  const held = known(overview.holdings, []).find(({ table }) => table === tableOf[kind]);
  const backlog = known(overview.backlog, []).find((each) => each.kind === kind);
  const { level, word, state } = conditionOf(backlog, fresh?.readAt ?? null);
  const rows = held && `${held.isExact ? '' : 'about '}${quantity(held.rows)}`;
  const path = `/targets?kind=${kind}&state=`;
  return html`<article class="card"><h2>${kindNames[kind]} <a class="condition" href="${path}${state}"><span class="dot ${level}"></span>${word}</a></h2>
<p class="figure">${isDirectory(kind) ? (rows ?? '?') : moment(fresh?.newestAt ?? null)}</p>
<p class="note">${!isDirectory(kind) && rows && `${rows} held · `}read ${moment(fresh?.readAt ?? null)}${backlog && html` · <a href="${path}pending">${pendingWords(backlog)}</a>`}</p></article>`;
}

/** The condition of a kind. `state` filters the list of its reads. */
function conditionOf(backlog: Backlog | undefined, readAt: Date | null) {
  const is = (level: string, word: string, state = 'pending') => ({ level, word, state });
  if (!backlog) return is('quiet', 'not known');
  const { isParked, missingScope } = backlog;
  if (isParked) return is('problem', missingScope ? `needs ${missingScope}` : 'refused', 'parked');
  if (backlog.failing > 0) return is('warning', `${quantity(backlog.failing)} failing`, 'failing');
  if ((backlog.oldestDueSeconds ?? 0) > lateSeconds) return is('warning', 'behind');
  if (backlog.due > 0) return is('ok', 'reading');
  return readAt === null ? is('quiet', 'nothing read yet') : is('ok', 'up to date');
}

function pendingWords({ due, later, history, unconfirmed, isAtLeast, oldestDueSeconds }: Backlog): string {
  const parts = [
    due > 0 && `${quantity(due)} due, oldest ${duration(oldestDueSeconds ?? 0)}`,
    later > 0 && `${quantity(later)} due later`,
    history > 0 && `${quantity(history)} of history`,
    unconfirmed > 0 && `${quantity(unconfirmed)} unconfirmed`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? 'nothing pending' : `${isAtLeast ? 'at least ' : ''}${parts.join(', ')}`;
}

/** A card that shows its part of the overview, or why it is unknown. */
function card<T>(title: string, path: string | undefined, part: Part<T>, show: (value: T) => Html): Html {
  const content =
    part.state === 'known' ? show(part.value) : html`<p class="unknown">This could not be read: ${part.reason}</p>`;
  return html`<section class="card"><h2>${path === undefined ? title : link(path, title)}</h2>${content}</section>`;
}

type Cell = Html | string | readonly [level: string, words: string];

/** Rows of a name and figures. */
function table(head: readonly string[], rows: readonly (readonly Cell[])[], empty: string): Html {
  if (rows.length === 0) return html`<p class="soft">${empty}</p>`;
  const cell = (each: Cell, at: number) => {
    const [level, words] = Array.isArray(each) ? (each as readonly [string, string]) : ['', each as Html | string];
    return html`<td class="${level}${at > 0 && ' number'}">${words}</td>`;
  };
  const headings = head.map((name, at) => html`<th scope="col" class="${at > 0 ? 'number' : ''}">${name}</th>`);
  return html`<table>${head.length > 0 && html`<thead><tr>${headings}</tr></thead>`}<tbody>${rows.map((row) => html`<tr>${row.map(cell)}</tr>`)}</tbody></table>`;
}

function deliveries({ inbox }: Overview): Html {
  return card('Deliveries', '/deliveries', inbox, ({ types, isAtLeast }) => {
    const count = (type: string | null, of: 'hour' | 'day', words: string) => {
      const name = type === null ? 'none' : eventTypeOf(type);
      return name === undefined ? words : link(`/deliveries?type=${name}&span=${of}`, words);
    };
    const rows = types.map(({ type, lastHour, lastDay }) => [
      type ?? 'no type in the address',
      count(type, 'hour', quantity(lastHour)),
      count(type, 'day', `${quantity(lastDay)}${isAtLeast ? '+' : ''}`),
    ]);
    return table(['', 'last hour', 'last day'], rows, 'None in the last day.');
  });
}

function comparison({ completeness }: Overview, moment: Moment): Html {
  return card('Compared with the service', '/coverage', completeness, (status) => {
    const { hours, lastDay, backfillShare, lines } = status;
    if (hours.all === 0) return html`<p class="soft">Call history has not been compared yet.</p>`;
    return html`<p class="figure">${quantity(hours.proven)} of ${countOf(hours.all, 'hour')} proven complete</p>
${lastDay.reported > 0 && html`<p class="note">Webhooks did not announce ${quantity(lastDay.unannounced)} of ${countOf(lastDay.reported, 'call')} in the last day.</p>`}
${backfillShare !== null && html`<p class="note">Back-fill of history: ${Math.floor(backfillShare * 100)}%. Until it is in, ${readFirst}.</p>`}
${lines.map(
  (each) =>
    html`<p class="note ${each.state === 'unexplained' ? 'warning' : ''}">Line ${each.line}: ${countOf(each.missing, 'unread text')} ${missingTextWords(each)}, since ${moment(each.since)}.</p>`,
)}`;
  });
}

/** Automatic texts: today's cost and its cap, the sends by state, and whether they are paused. */
function texts({ sends }: Overview, moment: Moment): Html {
  return card('Automatic texts', '/sends', sends, (status) => {
    const { control, today, dailyMicros } = status;
    const rows = countWords(status.counts).map(({ name, words, filter }) => [
      [filter === 'state=NEEDS_HUMAN' ? 'warning' : '', name] as const,
      link(`/sends?${filter}&span=day`, words),
    ]);
    const reserved = today.reserved > 0 && `, ${dollars(today.reserved)} reserved`;
    return html`${control.isPaused && html`<p class="warning">Paused ${moment(control.since)}: ${control.reason}</p>`}
<p class="figure">${dollars(today.spent)} <small>spent today of ${dollars(dailyMicros)}${reserved}</small></p>
${table([], rows, 'None in the last day.')}`;
  });
}
