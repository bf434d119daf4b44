import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Service } from '../../../src/api-client/client.ts';
import {
  addCallers,
  addContacts,
  addNumbers,
  probe,
  probingProgress,
} from '../../../src/completeness/gaps/candidate-threads.ts';
import { createGapDetection } from '../../../src/completeness/gaps/gap-detection.ts';
import { compareUnread, type GapDetectionDeps } from '../../../src/completeness/gaps/unread.ts';
import { retryDeadlock } from '../../../src/db/database.ts';
import { createLog } from '../../../src/shared/log.ts';
import { superuserUrlOf } from '../../stores/databases.ts';
import { createWorld, until } from '../../world.ts';

const line = '16465550100';
const otherLine = '16465550101';

describe('looking for texts that no webhook announced', async () => {
  const world = await createWorld({ backend: 'redis' });
  const { context, sandbox } = world;
  const { db } = context.database;
  afterAll(() => world.close());
  beforeEach(async () => {
    await world.settled();
    // The workers' own housekeeping runs beside it.
    await retryDeadlock(() =>
      world.query(`truncate ops.thread_candidates, ops.gaps, warehouse.sms_unread_snapshots, warehouse.sms_conversations,
      warehouse.sms_messages, warehouse.calls`),
    );
    await world.query(`delete from ops.sync_targets where kind in ('thread', 'call')`);
    await until(async () => (await world.value('select count(*)::integer from warehouse.sms_lines')) === 4);
  });

  const parts: GapDetectionDeps = {
    db,
    service: context.service as Service,
    log: createLog('silent'),
    pauses: context.pauses,
    notify: context.notifier.notify,
  };
  const rounds = createGapDetection(parts);
  let sequence = 0;
  const number = () => `1212555${String(++sequence + 1_000)}`;
  /** A text that no webhook announces. */
  const lostText = (to: string, more: object = {}) =>
    sandbox.emit.sms({ line, number: to, text: 'lost', announce: false, ...more });
  const found = (to: string) =>
    world.value('select true from warehouse.sms_conversations where number = $1 and line = $2', to, line);
  const probeAll = async () => {
    context.notifier.notify((await probe(db, 1_000, { pauses: context.pauses, priority: 0 })).due);
    await world.settled();
  };

  test('a conversation with a caller is found, and one without texts leaves no row', async () => {
    const [texter, silent] = [number(), number()];
    await lostText(texter);
    for (const each of [texter, silent]) await sandbox.emit.call({ number: each, status: 'missed' });
    await world.settled();
    const day = 86_400_000;
    const period = { from: new Date(Date.now() - day), to: new Date(Date.now() + day) };
    expect(await addCallers(db, period)).toBeGreaterThanOrEqual(2);
    await probeAll();
    expect(await found(texter)).toBe(true);
    expect(await found(silent)).toBeUndefined();
    expect(await probingProgress(db)).toMatchObject({ open: 0, underWay: 0, found: 1 });
    expect(await addCallers(db, period)).toBe(0);
  });

  test('contacts are asked for on every other line, and a list on the lines that it names', async () => {
    const [contact, listed] = [number(), number()];
    await sandbox.emit.sms({ line: otherLine, number: contact });
    await lostText(contact);
    await lostText(listed);
    await world.settled();
    expect(await addContacts(db)).toBe(3);
    expect(
      await addNumbers(db, [
        { number: listed, line },
        { number: number(), line: undefined },
      ]),
    ).toBe(5);
    await probeAll();
    expect(await found(contact)).toBe(true);
    expect(await found(listed)).toBe(true);
  });

  test('a service that knows no such conversation has answered the probe', async () => {
    const silent = number();
    await addNumbers(db, [{ number: silent, line }]);
    sandbox.faults({ kind: 'answer', status: 404, operation: 'readThread' });
    context.notifier.notify((await probe(db, 10, { pauses: context.pauses })).due);
    await until(async () => (await probingProgress(db)).empty === 1);
    sandbox.faults();
    expect(await found(silent)).toBeUndefined();
    expect(await world.value(`select last_error from ops.sync_targets where key = $1`, `${line}/${silent}`)).toBeNull();
  });

  test('probes wait behind what happens now, and are bounded', async () => {
    await addNumbers(
      db,
      Array.from({ length: 30 }, () => ({ number: number(), line })),
    );
    const { probed, due } = await probe(db, 12, { pauses: context.pauses });
    expect([probed, due.length]).toEqual([12, 0]);
    expect(
      await world.value(`select count(*)::integer from ops.sync_targets where kind = 'thread' and priority = 1`),
    ).toBe(12);
    expect(await probingProgress(db)).toMatchObject({ open: 18 });
  });

  test('an unread text that is missing is looked for, and found', async () => {
    const texter = number();
    await sandbox.emit.call({ number: texter, status: 'missed', durationSeconds: 10 });
    await lostText(texter);
    await world.settled();
    const first = (await compareUnread(parts)).find((each) => each.line === line);
    expect(first?.state).toBe('behind');
    // A text under way is given a minute.
    expect(await world.value('select count(*)::integer from ops.thread_candidates')).toBe(0);
    await world.query(`update warehouse.sms_unread_snapshots set observed_at = observed_at - interval '2 minutes'`);
    await compareUnread(parts);
    await world.settled();
    await world.query(`update warehouse.sms_unread_snapshots set observed_at = observed_at - interval '2 minutes'`);
    await compareUnread(parts);
    await world.settled();
    await until(async () => (await found(texter)) === true);
  });

  test('what stays unexplained is kept with its line and time', async () => {
    await lostText(number());
    await compareUnread(parts);
    await world.query(`update warehouse.sms_unread_snapshots set observed_at = observed_at - interval '20 minutes'`);
    const compared = (await compareUnread(parts)).find((each) => each.line === line);
    expect(compared?.state).toBe('unexplained');
    const [kept] = await world.query(
      `select reported_count > held_count as is_behind from warehouse.sms_unread_snapshots where line = $1 and state = 'unexplained'`,
      line,
    );
    expect(kept).toEqual({ is_behind: true });
    await lostText(number());
    expect((await compareUnread(parts)).find((each) => each.line === line)?.state).toBe('behind');
  });

  test('unread texts from before the mirror was made are no gap', async () => {
    const stateNow = async () => (await compareUnread(parts)).find((each) => each.line === line)?.state;
    await lostText(number());
    await stateNow();
    await world.query(`update warehouse.sms_unread_snapshots set observed_at = observed_at - interval '20 minutes'`);
    await world.query('create table made as select name, applied_at from ops.migrations');
    await world.query(`update ops.migrations set applied_at = now() + interval '1 day'`);
    expect(await stateNow()).toBe('older');
    await world.query('update ops.migrations m set applied_at = made.applied_at from made where made.name = m.name');
    expect(await stateNow(), 'a text can be on its way beside them').toBe('behind');
    await world.query(`update warehouse.sms_unread_snapshots set observed_at = observed_at - interval '20 minutes'`);
    expect(await stateNow()).toBe('unexplained');
  });

  test('texts that were read elsewhere are read again', async () => {
    const [texter, quietLine] = [number(), '16465550103'];
    const { id } = await sandbox.emit.sms({ line: quietLine, number: texter, text: 'unread' });
    await world.settled();
    await (context.service as Service).conversations.markMessages(
      { line: quietLine, number: texter },
      { messageIds: [id] },
    );
    await world.query(`update ops.sync_targets set priority = 0`);
    await world.query(`update warehouse.sms_conversations set thread_fetched_at = now() - interval '2 minutes'`);
    await until(async () => {
      await compareUnread(parts);
      return (await world.value('select is_read from warehouse.sms_messages where message_id = $1', id)) === true;
    });
  });

  test('a line that goes on to count fewer has its threads read ever more seldom', async () => {
    const [texter, quietLine] = [number(), '16465550102'];
    const { id } = await sandbox.emit.sms({ line: quietLine, number: texter, text: 'unread' });
    await world.settled();
    // Nothing is read while it is looked at what is pending.
    await world.query(
      `insert into ops.streams (kind, reason, parked_until) values ('thread', 'a test', now() + interval '1 hour')`,
    );
    const address = { line: quietLine, number: texter };
    await (context.service as Service).conversations.markMessages(address, { messageIds: [id] });
    const owedAfter = async (minutes: number) => {
      // It was read to its end, as it was pending, and that was so long ago.
      await world.query(
        `update warehouse.sms_conversations set is_reread_owed = false, thread_fetched_at = now() - $1 * interval '1 minute',
           unread_reread_at = unread_reread_at - $1 * interval '1 minute'`,
        minutes,
      );
      await world.query('truncate warehouse.sms_unread_snapshots');
      expect((await compareUnread(parts)).find((each) => each.line === quietLine)?.state).toBe('ahead');
      return world.value('select bool_or(is_reread_owed) from warehouse.sms_conversations');
    };
    expect(await owedAfter(2)).toBe(true);
    expect(await owedAfter(5)).toBe(false);
    expect(await owedAfter(6)).toBe(true);
    expect(await owedAfter(15)).toBe(false);
    await world.query('delete from ops.streams');
  });

  test('a gap in the webhooks has callers asked for and the newest threads read again', async () => {
    const [known, caller] = [number(), number()];
    await sandbox.emit.sms({ line, number: known });
    await sandbox.emit.call({ number: caller, status: 'missed' });
    await world.settled();
    await lostText(known);
    await lostText(caller);
    await world.query(
      `insert into ops.gaps (stream, from_at, to_at, reason) values ('texts', now() - interval '1 hour', now(), 'a test')`,
    );
    await rounds.round();
    await until(async () => {
      await rounds.round();
      return (await found(caller)) === true;
    });
    await world.settled();
    expect(await world.value('select count(*)::integer from warehouse.sms_messages where number = $1', known)).toBe(2);
    expect(await world.value('select count(*)::integer from ops.gaps where filled_at is null')).toBe(0);
  });

  test('a gap in the webhooks has every thread read again that was alive and is not read since', async () => {
    const texters = Array.from({ length: 55 }, number);
    for (const texter of texters) await sandbox.emit.sms({ line, number: texter });
    await world.settled();
    for (const texter of texters) await lostText(texter);
    await world.query(
      `insert into ops.gaps (stream, from_at, to_at, reason) values ('texts', now() - interval '1 hour', now(), 'a test')`,
    );
    await rounds.round();
    expect(await world.value('select count(*)::integer from ops.gaps where filled_at is null')).toBe(0);
    await until(async () => (await world.value('select count(*)::integer from warehouse.sms_messages')) === 110);
  });

  test('a gap in the texts stays open while callers of its time are not known', async () => {
    await world.query(
      `insert into ops.gaps (stream, from_at, to_at, reason, next_try_at)
       select stream, now() - interval '1 hour', now(), 'a test', now() + put_off
       from (values ('texts', interval '0'), ('calls', interval '1 hour')) as g (stream, put_off)`,
    );
    const openTexts = () =>
      world.value(`select count(*)::integer from ops.gaps where stream = 'texts' and filled_at is null`);
    await rounds.round();
    expect(await openTexts()).toBe(1);
    await world.query(
      `update ops.gaps set filled_at = case when stream = 'calls' then now() end, next_try_at = now() - interval '1 second'`,
    );
    await rounds.round();
    expect(await openTexts()).toBe(0);
  });

  test('a thread is read to its end a day after its last change, once', async () => {
    const texter = number();
    for (let at = 0; at < 3; at += 1) await sandbox.emit.sms({ line, number: texter });
    await world.settled();
    const gone = await sandbox.emit.sms({ line, number: texter, text: 'to be deleted' });
    await world.settled();
    await (context.service as Service).conversations.deleteMessage({ line, number: texter }, gone.id);
    await world.query(
      `update warehouse.sms_conversations set changed_at = now() - interval '25 hours', complete_read_at = now() - interval '25 hours'`,
    );
    await rounds.round();
    await until(
      async () =>
        (await world.value(
          'select deleted_at is not null from warehouse.sms_messages where message_id = $1',
          gone.id,
        )) === true,
    );
    await world.settled();
    await rounds.round();
    expect(await world.value('select bool_or(is_reread_owed) from warehouse.sms_conversations')).toBe(false);
  });

  test('a round that meets another one in the gaps begins again', async () => {
    await world.query(
      `insert into ops.gaps (stream, from_at, to_at, reason)
       select 'texts', now() - interval '1 hour', now(), 'the gap ' || i from generate_series(1, 2) i`,
    );
    const lock = (reason: string) => other.query('select from ops.gaps where reason = $1 for update', [reason]);
    const other = new Client({ connectionString: superuserUrlOf(context.settings.databaseUrl) });
    await other.connect();
    try {
      await other.query('begin');
      await other.query(`set local deadlock_timeout = '10s'`);
      await lock('the gap 2');
      const round = rounds.round();
      // It holds the first gap and waits for the second.
      const waiting = `select count(*)::integer from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%ops.gaps%'`;
      await until(async () => (await world.value(waiting)) === 1);
      // Whoever looks first for a deadlock is ended: the round, but on a machine so slow that it looked before there was one.
      const met = lock('the gap 1').catch((error: { code?: string }) => expect(error.code).toBe('40P01'));
      await Promise.race([met, round]);
      await met;
      await other.query('commit');
      await round;
    } finally {
      await other.end();
    }
    await rounds.round();
    await world.query(`update ops.gaps set next_try_at = now() where filled_at is null`);
    await rounds.round();
    expect(await world.value('select count(*)::integer from ops.gaps where filled_at is null')).toBe(0);
  });

  test('a text whose thread the service does not let be read now is waited for, and nobody is asked', async () => {
    await sandbox.emit.call({ number: number(), status: 'missed', durationSeconds: 10 });
    await lostText(number());
    await world.settled();
    const compareLater = async () => {
      await compareUnread(parts);
      await world.query(`update warehouse.sms_unread_snapshots set observed_at = observed_at - interval '2 minutes'`);
      await compareUnread(parts);
    };
    const asked = () => world.value('select count(*)::integer from ops.thread_candidates where line = $1', line);
    await world.query(
      `insert into ops.sync_targets (kind, key, dirty_version, due_at, attempts, last_error)
       values ('thread', $1, 1, now() + interval '1 hour', 1, 'a pause')`,
      `${line}/${number()}`,
    );
    await compareLater();
    expect(await asked()).toBe(0);
    // What fails for long explains nothing.
    await world.query(`update ops.sync_targets set attempts = 3 where last_error = 'a pause'`);
    await compareLater();
    expect(await asked()).toBe(1);
  });
});
