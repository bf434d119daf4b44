import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type Claim,
  claimDue,
  claimTargets,
  claimUnconfirmed,
  failTarget,
  finishTargets,
  forgetUnconfirmed,
  releaseClaims,
  renewClaims,
} from '../../src/inbox/claims.ts';
import { type DirtyTarget, markDirty, priorities, type ReadPauses, unconfirmed } from '../../src/inbox/targets.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db } = database;
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => database.query('truncate ops.sync_targets, ops.streams'));

const pauses: ReadPauses = { activeMs: 0, refusedMs: 60_000 };
const call = { kind: 'call', key: '1700000001.1' } as const;
const other = { kind: 'call', key: '1700000001.2' } as const;

const bump = (...bumps: DirtyTarget[]) => markDirty(db, bumps, pauses);

async function claim(target: { kind: 'call'; key: string } = call): Promise<Claim> {
  const [claimed] = await claimTargets(db, [target]);
  if (!claimed) throw new Error('nothing was pending');
  return claimed;
}

/** As if whoever reads had died long enough ago. */
const lapse = () => database.query(`update ops.sync_targets set claimed_until = now() where claimed_until > now()`);

/** Claims the target once more, whose claim has lapsed. */
async function claimAbandoned(): Promise<Claim> {
  await lapse();
  return claim();
}

const settle = (
  claimed: Claim,
  more: { recheckSeconds?: number; state?: 'active' | 'refused' | 'gone' | 'forbidden'; isFound?: boolean } = {},
  followUps: DirtyTarget[] = [],
) =>
  db
    .transaction()
    .execute((tx) =>
      finishTargets(tx, [{ ...claimed, state: 'active', error: undefined, ...more }], followUps, pauses),
    );

async function row(target: { kind: string; key: string } = call) {
  const [found] = await database.query<Record<string, unknown>>(
    `select dirty_version > clean_version as is_owed, attempts, state, last_error,
       extract(epoch from due_at - now())::float8 as due_in
     from ops.sync_targets where kind = $1 and key = $2`,
    target.kind,
    target.key,
  );
  return found;
}

const failure = { error: 'the service failed', afterMs: 30_000, countsAsAttempt: true };
const fail = async (more = {}) => failTarget(db, await claim(), { ...failure, ...more });
const calm = { is_owed: false, state: 'active', attempts: 0, last_error: null };

/** A read ends after another one that began later, and settled. */
async function overtaken(end: (first: Claim) => Promise<unknown>): Promise<void> {
  const first = await claim();
  await bump(call);
  await settle(await claimAbandoned());
  await end(first);
}

describe('a bump', () => {
  test('of a pending target is not lost when it commits after the claim', async () => {
    await bump(call);
    const late = Promise.withResolvers<void>();
    let isCommitted = false;
    const marking = db.transaction().execute(async (tx) => {
      await markDirty(tx, [call], pauses);
      late.resolve();
      await Promise.race([claiming, sleep(300)]);
      isCommitted = true;
    });
    const claiming = late.promise.then(async () => ({ claimed: await claim(), sawIt: isCommitted }));
    await marking;
    const { claimed, sawIt } = await claiming;
    await settle(claimed);
    expect(sawIt || (await row())?.is_owed).toBe(true);
  });

  const settled = async (more = {}) => {
    await bump(call);
    await settle(await claim(), more);
  };
  const failed = async () => {
    await bump(call);
    await failTarget(db, await claim(), failure);
  };
  const later = (afterSeconds: number) => ({ ...call, afterSeconds });

  test.each<[string, () => Promise<unknown>, DirtyTarget[], 'enqueued' | 'not enqueued', number]>([
    ['that is new', async () => undefined, [call], 'enqueued', 0],
    ['that is clean', settled, [call], 'enqueued', 0],
    ['that is pending', () => bump(call), [call], 'not enqueued', 0],
    ['given several times at once', async () => undefined, [later(60), call, later(30)], 'enqueued', 0],
    ['for later', async () => undefined, [later(60)], 'not enqueued', 60],
    ['whose due time it makes earlier', () => bump(later(60)), [call], 'enqueued', 0],
    ['whose due time it would make later', () => bump(later(10)), [later(60)], 'not enqueued', 10],
    ['with a recheck ahead', () => settled({ recheckSeconds: 600 }), [call], 'enqueued', 0],
    ['that fails, and keeps its back-off', failed, [call], 'not enqueued', 30],
    [
      'that settled refused, and waits for the longer pause',
      () => settled({ state: 'refused' }),
      [call],
      'not enqueued',
      60,
    ],
  ])('of a target %s', async (_, before, bumps, enqueued, dueIn) => {
    await before();
    expect(await bump(...bumps)).toEqual(enqueued === 'enqueued' ? [{ ...call, afterMs: 0 }] : []);
    const now = await row();
    expect(now).toMatchObject({ is_owed: true });
    expect(Math.max(0, Number(now?.due_in))).toBeCloseTo(dueIn, 0);
  });

  test('of a target in its pause enqueues it once, for the end of the pause', async () => {
    const slow: ReadPauses = { activeMs: 1_000, refusedMs: 1_000 };
    await settled();
    const [target, ...more] = await markDirty(db, [call], slow);
    expect(more).toEqual([]);
    expect(target?.afterMs).toBeGreaterThan(500);
    expect(target?.afterMs).toBeLessThanOrEqual(1_000);
    expect(await markDirty(db, [call], slow)).toEqual([]);
  });

  test('during a read leaves the target pending after it', async () => {
    await bump(call);
    const claimed = await claim();
    expect(await bump(call)).toEqual([]);
    expect(await settle(claimed)).toEqual([{ ...call, afterMs: 0 }]);
    expect(await row()).toMatchObject({ is_owed: true });
  });

  test('during a read is not lost when it comes in a transaction that commits after the claim', async () => {
    await bump(call);
    const late = await database.pool.connect();
    try {
      await late.query('begin');
      await late.query('select now()');
      const claimed = await claim();
      await late.query('commit');
      await bump(call);
      await settle(claimed);
      expect(await row()).toMatchObject({ is_owed: true });
    } finally {
      late.release();
    }
  });
});

