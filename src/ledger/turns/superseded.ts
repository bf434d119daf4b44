import { type Database, hotQuery, inTransaction, query, type Transaction } from '../../warehouse/database.ts';
import { release } from '../budgets.ts';
import { type Send, type SendRow, sendColumns, sendOf } from '../send.ts';

const mostAtOnce = 20;

/** Gives back what superseded sends of a thread had reserved, so that the one in their place counts alone. */
export async function releaseSuperseded(
  tx: Transaction,
  { line, number }: Pick<Send, 'line' | 'number'>,
): Promise<void> {
  const rows = await hotQuery<SendRow>(
    tx,
    `select ${sendColumns} from ops.sends s
     where line = $1 and number = $2 and state = 'DENIED' and reserved_micros > 0 order by send_id for update`,
    [line, number],
  );
  for (const send of rows.map(sendOf)) {
    await release(tx, send);
    await hotQuery(tx, 'update ops.sends set reserved_micros = 0 where send_id = $1', [send.sendId]);
  }
}

/** Does so in every thread, also where nothing came of the one in their place. */
export async function releaseAllSuperseded(db: Database): Promise<void> {
  const threads = await query<Pick<Send, 'line' | 'number'>>(
    db,
    `select distinct line, number from ops.sends where state = 'DENIED' and reserved_micros > 0 limit ${mostAtOnce}`,
    [],
  );
  for (const thread of threads) await inTransaction(db, (tx) => releaseSuperseded(tx, thread));
}
