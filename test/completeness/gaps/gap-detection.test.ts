import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import {
  addCallers,
  addContacts,
  addNumbers,
  type CallerEvidence,
  countPendingReads,
  type Evidence,
  probe,
  probingProgress,
  rereadListedNumbers,
} from '../../../src/completeness/gaps/candidate-threads.ts';
import { superuserUrlOf } from '../../stores/databases.ts';
import { readersOf } from '../../sync/readers.ts';
import { messages, threadService } from '../../sync/thread-service.ts';
import { locksHere } from '../../world/database.ts';
import { notFound } from '../../world/service.ts';
import { until } from '../../world.ts';
import { line, openLines, otherLine } from './lines.ts';

const lines = await openLines();
const { db, query, value, called, hold, gap, openGaps, round, candidates, owed } = lines;

const caller = '12125550001';
const period = { from: new Date(Date.now() - 86_400_000), to: new Date(Date.now() + 60_000) };
const ofBoth = (number: string) => [`${line} ${number}`, `${otherLine} ${number}`];

describe('the callers of a period', () => {
  const [ofExtension, withThread] = ['12125550002', '12125550004'];

  test.each<[string, CallerEvidence['line'], string[]]>([
    [
      'every line',
      undefined,
      [...ofBoth(caller), ...ofBoth(ofExtension), `${line} ${withThread}`, `${line} ${otherLine}`],
    ],
    ['one line', otherLine, [`${otherLine} ${caller}`, `${otherLine} ${ofExtension}`]],
    [
      'the called line, or every line where that cannot text',
      'called',
      [`${line} ${caller}`, ...ofBoth(ofExtension), `${line} ${withThread}`, `${line} ${otherLine}`],
    ],
  ])('are asked for on %s, but where a conversation is held', async (_, asked, pairs) => {
    await called(caller);
    await called(ofExtension, '3 minutes', '18005550199');
    await called('12125550003', '3 days');
    await called(withThread);
    await called(otherLine);
    await hold(1, { of: otherLine, number: withThread });
    expect(await addCallers(db, period, asked === undefined ? {} : { line: asked })).toBe(pairs.length);
    expect(await candidates()).toEqual(pairs.sort());
    expect(await addCallers(db, period), 'once').toBe(asked === undefined ? 0 : 6 - pairs.length);
  });
});

test('contacts are asked for on every other line, and a list on the lines that it names', async () => {
  const contact = await hold(1, { of: otherLine });
  expect(await addContacts(db)).toBe(1);
  expect(
    await addNumbers(db, [
      { number: caller, line },
      { number: '12125550002', line: undefined },
    ]),
  ).toBe(3);
  expect(await candidates()).toEqual([`${line} ${caller}`, ...ofBoth('12125550002'), `${line} ${contact}`].sort());
});

describe('a probe', () => {
  test.each([
    ['finds a conversation', threadService(() => messages(2)), { found: 1, empty: 0, underWay: 0 }],
    ['finds none, of which no row is left', threadService(() => []), { found: 0, empty: 1, underWay: 0 }],
    ['is answered by a service that knows no such conversation', () => notFound, { found: 0, empty: 1, underWay: 0 }],
  ])('%s', async (_, answer, expected) => {
    const { service, look } = await readersOf(lines).openReader();
    service.answer = answer;
    await addNumbers(db, [{ number: caller, line }]);
    await probe(db, 10);
    expect(await probingProgress(db)).toMatchObject({ open: 0, underWay: 1 });
    expect(await look('thread', `${line}/${caller}`)).toBe('mirrored');
    expect(await probingProgress(db)).toMatchObject(expected);
    expect(await value('select count(*)::integer from warehouse.sms_conversations')).toBe(expected.found);
    expect(await value(`select last_error from ops.sync_targets`)).toBeNull();
  });

  test('waits behind what happens now, and so many are made at a time', async () => {
    const listed = Array.from({ length: 30 }, (_, at) => ({ number: `121255501${at + 10}`, line }));
    await addNumbers(db, listed);
    const { probed, due } = await probe(db, 12);
    expect([probed, due.length]).toEqual([12, 0]);
    const pending = `select count(*)::integer from ops.sync_targets where kind = 'thread' and priority = 1`;
    expect(await value(pending)).toBe(12);
    expect(await probingProgress(db)).toMatchObject({ open: 18 });
  });

  test('is repeated for a number that is listed again an hour later, and not before', async () => {
    const listAgain = () => addNumbers(db, [{ number: caller, line }]);
    await lines.askedInVain(caller);
    await lines.pass(59);
    expect(await listAgain()).toBe(0);
    await lines.pass(2);
    expect(await listAgain()).toBe(1);
  });
});

describe('a number of a list whose thread is held', () => {
  const key = `${line}/${caller}`;
  const reread = () => rereadListedNumbers(db, [{ line, number: caller }], { max: 10 });
  const underWay = async ({ pending }: Awaited<ReturnType<typeof reread>>) =>
    (await countPendingReads(db, pending)) + (await probingProgress(db)).underWay;

  test('has had its read when it was read and is looked at again later', async () => {
    await hold(1, { number: caller });
    const asked = await reread();
    expect(await underWay(asked)).toBe(1);
    await query(
      `update ops.sync_targets set clean_version = dirty_version, dirty_version = dirty_version + 1, read_at = now(),
         due_at = now() + interval '15 minutes'`,
    );
    expect(await underWay(asked)).toBe(0);
  });

  test('waits for its next read like any other when it was found by asking, and counts once', async () => {
    await hold(1, { number: caller });
    await query(
      `insert into ops.thread_candidates (line, number, evidence, probed_at) values ($1, $2, 'import', now() - interval '1 day')`,
      ...[line, caller],
    );
    await query(
      `insert into ops.sync_targets (kind, key, clean_version, claimed_version, dirty_version, read_at)
       values ('thread', $1, 1, 1, 1, now() - interval '1 hour')`,
      key,
    );
    const asked = await reread();
    expect(await underWay(asked)).toBe(1);
    await query('update ops.sync_targets set attempts = 1');
    expect(await underWay(asked)).toBe(1);
  });
});

