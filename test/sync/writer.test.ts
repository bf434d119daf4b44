import { describe, expect, test } from 'vitest';
import { call } from '../../src/api-client/entities/call-schemas.ts';
import { type Claim, claimTargets } from '../../src/inbox/claims.ts';
import { markDirty } from '../../src/inbox/targets.ts';
import { provenance } from '../../src/sync/read-result.ts';
import { createWriter, type FinishedRead } from '../../src/sync/writer.ts';
import { asRead } from '../warehouse/reads.ts';
import { migratedDatabase } from '../world/database.ts';
import { callId } from './call-service.ts';

const database = await migratedDatabase();
const { db, query, value } = database;

const { write } = createWriter({ db, notify: () => undefined });

async function claimOf(key = callId()): Promise<Claim> {
  await markDirty(db, [{ kind: 'call', key }]);
  // Whoever claimed it before gives it back, and a while has passed.
  await query(`update ops.sync_targets set claimed_until = '-infinity', due_at = now() where key = $1`, key);
  const [claim] = await claimTargets(db, [{ kind: 'call', key }]);
  if (!claim) throw new Error('nothing was pending');
  return claim;
}

/** A read that ends well; `startTime` is not looked at by the writer. */
function found(claim: Claim, startTime = '2026-04-21T12:00:00Z'): FinishedRead {
  const [read] = asRead(call, [{ id: claim.key, legs: [] }]);
  if (!read) throw new Error('no call');
  const entity = {
    kind: 'call',
    read: { call: { ...read, startTime }, read: provenance(claim, 'calls.get') },
  } as const;
  return { claim, state: 'active', result: { entity } };
}

function gone(claim: Claim): FinishedRead {
  const entity = { kind: 'call_gone', read: { callId: claim.key, read: provenance(claim, 'calls.get') } } as const;
  return { claim, state: 'gone', error: 'not found', result: { entity } };
}

const isOwed = ({ key }: Claim) =>
  value('select dirty_version > clean_version from ops.sync_targets where key = $1', key);
const isHeld = async ({ key }: Claim) =>
  (await value('select deleted_at is null from warehouse.calls where call_id = $1', key)) === true;

describe('a batch', () => {
  const fails = (): never => {
    throw new Error('no conclusion');
  };

  test.each<[string, (claim: Claim) => FinishedRead]>([
    ['cannot be written', (claim) => found(claim, 'no instant')],
    ['cannot be concluded', (claim) => ({ claim, state: 'active', result: { whenHeld: fails } })],
  ])('with a read that %s keeps the others, and leaves that one pending', async (_, bad) => {
    const claims = [await claimOf(), await claimOf(), await claimOf()];
    const outcomes = await Promise.allSettled(claims.map((claim, at) => write(at === 1 ? bad(claim) : found(claim))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await Promise.all(claims.map(isHeld))).toEqual([true, false, true]);
    expect(await Promise.all(claims.map(isOwed))).toEqual([false, true, false]);
  });

  test('is told what the mirror holds of its calls, and what that makes worth reading is pending', async () => {
    const [held, unknown] = [await claimOf(), await claimOf()];
    await write(found(held));
    const told: unknown[] = [];
    const whenHeld = (claim: Claim): FinishedRead => ({
      ...{ claim, state: 'active' },
      result: {
        whenHeld(call) {
          told.push(call?.startedAt);
          return call ? {} : { followUps: [{ kind: 'recordings', key: claim.key }] };
        },
      },
    });
    await Promise.all([held, unknown].map((claim) => write(whenHeld(claim))));
    expect(told).toEqual([new Date('2026-04-21T12:00:00Z'), undefined]);
    expect(await query(`select key from ops.sync_targets where kind = 'recordings'`)).toEqual([{ key: unknown.key }]);
  });
});

test.each([
  ['found stays, when an older read did not find it', gone, found, true],
  ['not found stays gone, when an older read found it', found, gone, false],
])('a call that a newer read has %s', async (_, ofOlder, ofNewer, expected) => {
  const older = await claimOf();
  await write(found(older));
  const [late, newer] = [await claimOf(older.key), await claimOf(older.key)];
  await write(ofNewer(newer));
  await write(ofOlder(late));
  expect(await isHeld(older)).toBe(expected);
});
