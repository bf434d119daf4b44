import type { Completeness } from '../facts/completeness.ts';
import type { Snapshot } from '../snapshot.ts';
import { countOf, fatesOfTexts, quantity } from '../words.ts';
import { type Html, html } from './html.ts';
import { card, moment } from './parts.ts';

/** What is proven to be held: the last two days hour by hour, and what is not explained. */
export function completeness({ completeness, takenAt }: Snapshot, timeZone: string): Html {
  return card('Compared with the service', completeness, (facts) =>
    facts.hours.length === 0
      ? html`<p class="soft">Call history was not compared yet.</p>`
      : html`${strip(facts)}
<p class="note">${proven(facts)}${unannounced(facts)}</p>
${facts.backfillShare !== null && html`<p>History is filled in: ${Math.floor(facts.backfillShare * 100)}%.</p>`}
${facts.openGapCount > 0 && html`<p class="warning">${countOf(facts.openGapCount, 'gap')} in the webhooks under way.</p>`}
${facts.lines.map(
  ({ line, missing, since, state }) =>
    html`<p class="${state === 'unexplained' ? 'warning' : 'soft'}">Line ${line}: ${countOf(missing, 'unread text')} ${fatesOfTexts[state]}, since ${moment(since, takenAt, timeZone)}.</p>`,
)}`,
  );
}

const classOf = { proven: 'complete', waiting: 'pending', differs: 'gone', failed: 'forbidden' } as const;

function strip({ hours }: Completeness): Html {
  const width = 100 / hours.length;
  return html`<svg class="bar" viewBox="0 0 100 7" preserveAspectRatio="none" role="img" aria-label="${proven({ hours })}">${hours.map(
    ({ state }, at) =>
      html`<rect class="${classOf[state]}" x="${(at * width).toFixed(2)}" y="0" width="${(width * 0.86).toFixed(2)}" height="7"/>`,
  )}</svg>`;
}

function proven({ hours }: Pick<Completeness, 'hours'>): string {
  const count = hours.filter(({ state }) => state === 'proven').length;
  return `${quantity(count)} of the last ${countOf(hours.length, 'hour')} proven complete`;
}

function unannounced({ lastDay }: Completeness): string {
  if (lastDay.reported === 0) return '.';
  return `; of ${countOf(lastDay.reported, 'call')} in a day, webhooks did not announce ${quantity(lastDay.unannounced)}.`;
}
