import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { query, sql } from '../../src/db/database.ts';
import {
  type Claim,
  claimDue,
  claimSuspects,
  claimTargets,
  failTarget,
  finishTargets,
} from '../../src/inbox/claims.ts';
import { isAbandoned, loseRead, noteLostReads } from '../../src/inbox/lost-reads.ts';
import { markDirty } from '../../src/inbox/targets.ts';
import { readSetAside } from '../../src/ops/snapshot/mirror.ts';
import { readAgain } from '../../src/sync/read-again.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db } = database;
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => database.query('truncate ops.sync_targets, ops.streams'));

const pauses = { activeMs: 0, refusedMs: 0 };
const keyed = (at: number) => ({ kind: 'call', key: `1700000001.${at}` }) as const;
const culprit = keyed(0);
const bump = (...targets: { kind: 'call'; key: string }[]) => markDirty(db, targets, pauses);
const suspects = (max = 100) => claimSuspects(db, ['call'], max);

/** As if the process of all claims had died, and others had come across them. */
async function die(): Promise<void> {
  await database.query(`update ops.sync_targets set claimed_until = now() where claimed_until > now()`);
  await query(db, sql`update ops.sync_targets t set ${loseRead} where ${isAbandoned}`);
}
const pass = () => database.query('update ops.sync_targets set due_at = now() where due_at > now()');
const end = (claims: readonly Claim[]) =>
  db.transaction().execute((tx) =>
    finishTargets(
      tx,
      claims.map((claim) => ({ ...claim, state: 'active', error: undefined })),
      [],
      pauses,
    ),
  );
const note = (isExact: boolean, ...items: { kind: string; key: string }[]) =>
  database.query(noteLostReads, JSON.stringify(items), isExact);
const setAside = async () => (await readSetAside(db)).map(({ key }) => key);

describe('reads whose process was killed', () => {
  test('are all read again, apart from others, and forgotten', async () => {
    const many = Array.from({ length: 200 }, (_, at) => keyed(at));
    await bump(...many);
    await claimDue(db, ['call'], 200);
    await die();
    expect(await claimDue(db, ['call'], 200)).toEqual([]);
    expect(await claimTargets(db, many)).toEqual([]);
    const claimed = await suspects(1_000);
    expect(claimed).toHaveLength(200);
    await end(claimed);
    expect(await database.query('select from ops.sync_targets where lost_reads > 0')).toEqual([]);
  });

  test('twice are read alone, one after another, and then with others again', async () => {
    await bump(culprit, keyed(1));
    await claimDue(db, ['call'], 2);
    await die();
    expect(await suspects()).toHaveLength(2);
    await die();
    for (let time = 0; time < 2; time += 1) {
      const [alone, ...others] = await suspects();
      expect(others).toEqual([]);
      await end([alone as Claim]);
    }
    await bump(culprit, keyed(1));
    expect(await claimDue(db, ['call'], 2)).toHaveLength(2);
  });

  test('are set aside for a minute when they were alone', async () => {
    await bump(culprit, keyed(1));
    await claimDue(db, ['call'], 2);
    await die();
    expect(await suspects(1)).toHaveLength(1);
    await die();
    expect(await setAside()).toHaveLength(1);
    expect(await suspects(1)).toHaveLength(1);
    await pass();
    await end(await suspects());
    expect(await setAside()).toEqual([]);
  });

  test('wait ever longer, and new deliveries do not shorten that', async () => {
    await bump(culprit);
    await claimDue(db, ['call'], 1);
    await die();
    const waits: number[] = [];
    for (let time = 0; time < 3; time += 1) {
      await suspects();
      await die();
      await bump(culprit);
      expect(await suspects()).toEqual([]);
      const [row] = await database.query<{ wait: number }>(
        'select extract(epoch from due_at - now())::float8 as wait from ops.sync_targets',
      );
      waits.push(Math.round((row?.wait ?? 0) / 60));
      await pass();
    }
    expect(waits).toEqual([1, 60, 1_440]);
  });

  test('are no suspects when they failed in a process that lives', async () => {
    await bump(culprit);
    const [claim] = await claimDue(db, ['call'], 1);
    await die();
    const [again] = await suspects();
    expect(again).toMatchObject({ ...culprit, lostReads: 3 });
    await failTarget(db, claim as Claim, { error: 'the service failed', afterMs: 0, countsAsAttempt: true });
    expect(await claimDue(db, ['call'], 1)).toHaveLength(1);
  });
});

describe('what the watchdog found in work', () => {
  test('is set aside the second time, until somebody asks for it', async () => {
    await bump(culprit, keyed(1));
    await end((await claimDue(db, ['call'], 2)).filter(({ key }) => key !== culprit.key));
    await note(true, culprit);
    expect(await setAside()).toEqual([]);
    expect(await suspects()).toMatchObject([culprit]);
    await note(true, culprit);
    await bump(culprit);
    expect(await suspects()).toEqual([]);
    expect(await setAside()).toEqual([culprit.key]);
    await readAgain({ db, pauses, notify: () => undefined }, culprit);
    expect(await setAside()).toEqual([]);
    expect(await claimDue(db, ['call'], 1)).toMatchObject([culprit]);
  });

  test('is a suspect, and no more, while it was not alone', async () => {
    const many = Array.from({ length: 20 }, (_, at) => keyed(at));
    await bump(...many);
    await claimDue(db, ['call'], 20);
    for (let time = 0; time < 3; time += 1) await note(true, ...many);
    for (let time = 0; time < 3; time += 1) await note(false, culprit);
    expect(await setAside()).toEqual([]);
    expect(await claimDue(db, ['call'], 20)).toEqual([]);
    expect(await suspects()).toHaveLength(20);
  });
});
