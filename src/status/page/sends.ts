import type { LedgerSummary } from '../../ledger/operations.ts';
import type { Snapshot } from '../snapshot.ts';
import { quantity } from '../words.ts';
import { type Html, html } from './html.ts';
import { card, moment } from './parts.ts';

/** What rules send: today's money against its cap, the sends by state, and whether they are paused. */
export function sends({ sends, takenAt }: Snapshot, timeZone: string): Html {
  return card('Automatic texts', sends, ({ control, counts, simulated, today, dailyMicros }) => {
    const rows = Object.entries(counts).map(
      ([state, count]) =>
        html`<tr><td class="${state === 'NEEDS_HUMAN' ? 'warning' : ''}">${wordsOf[state as keyof typeof wordsOf]}</td><td class="number">${quantity(count)}${simulatedWords(simulated[state as keyof typeof wordsOf], count)}</td></tr>`,
    );
    const paused =
      control.isPaused &&
      html`<p class="warning">Paused ${moment(control.since, takenAt, timeZone)}: ${control.reason}</p>`;
    return html`${paused}<p class="note">${dollars(today.spent)} spent today of ${dollars(dailyMicros)}${today.reserved > 0 && html`, ${dollars(today.reserved)} set aside`}</p>
${rows.length > 0 ? html`<table><tbody>${rows}</tbody></table>` : html`<p class="soft">None in the last day.</p>`}`;
  });
}

/** Of dry-run nothing is ever sent: whoever sees the count must not take it for texts that were kept from somebody. */
export function simulatedWords(simulated = 0, count: number): string {
  if (simulated === 0) return '';
  return simulated === count ? ' (dry-run)' : ` (${quantity(simulated)} dry-run)`;
}

const wordsOf: Readonly<Record<keyof LedgerSummary['counts'], string>> = {
  PLANNED: 'planned',
  HELD: 'wait for the morning',
  RESERVED: 'about to leave',
  DISPATCHED: 'under way',
  UNKNOWN: 'outcome unknown, looked for',
  NEEDS_HUMAN: 'need a person',
  SENT: 'sent',
  SKIPPED: 'skipped by the service',
  REJECTED: 'refused by the service',
  NOT_SENT: 'could not be sent',
  DENIED: 'kept back',
  EXPIRED: 'too old',
};

/** Micro-dollars, for people. */
export function dollars(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(2)}`;
}
