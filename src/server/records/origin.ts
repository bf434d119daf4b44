import { streamNames } from '../../ops/format.ts';
import type { TargetState } from '../../ops/target-states.ts';
import { type Html, html } from '../html.ts';
import { timeIn } from './frame.ts';
import { pathIn, type View } from './view.ts';

/** A sentence for each, in a list. */
export function renderOrigins(origins: readonly TargetState[], view: View): Html {
  return html`<ul class="plain lines">${origins.map(
    (each) =>
      html`<li><b>${streamNames[each.kind]}</b>: ${readWords(each, view)}${causeOf(each, view)}${pendingWords(each, view)}</li>`,
  )}</ul>`;
}

function readWords({ readAt, state, error }: TargetState, view: View): Html {
  if (readAt === null) return html`not read yet`;
  const end = state === 'active' ? '' : `, which ended as ${state}`;
  return html`last read ${timeIn(view.zone, readAt)}${end}${error !== null && html` (${error})`}`;
}

function causeOf({ deliveryId, receivedAt, eventType }: TargetState, view: View): Html {
  if (deliveryId === null) return html``;
  if (receivedAt === null) return html`, last announced by delivery ${deliveryId}, which is no longer kept`;
  return html`, last announced by <a href="${pathIn(view, `/deliveries/${deliveryId}`)}">delivery ${deliveryId}</a> (${eventType ?? 'no type'}, ${timeIn(view.zone, receivedAt)})`;
}

function pendingWords({ isPending, dueAt }: TargetState, view: View): Html {
  return isPending ? html`; to be read ${timeIn(view.zone, dueAt)}` : html``;
}
