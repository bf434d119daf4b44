import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  areReadsWaiting,
  type Claim,
  claimDue,
  claimTargets,
  claimUnconfirmed,
  failTarget,
  finishTargets,
  forgetUnconfirmed,
  releaseClaims,
  renewClaims,
  type TargetState,
} from '../../src/inbox/claims.ts';
import { createDueFloor } from '../../src/inbox/due-floor.ts';
import { parkKind, resumeKinds } from '../../src/inbox/parking.ts';
import {
  type DirtyTarget,
  markDirty,
  priorities,
  type Rank,
  type Target,
  unconfirmed,
} from '../../src/inbox/targets.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db, query, value } = database;
beforeEach(() => query('truncate ops.sync_targets, ops.parked_kinds'));

const call = { kind: 'call', key: '1700000001.1' } as const;
const other = { kind: 'call', key: '1700000001.2' } as const;
const recordings = { kind: 'recordings', key: '1700000001.1' } as const;
const thread = { kind: 'thread', key: '15550000001/15550000002' } as const;
const kinds = ['call', 'recordings'] as const;

const mark = (...targets: readonly DirtyTarget[]) => markDirty(db, targets);
const many = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ kind: 'call', key: `1700000004.${at}` }) as const);
const keysOf = (claims: readonly Claim[]) => claims.map(({ key }) => key);
const set = (what: string) => query(`update ops.sync_targets set ${what}`);
/** As if whoever reads had died long enough ago. */
const lapse = () => set(`claimed_until = case when claimed_until > now() then now() else claimed_until end`);
const dueSince = (seconds: number, { kind, key }: Target) =>
  query(
    `update ops.sync_targets set due_at = now() - interval '${seconds} seconds' where kind = $1 and key = $2`,
    kind,
    key,
  );

async function claim(target: Target = call): Promise<Claim> {
  const [claimed] = await claimTargets(db, [target]);
  if (!claimed) throw new Error('nothing was pending');
  return claimed;
}

const settle = (
  claimed: Claim,
  more: { recheckSeconds?: number; state?: TargetState; isFound?: boolean } = {},
  followUps: readonly DirtyTarget[] = [],
) =>
  db
    .transaction()
    .execute((tx) => finishTargets(tx, [{ ...claimed, state: 'active', error: undefined, ...more }], followUps));

/** A target as a few words: what is not said has its plain value. */
const stateOf = ({ kind, key }: Target = call) =>
  value(
    `select concat_ws(', ', case when dirty_version > clean_version then 'pending' else 'clean' end, nullif(state, 'active'),
       case when attempts > 0 then attempts || ' failed' end, case when misses > 0 then misses || ' missed' end, last_error,
       case priority when 1 then 'history' when 2 then 'single' when 3 then 'bulk' end,
       case when is_unconfirmed then 'unconfirmed' end, case when claimed_until > now() then 'claimed' end,
       case when dirty_version > clean_version and due_at > now() + interval '1 second'
         then 'in ' || round(extract(epoch from due_at - now())) || ' s' end)
     from ops.sync_targets where kind = $1 and key = $2`,
    kind,
    key,
  );

