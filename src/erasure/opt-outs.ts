import { query, type Transaction } from '../warehouse/database.ts';

/** Whether an inbound text takes its sender out of all texts, or in again. */
export type OptOutChange = (text: string) => 'out' | 'in' | undefined;

interface Said {
  readonly line: string;
  readonly number: string;
  readonly text: string;
  readonly at: Date;
}

/**
 * Keeps who else opted out in a group in which a number takes part: the group goes whole, and with it the texts that say
 * so, while those who wrote them are still to be left alone. To be called before the texts are removed.
 */
export async function keepOptOuts(
  tx: Transaction,
  spellings: readonly string[],
  changeOf: OptOutChange,
): Promise<void> {
  const said = await query<Said>(
    tx,
    `select m.line, m.from_number as number, m.body as text, coalesce(m.sent_at, m.first_seen_at) as at
     from warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
     where (c.number = any($1) or c.participants && $1 or m.group_participants && $1)
       and m.direction = 'in' and m.from_number <> all($1) and m.body <> ''
     order by at`,
    [spellings],
  );
  const out = new Map<string, Said>();
  for (const each of said) {
    const change = changeOf(each.text);
    if (change === 'out') out.set(`${each.line}/${each.number}`, each);
    if (change === 'in') out.delete(`${each.line}/${each.number}`);
  }
  const kept = [...out.values()];
  await query(
    tx,
    `insert into ops.opt_outs as o (line, number, opted_out_at)
     select * from unnest($1::text[], $2::text[], $3::timestamptz[])
     on conflict (number, line) do update set opted_out_at = greatest(o.opted_out_at, excluded.opted_out_at)`,
    [kept.map(({ line }) => line), kept.map((each) => each.number), kept.map(({ at }) => at)],
  );
}
