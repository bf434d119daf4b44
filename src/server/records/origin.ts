import { type Database, query, relation, sql } from '../../db/database.ts';
import type { Target } from '../../inbox/targets.ts';
import { streamNames } from '../../ops/format.ts';
import { type Html, html } from '../html.ts';
import { timeIn } from './frame.ts';
import { pathIn, type View } from './view.ts';

/** The newest read of a sync target, and the delivery that last made it pending. */
export interface Origin {
  readonly kind: Target['kind'];
  readonly readAt: Date | null;
  /** active, gone, forbidden or refused. */
  readonly state: string;
  readonly error: string | null;
  readonly isPending: boolean;
  readonly dueAt: Date;
  /** NULL when something else than a delivery did. */
  readonly deliveryId: string | null;
  /** NULL when the delivery is no longer kept. */
  readonly receivedAt: Date | null;
  readonly eventType: string | null;
}

/** Reads it for targets, in their order; those that were never made pending are left out. */
export function readOrigins(db: Database, targets: readonly Target[]): Promise<Origin[]> {
  return query(
    db,
    sql<Origin>`select t.kind, t.read_at as "readAt", t.state, t.last_error as error, t.dirty_version > t.clean_version as "isPending",
       t.due_at as "dueAt", t.delivery_id as "deliveryId", d.received_at as "receivedAt", d.event_type as "eventType"
     from ${relation('a', targets, { kind: 'text', key: 'text' }, 'place')} join ops.sync_targets t using (kind, key)
       left join ops.deliveries d on d.delivery_id = t.delivery_id
     order by a.place`,
  );
}

/** A sentence for each, in a list. */
export function renderOrigins(origins: readonly Origin[], view: View): Html {
  return html`<ul class="plain lines">${origins.map(
    (each) =>
      html`<li><b>${streamNames[each.kind]}</b>: ${readWords(each, view)}${causeOf(each, view)}${pendingWords(each, view)}</li>`,
  )}</ul>`;
}

function readWords({ readAt, state, error }: Origin, view: View): Html {
  if (readAt === null) return html`not read yet`;
  const end = state === 'active' ? '' : `, which ended as ${state}`;
  return html`last read ${timeIn(view.zone, readAt)}${end}${error !== null && html` (${error})`}`;
}

function causeOf({ deliveryId, receivedAt, eventType }: Origin, view: View): Html {
  if (deliveryId === null) return html``;
  if (receivedAt === null) return html`, last announced by delivery ${deliveryId}, which is no longer kept`;
  return html`, last announced by <a href="${pathIn(view, `/deliveries/${deliveryId}`)}">delivery ${deliveryId}</a> (${eventType ?? 'no type'}, ${timeIn(view.zone, receivedAt)})`;
}

function pendingWords({ isPending, dueAt }: Origin, view: View): Html {
  return isPending ? html`; to be read ${timeIn(view.zone, dueAt)}` : html``;
}