describe('the states of a target', () => {
  const ranks: Readonly<Record<string, Rank>> = { ...priorities, ...unconfirmed };
  const taking: Readonly<Record<string, () => Promise<Claim[]>>> = {
    claim: () => claimTargets(db, [call]),
    'claim-due': () => claimDue(db, ['call'], 10),
    'claim-deferred': () => claimUnconfirmed(db, ['call'], 10),
  };

  /**
   * What can happen, as `event`, `event@seconds`, `event:rank` or `event:name` of the claim it is about (by default the last one).
   * Resolves to what the event yields.
   */
  async function happen(event: string, claims: Map<string, Claim>): Promise<unknown[] | undefined> {
    const [, what = '', seconds, word = 'last'] = /^([\w-]+)(?:@([\d.]+))?(?::(\w+))?$/.exec(event) ?? [];
    const after = Number(seconds ?? 0);
    const held = () => {
      const found = claims.get(word);
      if (!found) throw new Error(`there is no claim for ${event}`);
      return found;
    };
    const fail = (more: object) =>
      failTarget(db, held(), {
        error: 'failed',
        afterMs: 1_000 * Number(seconds ?? 30),
        countsAsAttempt: true,
        ...more,
      });
    const isFound = what === 'settle';
    switch (what) {
      case 'mark':
        return mark({ ...call, afterSeconds: after, priority: ranks[word] ?? priorities.live });
      case 'claim':
      case 'claim-due':
      case 'claim-deferred': {
        const claimed = (await taking[what]?.()) ?? [];
        for (const each of claimed) claims.set(word, each).set('last', each);
        return claimed.length > 0 ? undefined : ['nothing'];
      }
      case 'settle':
        return settle(held(), { isFound, ...(seconds !== undefined && { recheckSeconds: after }) });
      case 'refused':
      case 'gone':
        return settle(held(), { state: what, isFound, ...(seconds !== undefined && { recheckSeconds: after }) });
      case 'fail':
        return void (await fail({}));
      case 'fail-unasked':
        return void (await fail({ countsAsAttempt: false }));
      case 'miss':
        return void (await fail({ isMiss: true }));
      case 'release':
        return void (await releaseClaims(db, [held()]));
      case 'lapse':
        return void (await lapse());
      case 'hours':
      case 'minutes': {
        const ago = `interval '${word} ${what}'`;
        return void (await set(`read_at = read_at - ${ago}, refused_at = refused_at - ${ago}`));
      }
      case 'forget':
        return [`${await forgetUnconfirmed(db)} forgotten`];
    }
    throw new Error(`${event} is no event`);
  }

  test.each([
    ['mark', 'pending, enqueued'],
    ['mark claim settle', 'clean'],
    ['mark claim settle mark', 'pending, enqueued'],
    ['mark mark', 'pending'],
    ['mark@60', 'pending, in 60 s'],
    ['mark@60 mark', 'pending, enqueued'],
    ['mark@10 mark@60', 'pending, in 10 s'],
    ['mark claim settle@600', 'pending, in 600 s'],
    ['mark claim settle@600 mark', 'pending, enqueued'],
    ['mark claim settle@0.5', 'pending, enqueued'],
    // A failing target keeps its back-off, and a refused one its longer pause.
    ['mark claim fail', 'pending, 1 failed, failed, in 30 s'],
    ['mark claim fail mark', 'pending, 1 failed, failed, in 30 s'],
    ['mark claim fail-unasked', 'pending, failed, in 30 s'],
    // What is known to exist keeps its rank when a read does not find it.
    ['mark claim miss', 'pending, 1 failed, 1 missed, failed, in 30 s'],
    ['mark claim fail@0 claim settle', 'clean'],
    ['mark claim refused mark', 'pending, refused, in 60 s'],
    // A mark during a read causes another one.
    ['mark claim mark', 'pending, claimed'],
    ['mark claim mark settle', 'pending, enqueued'],
    // A read that began before a settled one neither settles nor fails anything.
    ['mark claim:old mark lapse claim settle refused:old', 'clean'],
    ['mark claim:old mark lapse claim settle fail:old', 'clean'],
    // What is clean, ahead or being read is not claimed.
    ['claim', 'nothing'],
    ['mark claim settle claim', 'clean, nothing'],
    ['mark claim settle claim-due', 'clean, nothing'],
    ['mark@60 claim', 'pending, in 60 s, nothing'],
    ['mark@60 claim-due', 'pending, in 60 s, nothing'],
    ['mark:history claim-due', 'pending, history, nothing'],
    ['mark claim mark claim', 'pending, claimed, nothing'],
    ['mark claim mark claim-due', 'pending, claimed, nothing'],
    ['mark claim-due mark claim', 'pending, claimed, nothing'],
    ['mark claim-due mark claim-due', 'pending, claimed, nothing'],
    // A lease ends with the read, or by itself; then its target is read again at once.
    ['mark claim fail@0 claim', 'pending, 1 failed, failed, claimed'],
    ['mark claim fail@0 claim-due', 'pending, 1 failed, failed, claimed'],
    ['mark claim release', 'pending'],
    ['mark claim release claim', 'pending, claimed'],
    ['mark claim lapse claim', 'pending, 1 failed, claimed'],
    ['mark claim lapse claim-due', 'pending, 1 failed, claimed'],
    // What only deliveries name is live at first, and deferred once it was not found.
    ['mark:single', 'pending, unconfirmed, enqueued'],
    ['mark:bulk', 'pending, bulk, unconfirmed'],
    ['mark:bulk claim-deferred settle', 'clean'],
    ['mark:bulk claim-deferred settle mark:bulk', 'pending, enqueued'],
    ['mark:single claim gone', 'clean, gone, single, unconfirmed'],
    ['mark:single claim gone hours:1 mark:single', 'pending, gone, single, unconfirmed'],
    ['mark:single claim gone hours:1 mark:single mark:history', 'pending, gone, history'],
    ['mark:single mark', 'pending'],
    ['mark:history mark:bulk', 'pending, enqueued'],
    ['mark:history mark', 'pending, enqueued'],
    ['mark mark:history', 'pending'],
    // It is forgotten an hour later, or after a week of refusals; not while it is still to be read.
    ['mark:single claim gone forget', 'clean, gone, single, unconfirmed, 0 forgotten'],
    ['mark:single claim gone minutes:59 forget', 'clean, gone, single, unconfirmed, 0 forgotten'],
    ['mark:single claim gone hours:1 forget', '1 forgotten'],
    ['mark:single claim gone hours:1 forget mark:single', 'pending, unconfirmed, enqueued'],
    // The end of a read from before it was forgotten says nothing about the new target.
    ['mark:single claim:old lapse claim gone hours:1 forget mark:single settle:old', 'pending, unconfirmed'],
    ['mark:single claim settle hours:1 forget', 'clean, 0 forgotten'],
    ['mark:bulk hours:72 forget', 'pending, bulk, unconfirmed, 0 forgotten'],
    ['mark:bulk claim-deferred gone@900 hours:72 forget', 'pending, gone, bulk, unconfirmed, in 900 s, 0 forgotten'],
    ['mark:single claim refused@86400 forget', 'pending, refused, single, unconfirmed, in 86400 s, 0 forgotten'],
    [
      'mark:single claim refused@86400 hours:167 forget',
      'pending, refused, single, unconfirmed, in 86400 s, 0 forgotten',
    ],
    ['mark:single claim refused@86400 hours:192 forget', '1 forgotten'],
  ])('%s: %s', async (events, expected) => {
    const claims = new Map<string, Claim>();
    let yielded: unknown[] = [];
    for (const event of events.split(' ')) yielded = (await happen(event, claims)) ?? [];
    const last = yielded.map((each) => (typeof each === 'string' ? each : 'enqueued'));
    expect([await stateOf(), ...last].filter(Boolean).join(', ')).toBe(expected);
  });
});

