import { beforeEach, expect, test } from 'vitest';
import { query as ask, inTransaction } from '../../src/db/database.ts';
import {
  endAutomaticPause,
  pauseOnUnknowns,
  pauseSends,
  readControl,
  recordUnitPrice,
  resumeSends,
} from '../../src/ledger/control.ts';
import { superuserUrlOf } from '../stores/databases.ts';
import { migratedDatabase, openDatabase, waitingForLocks } from '../world/database.ts';
import { until } from '../world.ts';

/* The switch: who pauses, and who ends that. */

const database = await migratedDatabase();
const { db, query, value } = database;
beforeEach(async () => {
  await query('truncate ops.sends');
  await resumeSends(db);
  await query(`update ops.send_control set changed_at = now() - interval '1 hour', highest_unit_micros = 0`);
});

/** Sends by state, and the minutes since their outcome became unknown: `UNKNOWN 1, SENT 9`. */
async function write(sends: string): Promise<void> {
  await query('truncate ops.sends');
  for (const [at, send] of sends.split(', ').entries()) {
    const [state, minutes] = send.split(' ');
    await query(
      `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, expires_at, state, unknown_at)
       values ('r', '1', $1, 'message', $1, now(), 'live', now(), $2, now() - $3 * interval '1 minute')`,
      ...[at, state, minutes],
    );
  }
}

const isPaused = async () => (await readControl(db)).isPaused;
const pauseIfUnknown = () => inTransaction(db, pauseOnUnknowns);
const three = 'UNKNOWN 1, UNKNOWN 2, NEEDS_HUMAN 9.9';

test.each([
  [three, true],
  ['UNKNOWN 1, UNKNOWN 2', false],
  ['UNKNOWN 1, UNKNOWN 2, UNKNOWN 10.1', false],
  ['UNKNOWN 1, UNKNOWN 2, SENT 3, NOT_SENT 4', false],
])('%s pauses all sends: %s', async (sends, pauses) => {
  await write(sends);
  expect(await pauseIfUnknown()).toBe(pauses);
  const reason = '3 sends within 10 minutes had an unknown outcome';
  expect(await readControl(db)).toMatchObject(pauses ? { isPaused: true, by: 'ledger', reason } : { isPaused: false });
  expect(await pauseIfUnknown(), 'once').toBe(false);
});

test('what was unknown before an operator resumed does not count again', async () => {
  await write(three);
  await pauseIfUnknown();
  await resumeSends(db, 'by Pat');
  expect(await readControl(db)).toMatchObject({ isPaused: false, by: null, reason: 'by Pat' });
  expect(await pauseIfUnknown()).toBe(false);
});

test.each([
  [three, true],
  ['UNKNOWN 1, UNKNOWN 2, SENT 3', false],
  ['UNKNOWN 1, NOT_SENT 2, NEEDS_HUMAN 3', false],
  ['UNKNOWN 1, UNKNOWN 2, NEEDS_HUMAN 10.5', false],
])('the ledger’s own pause lasts with %s: %s; what is unknown then counts with the next one', async (sends, lasts) => {
  await write(three);
  await pauseIfUnknown();
  await write(sends);
  expect(await endAutomaticPause(db)).toBe(!lasts);
  expect(await isPaused()).toBe(lasts);
  if (lasts) return;
  expect(await readControl(db)).toMatchObject({ by: null, reason: null });
  await write(three);
  expect(await pauseIfUnknown()).toBe(true);
});

test.each(['operator', 'recovery'] as const)('the pause of %s is not the ledger’s to end', async (by) => {
  await write(three);
  await pauseIfUnknown();
  await pauseSends(db, 'a person looks into it', by);
  await write('SENT 1');
  expect(await endAutomaticPause(db)).toBe(false);
  expect(await readControl(db)).toMatchObject({ isPaused: true, by, reason: 'a person looks into it' });
});

test('the highest price of a day counts; an equal one renews it, and a lower one follows after a day', async () => {
  const record = (micros: number) => inTransaction(db, (tx) => recordUnitPrice(tx, micros));
  const price = async () => (await readControl(db)).highestUnitMicros;
  const age = (hours: number) =>
    query(`update ops.send_control set highest_unit_at = highest_unit_at - $1 * interval '1 hour'`, hours);
  await record(7);
  await record(5);
  expect(await price()).toBe(7);
  await age(23);
  await record(7);
  await age(23);
  await record(5);
  expect(await price()).toBe(7);
  await age(1.1);
  expect(await price()).toBe(0);
  await record(5);
  expect(await price()).toBe(5);
});

test('a resume that waits for a send, while that send waits for the switch, comes through', async () => {
  await write('PLANNED 0');
  await pauseSends(db, 'a test');
  await using admin = openDatabase(superuserUrlOf(database.url));
  const { resuming } = await admin.db.transaction().execute(async (tx) => {
    // Of two that wait for each other, the resume is the one that is given up, and tried again.
    await ask(tx, `set local deadlock_timeout = '1min'`, []);
    await ask(tx, 'select from ops.sends for update', []);
    const resuming = resumeSends(db);
    await until(async () => (await value(waitingForLocks)) === 1);
    await recordUnitPrice(tx, 1);
    return { resuming };
  });
  await resuming;
  expect(await readControl(db)).toMatchObject({ isPaused: false, highestUnitMicros: 1 });
});
