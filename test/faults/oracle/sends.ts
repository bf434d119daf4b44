import type { Pool } from 'pg';
import type { FaultyService } from '../deployment/service.ts';

/** What the ledger says of the sends to one number that may have cost something. */
interface Recipient {
  readonly number: string;
  readonly sent: number;
  /** Nobody knows whether they cost something: at most these may be missing among the sent. */
  readonly unknown: number;
}

/**
 * Where the service's bill and the ledger contradict each other: more POSTs than commits that let one out, two such commits
 * without the proof in between that nothing had left, or charges to a number that no row of it accounts for.
 */
export async function sendDifferences(database: Pool, service: FaultyService): Promise<string[]> {
  const posts = (await service.requests()).filter(
    ({ method, path }) => method === 'POST' && path.endsWith('/sms/messages'),
  ).length;
  const charged = (await service.sends()).flatMap(({ key, charge }) => (key === 'default' && charge ? [charge] : []));
  const dispatched = await dispatchesOf(database);
  const recipients = new Map((await recipientsOf(database)).map((each) => [each.number, each]));
  const chargesOf = Map.groupBy(charged, ({ to }) => to.join(' '));
  const numbers = new Set([...recipients.keys(), ...chargesOf.keys()]);
  return [
    ...(posts > dispatched.length
      ? [`${posts} POSTs of a send for ${dispatched.length} commits that let one out`]
      : []),
    ...dispatched.filter(({ is_repeated }) => is_repeated).map(({ send_id: id }) => `${id} was let out twice`),
    ...[...numbers].flatMap((number) => {
      const { sent, unknown } = recipients.get(number) ?? { sent: 0, unknown: 0 };
      const charges = chargesOf.get(number)?.length ?? 0;
      const isEven = charges >= sent && charges <= sent + unknown;
      return isEven ? [] : [`${charges} charges for ${number}: ${sent} rows SENT, ${unknown} of unknown outcome`];
    }),
  ];
}

/** Every commit that let a request out, and whether the send had been let out before and not been proven unsent. */
async function dispatchesOf(database: Pool): Promise<{ send_id: string; is_repeated: boolean }[]> {
  const { rows } = await database.query<{ send_id: string; is_repeated: boolean }>(
    `select send_id, coalesce(last_end is distinct from 'NOT_SENT', false) and ordinal > 1 as is_repeated
     from (
       select e.send_id, e.to_state, row_number() over (partition by e.send_id, e.to_state order by e.event_id) as ordinal,
         (select b.to_state from ops.send_events b
          where b.send_id = e.send_id and b.event_id < e.event_id and b.to_state in ('DISPATCHED', 'NOT_SENT')
          order by b.event_id desc limit 1) as last_end
       from ops.send_events e
     ) events where to_state = 'DISPATCHED'`,
  );
  return rows;
}

async function recipientsOf(database: Pool): Promise<Recipient[]> {
  const { rows } = await database.query<Recipient>(
    `select number, count(*) filter (where state = 'SENT')::integer as sent,
       count(*) filter (where state in ('DISPATCHED', 'UNKNOWN', 'NEEDS_HUMAN'))::integer as unknown
     from ops.sends where number not like 'erased/%' group by number`,
  );
  return rows;
}
