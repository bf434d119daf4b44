import { queueNames } from '../../../config/queues.ts';
import type { TargetError } from '../facts/backlog.ts';
import { known, type Snapshot } from '../snapshot.ts';
import { quantity, streamNames } from '../words.ts';
import { type Html, html } from './html.ts';
import { card, entries, moment } from './parts.ts';

const states = ['complete', 'pending', 'none', 'gone', 'forbidden'] as const;

export function artefacts({ artefacts }: Snapshot): Html {
  return card('Of the newest calls', artefacts, ({ calls, recordings, transcripts }) =>
    calls === 0
      ? html`<p class="soft">No calls yet.</p>`
      : html`<h3>Recordings</h3>${shares(recordings)}<h3>Transcripts</h3>${shares(transcripts)}`,
  );
}

function shares(counts: Readonly<Record<string, number>>): Html {
  const present = states.flatMap((state) => (counts[state] ? [{ state, count: counts[state] }] : []));
  const total = present.reduce((sum, { count }) => sum + count, 0);
  let from = 0;
  const bars = present.map(({ state, count }) => {
    const width = (count / Math.max(1, total)) * 100;
    from += width;
    return html`<rect class="${state}" x="${(from - width).toFixed(2)}" y="0" width="${width.toFixed(2)}" height="7"/>`;
  });
  return html`<svg class="bar" viewBox="0 0 100 7" preserveAspectRatio="none" aria-hidden="true">${bars}</svg>
<p class="key">${present.map(
    ({ state, count }) =>
      html`<span class="${state}"><span class="dot"></span><b>${quantity(count)} ${state}</b></span>`,
  )}${present.length === 0 && 'not looked for yet'}</p>`;
}

export function queues({ queues }: Snapshot): Html {
  return card('Queue', queues, ({ backend, isReachable, waiting }) => {
    const state = isReachable ? html`<span class="ok">reachable</span>` : html`<span class="problem">away</span>`;
    return html`<table><tbody>
<tr><td>${backend === 'redis' ? 'Redis' : 'in Postgres'}</td><td class="number">${state}</td></tr>
${queueNames.map((name) => {
  const count = waiting[name];
  return html`<tr><td>${name}</td><td class="number soft">${count === null ? 'not known' : `${quantity(count)} waiting`}</td></tr>`;
})}</tbody></table>`;
  });
}

export function subscriptions({ subscriptions, takenAt }: Snapshot, timeZone: string): Html {
  return card('Webhook subscriptions', subscriptions, ({ ours, othersCount, readAt }) => {
    const rows = ours.map(
      ({ type, isEnabled }) =>
        html`<tr><td>${type ?? 'no type'}</td><td class="number ${isEnabled ? 'ok' : 'warning'}">${isEnabled ? 'enabled' : 'disabled'}</td></tr>`,
    );
    const others = othersCount > 0 && html` · ${quantity(othersCount)} of other people’s`;
    return html`${rows.length > 0 ? html`<table><tbody>${rows}</tbody></table>` : html`<p class="soft">None of ours.</p>`}
<p class="note">read ${moment(readAt, takenAt, timeZone)}${others}</p>`;
  });
}

export function holdings({ holdings }: Snapshot): Html {
  return card(
    'Rows held',
    holdings,
    (tables) =>
      html`<table><tbody>${tables.map(
        ({ table, rows, isExact }) =>
          html`<tr><td><code>${table}</code></td><td class="number">${!isExact && html`<span class="soft">about</span> `}${quantity(rows)}</td></tr>`,
      )}</tbody></table>`,
  );
}

export function errors({ errors, takenAt }: Snapshot, timeZone: string): Html {
  if (known(errors, undefined)?.length === 0) return html``;
  return html`<div class="wide">${card('Latest failures', errors, (rows) => entries(rows.map((row) => refusal(row, takenAt, timeZone))))}</div>`;
}

function refusal(
  { kind, key, error, state, attempts, readAt, nextAt }: TargetError,
  takenAt: Date,
  timeZone: string,
): Html {
  const next = nextAt && html`${attempts > 0 && html`${attempts}×, `}again ${moment(nextAt, takenAt, timeZone)}`;
  return html`<span class="when">${moment(readAt, takenAt, timeZone)}</span>
<span>${streamNames[kind]} <code>${key}</code><br><span class="soft">${error}</span></span>
<span class="aside soft">${next ?? state}</span>`;
}

export function drift({ drift, takenAt }: Snapshot, timeZone: string): Html {
  if (known(drift, undefined)?.kinds === 0) return html``;
  return html`<div class="wide">${card('Answers that differ from the specification', drift, ({ latest }) =>
    entries(
      latest.map(
        (row) => html`<span class="when">${moment(row.lastSeenAt, takenAt, timeZone)}</span>
<span><code>${row.operation}</code> ${row.path} <span class="soft">${row.what.replaceAll('_', ' ')}: ${row.sample}</span></span>
<span class="aside soft">${quantity(row.seen)}×</span>`,
      ),
    ),
  )}</div>`;
}
