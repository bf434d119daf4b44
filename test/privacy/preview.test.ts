import { afterAll, expect, test } from 'vitest';
import { inTransaction, query, sql } from '../../src/db/database.ts';
import { previewErasure } from '../../src/privacy/erase.ts';
import { migratedDatabase, openDatabase, waitingForLocks } from '../world/database.ts';
import { until } from '../world.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

test('a preview that Postgres ends because of a deadlock is repeated', async () => {
  const number = '15550107799';
  await database.query(
    `insert into ops.deliveries (body, targets, is_recognized) values ('{"fromNumber":"${number}"}', '{}', true)`,
  );
  await database.query(
    `insert into ops.sends (send_id, rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, expires_at)
     values (gen_random_uuid(), 'r', '18005550100', $1, 'message', '1', now(), 'live', 'x', 'SENT', now())`,
    number,
  );
  await using other = openDatabase(database.url);
  let preview: ReturnType<typeof previewErasure> | undefined;
  // Repeated where Postgres ends this one instead: on a machine so busy that the preview looked for a deadlock too early.
  await inTransaction(other.db, async (tx) => {
    await query(tx, sql`update ops.sends set reason = 'held'`);
    preview = previewErasure(database.db, number);
    preview.catch(() => undefined);
    await until(async () => Number(await database.value(waitingForLocks)) > 0);
    // The preview waits longer already, so it is the one that Postgres ends.
    await query(tx, sql`update ops.deliveries set user_agent = 'held'`);
  });
  expect((await preview)?.removed).toMatchObject({ 'ops.deliveries': 1, 'ops.sends': 1 });
});