test('a mark of a target in its pause enqueues it once, for the end of the pause', async () => {
  await mark(call);
  await settle(await claim());
  const [target, ...more] = await mark(call);
  expect(more).toEqual([]);
  expect(target?.afterMs).toBeGreaterThan(0);
  expect(target?.afterMs).toBeLessThanOrEqual(200);
  expect(await mark(call)).toEqual([]);
});

test('marks of a target several times at once enqueue it once, for the earliest', async () => {
  const later = (afterSeconds: number) => ({ ...call, afterSeconds });
  expect(await mark(later(60), call, later(30))).toEqual([{ ...call, afterMs: 0 }]);
});

test('a settled read enqueues what it points at', async () => {
  await mark(call);
  expect(await settle(await claim(), {}, [other])).toEqual([{ ...other, afterMs: 0 }]);
});

describe('a race', () => {
  test('of a mark that commits after the claim loses no mark of a pending target', async () => {
    await mark(call);
    const late = Promise.withResolvers<void>();
    let isCommitted = false;
    const marking = db.transaction().execute(async (tx) => {
      await markDirty(tx, [call]);
      late.resolve();
      await Promise.race([claiming, sleep(300)]);
      isCommitted = true;
    });
    const claiming = late.promise.then(async () => ({ claimed: await claim(), sawIt: isCommitted }));
    await marking;
    const { claimed, sawIt } = await claiming;
    await settle(claimed);
    expect(sawIt || (await stateOf()) === 'pending').toBe(true);
  });

  test('of a mark in a transaction that began before the claim and commits after it loses none', async () => {
    await mark(call);
    const late = await database.pool.connect();
    try {
      await late.query('begin');
      await late.query('select now()');
      const claimed = await claim();
      await late.query('commit');
      await mark(call);
      await settle(claimed);
      expect(await stateOf()).toBe('pending');
    } finally {
      late.release();
    }
  });

  test('of many who ask what is due gives each target to one, without waiting for each other', async () => {
    await mark(...many(100));
    const claims = (await Promise.all(Array.from({ length: 5 }, () => claimDue(db, kinds, 30)))).flat();
    expect(claims).toHaveLength(100);
    expect(new Set(keysOf(claims)).size).toBe(100);
  });
});

