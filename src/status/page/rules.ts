import { known, type Snapshot } from '../snapshot.ts';
import { quantity } from '../words.ts';
import { type Html, html } from './html.ts';
import { card, moment } from './parts.ts';

/** Which rules are in force, and what they did within a day. */
export function rules({ rules, takenAt }: Snapshot, timeZone: string): Html {
  if (rules.state === 'known' && known(rules, undefined) === undefined) return html``;
  return card('Rules', rules, (facts) => {
    if (!facts) return html``;
    const { mode, version, loadedAt, ruleCount, problem, lastDay } = facts;
    const rows = lastDay.map(
      ({ rule, tried, matched }) =>
        html`<tr><td>${rule}</td><td class="number">${quantity(matched)}</td><td class="number soft">${quantity(tried)}</td></tr>`,
    );
    const table = html`<table><thead><tr><th>last day</th><th class="number">matched</th><th class="number">tried</th></tr></thead><tbody>${rows}</tbody></table>`;
    const inForce =
      version === null
        ? html`none in force`
        : html`${quantity(ruleCount)} in force, version <code>${version}</code>, read ${moment(loadedAt, takenAt, timeZone)}`;
    return html`${rows.length > 0 && table}<p class="note">${mode} · ${inForce}</p>${problem !== null && html`<pre class="warning">${problem}</pre>`}`;
  });
}