describe('a claim', () => {
  test('is not given for what is not pending, not due, or unknown', async () => {
    await bump(call, { ...other, afterSeconds: 60 });
    await settle(await claim());
    expect(await claimTargets(db, [call, other, { kind: 'call', key: '1700000001.9' }])).toEqual([]);
  });

  test('takes the version and the number of the read before it', async () => {
    await bump(call);
    const claimed = await claim();
    await bump(call);
    const [next] = await database.query<{ n: string }>(`select nextval('ops.fetch_seq') as n`);
    expect(BigInt(claimed.fetchSeq)).toBeLessThan(BigInt(next?.n ?? 0));
    const [held] = await database.query<{ dirty_version: string }>('select dirty_version from ops.sync_targets');
    expect(BigInt(claimed.version)).toBeLessThan(BigInt(held?.dirty_version ?? 0));
  });

  test('of many targets gives each a number of its own', async () => {
    const targets = Array.from({ length: 50 }, (_, at) => ({ kind: 'call', key: `1700000002.${at}` }) as const);
    await bump(...targets);
    const claims = await claimTargets(db, [...targets, ...targets]);
    expect(claims).toHaveLength(50);
    expect(new Set(claims.map(({ fetchSeq }) => fetchSeq)).size).toBe(50);
  });
});

describe('what is due', () => {
  const late = { kind: 'call', key: '1700000003.1' } as const;
  const recordings = { kind: 'recordings', key: '1700000003.2' } as const;
  const thread = { kind: 'thread', key: '15550000001/15550000002' } as const;
  const kinds = ['call', 'recordings'] as const;
  const keysOf = (claims: readonly Claim[]) => claims.map(({ key }) => key);
  const dueSince = (seconds: number, { kind, key }: { kind: string; key: string }) =>
    database.query(
      `update ops.sync_targets set due_at = now() - $3 * interval '1 second' where kind = $1 and key = $2`,
      kind,
      key,
      seconds,
    );

  test('is claimed oldest first, up to so many, and each once', async () => {
    await bump(call, late, recordings);
    await dueSince(30, late);
    await dueSince(20, recordings);
    await dueSince(10, call);
    expect(keysOf(await claimDue(db, kinds, 2)).sort()).toEqual([late.key, recordings.key]);
    expect(keysOf(await claimDue(db, kinds, 2))).toEqual([call.key]);
    expect(await claimDue(db, kinds, 2)).toEqual([]);
  });

  test('is no other kind, no history, nothing ahead and nothing clean', async () => {
    await bump(call, thread, { ...late, priority: priorities.history }, { ...recordings, afterSeconds: 60 });
    await settle(await claim());
    expect(await claimDue(db, kinds, 10)).toEqual([]);
  });

  test('leaves a parked kind to its jobs, also when it may be tried again', async () => {
    await bump(call, recordings);
    await database.query(`insert into ops.streams (kind, parked_until, reason) values ('call', now(), 'no scope')`);
    expect(await claimDue(db, kinds, 10)).toMatchObject([recordings]);
    expect(await claimTargets(db, [call])).toMatchObject([{ isProbe: true }]);
  });

  test('is taken by one of two who ask at the same time, without waiting for each other', async () => {
    await bump(...Array.from({ length: 100 }, (_, at) => ({ kind: 'call', key: `1700000004.${at}` }) as const));
    const claims = (await Promise.all(Array.from({ length: 5 }, () => claimDue(db, kinds, 30)))).flat();
    expect(claims).toHaveLength(100);
    expect(new Set(keysOf(claims)).size).toBe(100);
  });
});

