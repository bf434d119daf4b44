import { afterAll, expect, test } from 'vitest';
import { previewErasure } from '../../src/privacy/erase.ts';
import { migratedDatabase, openDatabase, waitingForLocks } from '../world/database.ts';
import { until } from '../world.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

const deadlockDetected = '40P01';

test('a preview that Postgres ends because of a deadlock is repeated', async () => {
  const number = '15550107799';
  await database.query(
    `insert into ops.deliveries (body, body_hash, targets, is_recognized) values ('{"fromNumber":"${number}"}', 'h', '{}', true)`,
  );
  await database.query(
    `insert into ops.sends (send_id, rule, line, number, trigger_kind, trigger_id, trigger_at, mode, body, state, expires_at)
     values (gen_random_uuid(), 'r', '18005550100', $1, 'message', '1', now(), 'live', 'x', 'SENT', now())`,
    [number],
  );
  await using other = openDatabase(database.url);

  /** A preview, and a transaction in a deadlock with it: false if Postgres ended the transaction. */
  async function isPreviewEnded(): Promise<boolean> {
    let preview: ReturnType<typeof previewErasure> | undefined;
    const writing = other.db.transaction().execute(async (tx) => {
      await tx.updateTable('ops.sends').set({ reason: 'held' }).execute();
      preview = previewErasure(database.db, number);
      preview.catch(() => undefined);
      await until(async () => Number(await database.value(waitingForLocks)) > 0);
      await tx.updateTable('ops.deliveries').set({ user_agent: 'held' }).execute();
    });
    const isEnded = await writing.then(
      () => true,
      (error) => {
        if (error.code === deadlockDetected) return false;
        throw error;
      },
    );
    expect((await preview)?.removed).toMatchObject({ 'ops.deliveries': 1, 'ops.sends': 1 });
    return isEnded;
  }

  // Postgres ends whoever has waited for a second first: the preview, unless the machine is too busy for that.
  await until(isPreviewEnded);
});
