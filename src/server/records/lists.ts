import { sql } from '../../db/database.ts';
import { eventTypes } from '../../shared/event-types.ts';
import { maskTarget } from '../../shared/masking.ts';
import { isCallId, typedThreadKey } from '../../shared/thread.ts';
import { BadAddress } from '../answering.ts';
import { html } from '../html.ts';
import { type Condition, column, count } from '../row-list.ts';
import type { ListChoice, ListDefinition } from './list-page.ts';
import { endsOf, pathIn, timeColumns } from './view.ts';

const all = sql`true`;
const allOf = (conditions: readonly Condition[]) =>
  conditions.length === 0 ? all : sql.join([...conditions], sql` and `);
const named = (values: readonly string[]) => values.map((value) => ({ value, name: value }));
const any = { value: '', name: 'any' };

/** `kind key` of each target that a call id or a thread as typed may be. Throws `BadAddress`. */
function targetsNamed(text: string): string[] {
  if (isCallId(text)) return ['call', 'recordings', 'transcripts'].map((kind) => `${kind} ${text}`);
  const key = typedThreadKey(text);
  if (key === undefined) {
    throw new BadAddress('target must be a call id, or line/number of a thread with country codes.');
  }
  return [`thread ${key}`];
}

/**
 * The first id of deliveries that were received at or after an instant, found by halving: ids follow arrival, but the index on the
 * time cannot bound a walk along the ids. A minute of slack for deliveries that were stored at the same time.
 */
function firstIdSince(moment: Condition, slack: Condition): Condition {
  return sql`(with recursive halved (low, high) as (
      select min(delivery_id), max(delivery_id) + 1 from ops.deliveries having count(*) > 0
      union all
      select case when d.received_at < ${moment} + ${slack} then d.delivery_id + 1 else low end,
        case when d.received_at < ${moment} + ${slack} then high else middle end
      from halved, lateral (select (low + high) / 2 as middle) m,
        lateral (select delivery_id, received_at from ops.deliveries where delivery_id >= middle order by delivery_id limit 1) d
      where low < high
    ) select coalesce(max(low), 0) from halved)`;
}

function deliveriesWithin({ range, view, where }: ListChoice): Condition {
  const { since, until } = endsOf(range, view);
  return sql`from ops.deliveries r where ${allOf([
    ...(since
      ? [sql`r.delivery_id >= ${firstIdSince(since, sql`interval '-1 minute'`)}`, sql`r.received_at >= ${since}`]
      : []),
    ...(until
      ? [sql`r.delivery_id < ${firstIdSince(until, sql`interval '1 minute'`)}`, sql`r.received_at < ${until}`]
      : []),
    ...where.values(),
  ])}`;
}

export const deliveries: ListDefinition = {
  path: '/deliveries',
  title: 'Deliveries',
  about: html`Webhook requests as they came. A delivery only says what to read; <a href="/targets">the reads</a> bring the data.`,
  span: 'week',
  filters: [
    {
      name: 'type',
      label: 'Event type',
      options: [any, ...named(eventTypes), { value: 'none', name: 'none in the address' }],
      where: (type) => (type === 'none' ? sql`r.event_type is null` : sql`r.event_type = ${type}`),
    },
    {
      name: 'recognized',
      label: 'Recognized',
      options: [any, { value: 'no', name: 'not recognized' }, { value: 'yes', name: 'recognized' }],
      where: (value) => (value === 'no' ? sql`not r.is_recognized` : sql`r.is_recognized`),
    },
    {
      name: 'target',
      label: 'Points at',
      placeholder: 'call id or line/number',
      where: (text) => sql`r.targets && ${targetsNamed(text)}::text[]`,
    },
  ],
  source: (choice) => ({
    columns: [
      { ...column('delivery_id', 'Delivery'), link: ({ delivery_id: id }) => pathIn(choice.view, `/deliveries/${id}`) },
      ...timeColumns('received', 'Received', sql`r.received_at`, choice.view),
      column('event_type', 'Type'),
      { ...column('claimed_type', 'Type in the body'), isCsvOnly: true },
      {
        ...column('targets', 'Points at', sql`nullif(array_to_string(r.targets[1:100], '; '), '')`),
        isWide: true,
        show: targetsInWords,
      },
      column(
        'recognized',
        'Recognized',
        sql`case when r.is_erased then 'erased' when r.is_recognized then 'yes' when r.targets = '{}' then 'no' else 'in part' end`,
      ),
      count('bytes', 'Bytes', sql`octet_length(r.body)`),
    ],
    from: deliveriesWithin(choice),
    order: sql`order by r.delivery_id desc`,
    joins: sql``,
  }),
  empty: html`No delivery came in this time. Deliveries show here within a second; <a href="/">the status page</a> says whether the webhooks are registered, and <code>trunkline doctor</code> what stops them.`,
};

const shownTargets = 3;

function targetsInWords(joined: string): string {
  const targets = joined.split('; ');
  const more = targets.length - shownTargets;
  return `${targets.slice(0, shownTargets).map(maskTarget).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