describe('a lease', () => {
  const claimAgain = async () => [...(await claimTargets(db, [call])), ...(await claimDue(db, ['call'], 10))];

  test('keeps others from what is being read, however they come to it', async () => {
    await bump(call, other);
    await claim(call);
    await claimDue(db, ['call'], 10);
    await bump(call, other);
    expect(await claimTargets(db, [call, other])).toEqual([]);
    expect(await claimDue(db, ['call'], 10)).toEqual([]);
  });

  test('ends with a read that fails', async () => {
    await bump(call);
    await failTarget(db, await claim(), { ...failure, afterMs: 0 });
    expect(await claimAgain()).toHaveLength(1);
  });

  test('ends by itself where the reader died, and its target is read again at once', async () => {
    await bump(call);
    await claim();
    await lapse();
    expect(await claimAgain()).toMatchObject([{ ...call, attempts: 1 }]);
  });

  test('that ended so twice puts its target off, ever longer, and a delivery does not shorten that', async () => {
    await bump(call);
    await claim();
    await lapse();
    await claimAgain();
    for (let attempts = 2; attempts < 14; attempts += 1) {
      await lapse();
      expect(await claimAgain()).toEqual([]);
      await bump(call);
      expect(await row()).toMatchObject({ attempts, last_error: expect.stringContaining('ended') });
      expect((await row())?.due_in).toBeLessThanOrEqual(Math.min(3_600, 10 * 2 ** attempts));
      await database.query('update ops.sync_targets set due_at = now()');
      expect(await claimAgain()).toHaveLength(1);
    }
    const [again] = await claimAgain();
    expect(again).toBeUndefined();
  });

  test('is renewed while the read lasts, and not after it', async () => {
    await bump(call, other);
    const [slow, ended] = [await claim(call), await claim(other)];
    await settle(ended);
    await lapse();
    await renewClaims(db, [slow, ended]);
    await bump(other);
    expect(await claimDue(db, ['call'], 10)).toMatchObject([other]);
  });
});

/** What a target is after reads that each begin with a bump: the last one settles or fails, or the one before it does late. */
test.each<[string, () => Promise<unknown>, object]>([
  ['a failed read is counted', () => fail(), { is_owed: true, attempts: 1, last_error: 'the service failed' }],
  [
    'one for which the service was not asked is not',
    () => fail({ countsAsAttempt: false }),
    { is_owed: true, attempts: 0 },
  ],
  [
    'a settled read forgets the failures before it',
    async () => {
      await fail({ afterMs: 0 });
      await settle(await claim());
    },
    { attempts: 0, last_error: null, is_owed: false },
  ],
  [
    'a read that began before a settled one settles nothing',
    () => overtaken((first) => settle(first, { state: 'refused' })),
    calm,
  ],
  ['nor does it fail', () => overtaken((first) => failTarget(db, first, failure)), calm],
])('%s', async (_, read, after) => {
  await bump(call);
  await read();
  expect(await row()).toMatchObject(after);
});

describe('a settled read', () => {
  test('owes the look that it asks for', async () => {
    await bump(call);
    expect(await settle(await claim(), { recheckSeconds: 0.5 })).toEqual([{ ...call, afterMs: expect.any(Number) }]);
    expect(await row()).toMatchObject({ is_owed: true });
  });

  test('enqueues what it points at', async () => {
    await bump(call);
    expect(await settle(await claim(), {}, [other])).toEqual([{ ...other, afterMs: 0 }]);
  });
});

