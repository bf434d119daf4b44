import { afterAll, describe, expect, test } from 'vitest';
import { call } from '../../src/api-client/entities/calls.ts';
import { type Claim, claimTargets } from '../../src/inbox/claims.ts';
import { markDirty } from '../../src/inbox/targets.ts';
import { provenance } from '../../src/sync/read-result.ts';
import { createWriter, type FinishedRead } from '../../src/sync/writer.ts';
import { asRead } from '../warehouse/reads.ts';
import { migratedDatabase } from '../world/database.ts';
import { callId } from './call-service.ts';

const database = await migratedDatabase();
const { db } = database;
afterAll(() => database[Symbol.asyncDispose]());

const pauses = { activeMs: 0, refusedMs: 0 };
const writer = createWriter({ db, pauses, notify: () => undefined });

async function claimOf(key: string): Promise<Claim> {
  await markDirty(db, [{ kind: 'call', key }], pauses);
  // Whoever claimed it before gives it back.
  await database.query(`update ops.sync_targets set claimed_until = '-infinity' where key = $1`, key);
  const [claim] = await claimTargets(db, [{ kind: 'call', key }]);
  if (!claim) throw new Error('nothing was pending');
  return claim;
}

/** A read that ends well; `startTime` is not looked at by the writer. */
function found(claim: Claim, startTime = '2026-04-21T12:00:00Z'): FinishedRead {
  const [read] = asRead(call, [{ id: claim.key, legs: [] }]);
  if (!read) throw new Error('no call');
  return {
    claim,
    state: 'active',
    result: {
      entity: {
        kind: 'call',
        read: {
          call: { ...read, startTime },
          read: { fetchSeq: claim.fetchSeq, fetchedAt: claim.claimedAt.toISOString(), source: 'calls.get' },
        },
      },
    },
  };
}

const isOwed = (key: string) =>
  database.value('select dirty_version > clean_version from ops.sync_targets where key = $1', key);
const isHeld = async (key: string) =>
  (await database.value('select deleted_at is null from warehouse.calls where call_id = $1', key)) === true;

describe('a batch', () => {
  test('with a read that cannot be written keeps the others, and leaves that one pending', async () => {
    const [good, bad, better] = [await claimOf(callId()), await claimOf(callId()), await claimOf(callId())];
    const outcomes = await Promise.allSettled([
      writer.write(found(good)),
      writer.write(found(bad, 'no instant')),
      writer.write(found(better)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect([await isHeld(good.key), await isHeld(bad.key), await isHeld(better.key)]).toEqual([true, false, true]);
    expect([await isOwed(good.key), await isOwed(bad.key), await isOwed(better.key)]).toEqual([false, true, false]);
  });

  test('is told what the mirror holds of its calls, and what that makes worth reading is pending', async () => {
    const [held, unknown] = [await claimOf(callId()), await claimOf(callId())];
    await writer.write(found(held));
    const told: unknown[] = [];
    const tells = (claim: Claim): FinishedRead => ({
      claim,
      state: 'active',
      result: {
        whenHeld(call) {
          told.push(call?.startedAt);
          return call ? {} : { followUps: [{ kind: 'recordings', key: claim.key }] };
        },
      },
    });
    await Promise.all([writer.write(tells(held)), writer.write(tells(unknown))]);
    expect(told).toEqual([new Date('2026-04-21T12:00:00Z'), undefined]);
    const pending = "select key from ops.sync_targets where kind = 'recordings' and key = any($1)";
    expect(await database.value(pending, [held.key, unknown.key])).toBe(unknown.key);
  });

  test('in which one cannot be concluded keeps the others', async () => {
    const [good, bad] = [await claimOf(callId()), await claimOf(callId())];
    const fails = () => {
      throw new Error('no conclusion');
    };
    const outcomes = await Promise.allSettled([
      writer.write(found(good)),
      writer.write({ claim: bad, state: 'active', result: { whenHeld: fails } }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(await isHeld(good.key)).toBe(true);
  });
});

test('a call that an older read did not find stays, when a newer one found it', async () => {
  const id = callId();
  const older = await claimOf(id);
  const newer = await claimOf(id);
  await writer.write(found(newer));
  await writer.write({ claim: older, state: 'gone', error: 'not found', result: gone(older) });
  expect(await isHeld(id)).toBe(true);
});

test('a call that is found by an older read stays gone, when a newer one did not find it', async () => {
  const id = callId();
  await writer.write(found(await claimOf(id)));
  const older = await claimOf(id);
  const newer = await claimOf(id);
  await writer.write({ claim: newer, state: 'gone', error: 'not found', result: gone(newer) });
  await writer.write(found(older));
  expect(await isHeld(id)).toBe(false);
});

function gone(claim: Claim): FinishedRead['result'] {
  return { entity: { kind: 'call_gone', read: { callId: claim.key, read: provenance(claim, 'calls.get') } } };
}