describe('a claim', () => {
  test('takes the version and the number of the read before it', async () => {
    await mark(call);
    const claimed = await claim();
    await mark(call);
    expect(BigInt(claimed.fetchSeq)).toBeLessThan(BigInt(String(await value(`select nextval('ops.fetch_seq')`))));
    expect(BigInt(claimed.version)).toBeLessThan(
      BigInt(String(await value('select dirty_version from ops.sync_targets'))),
    );
  });

  test('outlasts two renewals that fail, which are made every 1.5 seconds', async () => {
    await mark(call);
    await claim();
    const lasts = await value('select extract(epoch from claimed_until - read_at)::float8 from ops.sync_targets');
    expect(lasts).toBeGreaterThan(4.5);
  });

  test('of many targets gives each a number of its own', async () => {
    await mark(...many(50));
    const claims = await claimTargets(db, [...many(50), ...many(50)]);
    expect(claims).toHaveLength(50);
    expect(new Set(claims.map(({ fetchSeq }) => fetchSeq)).size).toBe(50);
  });

  test('tells how its target is known', async () => {
    await mark({ ...call, priority: unconfirmed.single }, { ...other, priority: priorities.history });
    expect(await claim()).toMatchObject({ isUnconfirmed: true, isNew: true, misses: 0, attempts: 0, priority: 0 });
    expect(await claim(other)).toMatchObject({ isUnconfirmed: false, priority: priorities.history });
  });

  test('that ended by itself twice puts its target off, ever longer, and a delivery does not shorten that', async () => {
    const claimAgain = async () => [...(await claimTargets(db, [call])), ...(await claimDue(db, ['call'], 10))];
    await mark(call);
    await claim();
    await lapse();
    expect(await claimAgain()).toMatchObject([{ ...call, attempts: 1 }]);
    for (let attempts = 2; attempts < 14; attempts += 1) {
      await lapse();
      expect(await claimAgain()).toEqual([]);
      await mark(call);
      expect(await stateOf()).toContain(`${attempts} failed, The process that read it ended`);
      const dueIn = await value('select extract(epoch from due_at - now())::float8 from ops.sync_targets');
      expect(dueIn).toBeLessThanOrEqual(Math.min(3_600, 10 * 2 ** attempts));
      await set('due_at = now()');
      expect(await claimAgain()).toHaveLength(1);
    }
    expect(await claimAgain()).toEqual([]);
  });

  test('is renewed while the read lasts, and not after it', async () => {
    await mark(call, other);
    const [slow, ended] = [await claim(call), await claim(other)];
    await settle(ended);
    await lapse();
    await renewClaims(db, [slow, ended]);
    await mark(other);
    await dueSince(0, other);
    expect(await claimDue(db, ['call'], 10)).toMatchObject([other]);
  });
});

test.each([
  [2, true],
  [50, true],
  [70, false],
])('a read that has waited for %d seconds holds up other work: %s', async (seconds, isWaiting) => {
  await mark(call);
  await dueSince(seconds, call);
  expect(await areReadsWaiting(db)).toBe(isWaiting);
});

test('what is due is claimed oldest first, up to so many, and each once, of the kinds that are asked for', async () => {
  await mark(call, other, recordings, thread);
  await dueSince(30, other);
  await dueSince(20, recordings);
  await dueSince(10, call);
  expect(keysOf(await claimDue(db, kinds, 2)).sort()).toEqual([recordings.key, other.key]);
  expect(await claimDue(db, kinds, 2)).toMatchObject([call]);
  expect(await claimDue(db, kinds, 2)).toEqual([]);
});

test('what deliveries name alone is claimed newest first, singles before batches', async () => {
  const [first, second, third] = many(3) as [Target, Target, Target];
  await mark(...[first, second, third].map((target) => ({ ...target, priority: unconfirmed.bulk })));
  await query('update ops.sync_targets set priority = 2 where key = $1', third.key);
  await dueSince(10, second);
  await dueSince(20, first);
  await dueSince(30, third);
  const claimed = [];
  for (let at = 0; at < 3; at += 1) claimed.push(...keysOf(await claimUnconfirmed(db, kinds, 1)));
  expect(claimed).toEqual([third.key, second.key, first.key]);
});