describe('who was erased', () => {
  const [erased, other] = ['12125558888', '12125557777'];
  const callers = (evidence: Evidence) => () => addCallers(db, period, { evidence, line });

  test.each<[Evidence, () => Promise<number>]>([
    [
      'import',
      () =>
        addNumbers(
          db,
          [erased, other].map((number) => ({ number, line })),
        ),
    ],
    ['contact', () => addContacts(db)],
    ['call', callers('call')],
    ['gap', callers('gap')],
    ['unread', callers('unread')],
  ])('is no candidate by evidence of kind %s', async (evidence, add) => {
    await query('insert into ops.erasures (number_hash) values (ops.erasure_hash($1))', erased);
    // What was held when the erasure began may still be read by a transaction that began before.
    for (const number of [erased, other]) {
      await called(number);
      await hold(1, { of: otherLine, number });
    }
    expect(await add()).toBe(1);
    expect(await candidates(`evidence = '${evidence}'`)).toEqual([`${line} ${other}`]);
  });

  test('is erased after a search that may not know of it', async () => {
    const held = `select exists (select from ${locksHere} where relation = 'ops.erasures'::regclass and mode = 'RowShareLock')`;
    const isHeldOff = async () => (await value(held)) === true;
    expect(await isHeldOff()).toBe(false);
    const elsewhere = await lines.pool.connect();
    try {
      await elsewhere.query('begin');
      const pair = 'insert into ops.thread_candidates (line, number, evidence) values ($1, $2, $3)';
      await elsewhere.query(pair, [line, other, 'call']);
      const search = addNumbers(db, [{ number: other, line }]);
      await until(isHeldOff);
      await elsewhere.query('commit');
      await search;
    } finally {
      elsewhere.release();
    }
  });
});

describe('a gap in the webhooks of texts', () => {
  test('has callers asked for, every thread read again that was alive and is not read since, and is closed', async () => {
    for (let at = 0; at < 55; at += 1) await hold(1);
    await called(caller);
    await gap('texts');
    await round();
    expect(await candidates('probed_at is not null')).toEqual([`${line} ${caller}`]);
    expect(await openGaps()).toBe(0);
    const pending = `select priority, count(*)::integer as threads from ops.sync_targets where kind = 'thread' group by 1 order by 1`;
    // The 50 newest of the line at once, then the others and the caller.
    expect(await query(pending)).toEqual([
      { priority: 0, threads: 50 },
      { priority: 1, threads: 6 },
    ]);
  });

  test('stays open while callers of its time are not known', async () => {
    await gap('texts', 'calls');
    await round();
    expect(await openGaps()).toBe(1);
    await query(
      `update ops.gaps set filled_at = case when stream = 'calls' then now() end, next_try_at = now() - interval '1 second'`,
    );
    await round();
    expect(await openGaps()).toBe(0);
  });

  test('has who was asked for within the hour asked once more, and not again each time that it is searched', async () => {
    await called(caller);
    await lines.askedInVain(caller);
    await lines.pass(5);
    // The calls of the time are looked for still, so the gap is looked into more than once.
    await gap('texts', 'calls');
    await query(`update ops.gaps set from_at = now() - interval '4 minutes', to_at = now() - interval '1 minute'`);
    await round();
    expect(await lines.askedAgo(caller)).toBe(0);
    await lines.pass(3);
    await query(`update ops.gaps set to_at = to_at - interval '3 minutes', next_try_at = now() where stream = 'texts'`);
    await round();
    expect(await lines.askedAgo(caller)).toBe(3);
    expect(await openGaps()).toBe(1);
  });

  test('is searched again where two rounds met in the gaps', async () => {
    await gap('texts', 'texts');
    await query(`update ops.gaps set reason = 'gap ' || gap_id - (select min(gap_id) from ops.gaps)`);
    const other = new Client({ connectionString: superuserUrlOf(lines.url) });
    const lock = (reason: string) => other.query('select from ops.gaps where reason = $1 for update', [reason]);
    await other.connect();
    try {
      await other.query('begin');
      await other.query(`set local deadlock_timeout = '10s'`);
      await lock('gap 1');
      const rounds = round();
      // It holds the first gap and waits for the second.
      const waiting = `select count(*)::integer from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%ops.gaps%'`;
      await until(async () => (await value(waiting)) === 1);
      // Whoever looks first for a deadlock is ended: the round, but on a machine so slow that it looked before there was one.
      const met = lock('gap 0').catch((error: { code?: string }) => expect(error.code).toBe('40P01'));
      await Promise.race([met, rounds]);
      await met;
      await other.query('commit');
      await rounds;
    } finally {
      await other.end();
    }
    await query('update ops.gaps set next_try_at = now() where filled_at is null');
    await round();
    expect(await openGaps()).toBe(0);
  });
});

test('a thread is read to its end a day after its last change, once', async () => {
  await hold(3);
  await query(
    `update warehouse.sms_conversations set changed_at = now() - interval '25 hours', complete_read_at = now() - interval '25 hours'`,
  );
  await round();
  expect(await owed()).toBe(1);
  await query('update warehouse.sms_conversations set is_reread_owed = false, complete_read_at = now()');
  await round();
  expect(await owed()).toBe(0);
});
