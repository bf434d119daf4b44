import type { InboxFacts } from '../facts/inbox.ts';
import type { Snapshot } from '../snapshot.ts';
import { quantity } from '../words.ts';
import { type Html, html } from './html.ts';
import { card, entries, moment } from './parts.ts';

/** What arrived: its pace, its types, and the latest. */
export function inbox(snapshot: Snapshot, timeZone: string): Html {
  return card('Deliveries', snapshot.inbox, (facts) => {
    if (facts.latest.length === 0) return html`<p class="soft">None yet. Deliveries show here as they arrive.</p>`;
    return html`${pace(facts)}${types(facts)}${latest(facts, snapshot.takenAt, timeZone)}`;
  });
}

const height = 24;

function pace({ perMinute }: InboxFacts): Html {
  const peak = Math.max(1, ...perMinute);
  const bars = perMinute.map((count, at) => {
    const tall = count === 0 ? 0 : Math.max(1, (count / peak) * height);
    return html`<rect x="${at + 0.12}" y="${(height - tall).toFixed(2)}" width="0.76" height="${tall.toFixed(2)}"/>`;
  });
  return html`<svg class="pace" viewBox="0 0 ${perMinute.length} ${height + 1}" preserveAspectRatio="none" role="img" aria-label="Deliveries per minute in the last hour, at most ${quantity(peak)}">${bars}<rect class="base" x="0" y="${height}" width="${perMinute.length}" height="0.5"/></svg>
<p class="axis"><span>an hour ago</span><span>at most ${quantity(peak)} a minute</span><span>now</span></p>`;
}

function types({ types, isAtLeast, unrecognized }: InboxFacts): Html {
  const more = isAtLeast ? '+' : '';
  return html`<table>
<thead><tr><th>type</th><th class="number">last hour</th><th class="number">last day</th></tr></thead>
<tbody>${types.map(
    ({ type, lastHour, lastDay }) =>
      html`<tr><td>${type ?? 'no type in the address'}</td><td class="number">${quantity(lastHour)}</td><td class="number">${quantity(lastDay)}${more}</td></tr>`,
  )}
<tr><td class="${unrecognized.lastDay > 0 ? 'warning' : 'soft'}">not understood</td><td class="number soft">${quantity(unrecognized.count)}${unrecognized.isAtLeast && '+'} kept</td><td class="number">${quantity(unrecognized.lastDay)}</td></tr></tbody>
</table>`;
}

function latest({ latest }: InboxFacts, from: Date, timeZone: string): Html {
  const lines = latest.map(({ receivedAt, type, targets, isRecognized }) => {
    const what = isRecognized
      ? targets.map((target) => html`<code>${target}</code> `)
      : html`<span class="warning">not understood</span>`;
    return html`<span class="when">${moment(receivedAt, from, timeZone)}</span><span>${type ?? 'no type'}</span><span class="aside">${what}</span>`;
  });
  return html`<h2 class="latest">Latest</h2>${entries(lines)}`;
}