test('a thread that is forbidden for a week is forgotten, but not what the role may not read of our own lines', async () => {
  const ours = { kind: 'thread', key: '15550008888/15551110001' } as const;
  await query(
    `insert into warehouse.sms_lines (line, content_hash, source, fetch_seq, fetched_at) values ('15550008888', '', 'test', 1, now())`,
  );
  await mark(...[thread, ours].map((target) => ({ ...target, priority: unconfirmed.single })));
  for (const claimed of await claimTargets(db, [thread, ours]))
    await settle(claimed, { state: 'forbidden', isFound: false, recheckSeconds: 86_400 });
  expect(await forgetUnconfirmed(db)).toBe(0);
  await set(`refused_at = refused_at - interval '8 days'`);
  expect(await forgetUnconfirmed(db)).toBe(1);
  expect(await stateOf(ours)).toContain('pending, forbidden');
});

describe('a parked stream', () => {
  const refusal = { reason: 'refused', missingScope: 'recordings:read' };
  const endWait = () => query('update ops.parked_kinds set parked_until = now()');

  test('gives no claims, and others do; after the wait one read is a probe, and a stream that reads again is gone', async () => {
    await mark(recordings, call);
    await parkKind(db, 'recordings', refusal);
    expect(await claimTargets(db, [recordings, call])).toMatchObject([call]);
    await endWait();
    expect(await claimDue(db, kinds, 10), 'left to its jobs').toEqual([]);
    expect(await claimTargets(db, [recordings])).toMatchObject([{ isProbe: true }]);
    await resumeKinds(db, ['recordings']);
    expect(await query('select kind from ops.parked_kinds')).toEqual([]);
  });

  test('is tried by one request every 15 seconds, so that reading soon resumes', async () => {
    for (let turn = 0; turn < 12; turn += 1) {
      await parkKind(db, 'recordings', refusal);
      const wait = await value('select round(extract(epoch from parked_until - now()))::integer from ops.parked_kinds');
      expect(wait).toBe(15);
      await endWait();
    }
  });

  test('that the same credential parked is tried at once when another one reads again', async () => {
    await parkKind(db, 'thread', { reason: 'unauthorized' });
    await parkKind(db, 'call', { reason: 'unauthorized' });
    await parkKind(db, 'recordings', refusal);
    await resumeKinds(db, ['thread']);
    expect(await query('select kind, parked_until <= now() as tries from ops.parked_kinds order by kind')).toEqual([
      { kind: 'call', tries: true },
      { kind: 'recordings', tries: false },
    ]);
  });
});

describe('the floor of what is due', () => {
  const pending = (key: string, since: string, priority: Rank = priorities.live) =>
    query(
      `insert into ops.sync_targets (kind, key, due_at, priority) values ('call', $1, now() - $2::interval, $3)`,
      ...[key, since, priority],
    );

  test('is the oldest pending target of its rank, whatever waits before it in a parked kind', async () => {
    await pending('old', '2 hours');
    await pending('history', '1 hour', priorities.history);
    await query(`insert into ops.sync_targets (kind, key, due_at) values ('users', 'all', now() - interval '1 day')`);
    await query(
      `insert into ops.parked_kinds (kind, parked_until, reason) values ('users', now() + interval '1 day', '')`,
    );
    const floor = createDueFloor(db);
    expect(floor.of(priorities.live)).toBe('-infinity');
    await floor.raise();
    const above = `select key from ops.sync_targets where due_at >= $1 and due_at < $1::timestamptz + interval '2 ms'`;
    expect(await value(above, floor.of(priorities.live))).toBe('old');
    expect(await value(above, floor.of(priorities.history))).toBe('history');
    expect(keysOf(await claimDue(db, kinds, 10, floor))).toEqual(['old']);
  });

  test('leaves room for transactions that are not committed yet', async () => {
    const floor = createDueFloor(db);
    await floor.raise();
    await pending('late', '1.5 seconds');
    expect(keysOf(await claimDue(db, kinds, 10, floor))).toEqual(['late']);
  });

  test('hides what became due below it until the next scan from the start', async () => {
    const floor = createDueFloor(db);
    await floor.raise();
    await pending('exception', '1 hour');
    await floor.raise();
    expect(await claimDue(db, kinds, 10, floor)).toEqual([]);
    const later = performance.now() + 61_000;
    using _clock = vi.spyOn(performance, 'now').mockReturnValue(later);
    await floor.raise();
    expect(keysOf(await claimDue(db, kinds, 10, floor))).toEqual(['exception']);
  });
});
