import { streamNames } from '../../ops/format.ts';
import type { TargetState } from '../../ops/target-states.ts';
import { type Html, html } from '../html.ts';
import { items } from './page-parts.ts';
import type { View } from './view.ts';

/** How each target was read last, what announced it, and when it is read next. */
export function renderOrigins(origins: readonly TargetState[], view: View): Html {
  return items(
    origins.map((each) => {
      const pending = each.isPending && html`; to be read ${view.time(each.dueAt)}`;
      return html`<b>${streamNames[each.kind]}</b>: ${readWords(each, view)}${causeOf(each, view)}${pending}`;
    }),
  );
}

function readWords({ readAt, state, error }: TargetState, { time }: View): Html {
  if (readAt === null) return html`not read yet`;
  const end = state === 'active' ? '' : `, which ended as ${state}`;
  return html`last read ${time(readAt)}${end}${error !== null && html` (${error})`}`;
}

function causeOf({ deliveryId, receivedAt, eventType }: TargetState, { link, time }: View): Html {
  if (deliveryId === null) return html``;
  if (receivedAt === null) return html`, last announced by delivery ${deliveryId}, which is no longer kept`;
  const delivery = link(`/deliveries/${deliveryId}`, `delivery ${deliveryId}`);
  return html`, last announced by ${delivery} (${eventType ?? 'no type'}, ${time(receivedAt)})`;
}