describe('an unconfirmed target', () => {
  const { single, bulk } = unconfirmed;
  const kinds = ['call', 'thread'] as const;
  const thread = { kind: 'thread', key: '15550009999/15551110001' } as const;
  const rank = (target: { kind: string; key: string } = call) =>
    database.value('select priority from ops.sync_targets where kind = $1 and key = $2', target.kind, target.key);
  const age = (what: string, by: string) =>
    database.query(`update ops.sync_targets set ${what} = ${what} - interval '${by}'`);
  const count = () => database.value('select count(*)::integer from ops.sync_targets');

  test('that was found is live from then on, whatever names it', async () => {
    await bump({ ...call, priority: bulk });
    const [claimed] = await claimUnconfirmed(db, kinds, 1);
    await settle(claimed as Claim, { isFound: true });
    expect(await rank()).toBe(priorities.live);
    await bump({ ...call, priority: bulk });
    expect(await claim()).toMatchObject({ isUnconfirmed: false });
  });

  test('that was not found waits behind all others when deliveries name it again, and no more when something else does', async () => {
    await bump({ ...call, priority: single });
    await settle(await claim(), { state: 'gone', isFound: false });
    await age('read_at', '1 hour');
    expect(await bump({ ...call, priority: single })).toEqual([]);
    expect(await rank()).toBe(single);
    await bump({ ...call, priority: priorities.history });
    expect(await rank()).toBe(priorities.history);
    expect(await claim()).toMatchObject({ isUnconfirmed: false });
  });

  test('that a listing names before it was read is confirmed', async () => {
    await bump({ ...call, priority: single });
    await bump(call);
    expect(await claim()).toMatchObject({ isUnconfirmed: false });
  });

  test('that was listed as history is known', async () => {
    await bump({ ...call, priority: priorities.history });
    expect(await bump({ ...call, priority: bulk })).toEqual([{ ...call, afterMs: 0 }]);
    expect(await rank()).toBe(priorities.live);
  });

  test('that is given back is due at once, and no attempt is counted', async () => {
    await bump(call);
    await releaseClaims(db, [await claim()]);
    expect(await row()).toMatchObject({ is_owed: true, attempts: 0, last_error: null });
    expect(await claim()).toMatchObject({ attempts: 0, misses: 0 });
  });

  test('that no read found is forgotten an hour later, and starts afresh when it is named again', async () => {
    await bump({ ...call, priority: single }, { ...other, priority: single });
    await settle(await claim(), { state: 'gone', isFound: false });
    await settle(await claim(other), { isFound: true });
    expect(await forgetUnconfirmed(db)).toBe(0);
    await age('read_at', '1 hour');
    expect(await forgetUnconfirmed(db)).toBe(1);
    expect(await count()).toBe(1);
    expect(await bump({ ...call, priority: single })).toEqual([{ ...call, afterMs: 0 }]);
    expect(await claim()).toMatchObject({ version: '1', misses: 0 });
  });

  test('that is still to be read is not forgotten', async () => {
    await bump({ ...call, priority: bulk });
    await age('due_at', '3 days');
    expect(await forgetUnconfirmed(db)).toBe(0);
    const [claimed] = await claimUnconfirmed(db, kinds, 1);
    await settle(claimed as Claim, { state: 'gone', isFound: false, recheckSeconds: 900 });
    await age('read_at', '3 days');
    expect(await forgetUnconfirmed(db)).toBe(0);
  });

  test('that is refused for a week is forgotten, but not what the role may not read of our own lines', async () => {
    const ours = { kind: 'thread', key: '15550008888/15551110001' } as const;
    await database.query(
      `insert into warehouse.sms_lines (line, content_hash, source, fetch_seq, fetched_at) values ('15550008888', '', 'test', 1, now()) on conflict do nothing`,
    );
    await bump(...[call, thread, ours].map((target) => ({ ...target, priority: single })));
    for (const claimed of await claimTargets(db, [call, thread, ours])) {
      const state = claimed.kind === 'call' ? 'refused' : 'forbidden';
      await settle(claimed, { state, isFound: false, recheckSeconds: 86_400 });
    }
    expect(await forgetUnconfirmed(db)).toBe(0);
    await age('refused_at', '8 days');
    expect(await forgetUnconfirmed(db)).toBe(2);
    expect(await rank(ours)).toBe(single);
  });
});
