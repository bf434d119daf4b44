import { expect, onTestFinished, test } from 'vitest';
import { createDatabase, query } from '../../src/db/database.ts';
import { openWire } from '../faults/nemesis/proxy.ts';
import { databaseForTest } from '../stores/databases.ts';
import { captureLog } from '../world/log.ts';

const direct = await databaseForTest();
const statementMs = 2_000;
const pid = 'select pg_backend_pid() as pid';

async function wired() {
  const wire = await openWire(Number(new URL(direct).port), onTestFinished);
  const url = wire.through(direct);
  const database = createDatabase({ url, log: captureLog().log, maxConnections: 1, name: 'silence', statementMs });
  onTestFinished(() => database[Symbol.asyncDispose]());
  return { wire, ...database };
}

test('a connection that a firewall forgot is given up in time, and the next statement gets another', async () => {
  const { wire, db } = await wired();
  const begun = performance.now();
  const lost = db.transaction().execute(async (tx) => {
    await query(tx, 'select', []);
    wire.forget();
    await query(tx, 'select', []);
  });
  await expect(lost).rejects.toThrow();
  expect(performance.now() - begun).toBeLessThan(2 * statementMs);
  expect(await query(db, 'select 1 as one', [])).toEqual([{ one: 1 }]);
});

test('so is one that idled when it was forgotten, and one for maintenance', async () => {
  for (const which of ['db', 'unlimited'] as const) {
    const { wire, [which]: db } = await wired();
    await query(db, 'select', []);
    wire.forget();
    await query(db, 'select', []).catch(() => undefined);
    expect(await query(db, 'select 1 as one', [])).toEqual([{ one: 1 }]);
  }
});

test('a long statement is cancelled, which its connection survives; one of maintenance takes as long as it takes', async () => {
  const { db, unlimited } = await wired();
  const [before] = await query(db, pid, []);
  await expect(query(db, 'select pg_sleep(5)', [])).rejects.toMatchObject({ code: '57014' });
  expect(await query(unlimited, 'select 1 as one from pg_sleep(3)', [])).toEqual([{ one: 1 }]);
  await expect(query(db, 'select pg_sleep(5)', [])).rejects.toMatchObject({ code: '57014' });
  expect(await query(db, pid, [])).toEqual([before]);
});
