import { describe, expect, onTestFinished, test } from 'vitest';
import { createService } from '../../../src/api-client/client.ts';
import { compareUnread } from '../../../src/completeness/gaps/unread.ts';
import { missingTexts, missingTextWords } from '../../../src/completeness/gaps/unread-comparisons.ts';
import { createLog } from '../../../src/shared/log.ts';
import { readersOf } from '../../sync/readers.ts';
import { messages, threadService } from '../../sync/thread-service.ts';
import { line, openLines } from './lines.ts';

const lines = await openLines();
const { db, query, value, parts, counting, look, state, called, hold, pass, candidates, readOwed, owed } = lines;
const { askedInVain, askedAgo } = lines;

const caller = '17185559999';
const counts = (count: number) => {
  counting.counts = { [line]: count };
};
const compared = async () => {
  const found = await look();
  return found && `${found.state} ${found.reported} ${found.held}`;
};

describe('of a line that counts what nobody has read', () => {
  test('texts that people have read are not unread', async () => {
    await hold(5, { readers: [7] });
    await hold(2);
    counts(2);
    expect(await compared()).toBe('even 2 2');
  });

  test('a text that somebody marks unread, where people make texts read, is unread', async () => {
    await hold(2);
    await query('update warehouse.sms_messages set is_read = true');
    await query(
      'insert into warehouse.sms_message_reads (conversation_id, message_id, user_id) select conversation_id, message_id, 7 from warehouse.sms_messages',
    );
    expect(await compared()).toBe('even 0 0');
    await query('update warehouse.sms_messages set is_read = false where message_id = 1');
    counts(1);
    expect(await compared()).toBe('even 1 1');
  });

  test('lost texts are looked for and shown, however many others people have read; one more is looked for anew', async () => {
    await hold(5, { readers: [7, 8] });
    await called(caller);
    counts(3);
    expect(await compared()).toBe('behind 3 0');
    // A text under way is given a minute.
    expect(await candidates()).toEqual([]);
    await pass(2);
    expect(await state()).toBe('behind');
    expect(await candidates('probed_at is not null')).toEqual([`${line} ${caller}`]);
    await pass(20);
    expect(await state()).toBe('unexplained');
    expect(await missingTexts(db)).toMatchObject([{ line, missing: 3, state: 'unexplained' }]);
    counts(4);
    expect(await state()).toBe('behind');
  });

  test('as many lost as people have read are lost all the same', async () => {
    await hold(3, { readers: [7] });
    expect(await state()).toBe('even');
    counts(3);
    await pass(1);
    expect(await state()).toBe('behind');
  });

  test('a text lost in any of its threads has each of them read again once, however many there are', async () => {
    for (let at = 0; at < 120; at += 1) await hold(1);
    counts(121);
    await look();
    const reads: number[] = [];
    for (let minute = 2; minute < 6; minute += 1) {
      await pass(minute === 2 ? 2 : 1);
      expect(await state()).toBe('behind');
      const read = await query(
        `with read as (update ops.sync_targets set clean_version = dirty_version where dirty_version > clean_version returning key)
         update warehouse.sms_conversations set thread_fetched_at = clock_timestamp()
         where line || '/' || number in (select key from read) returning 1`,
      );
      reads.push(read.length);
    }
    expect(reads).toEqual([50, 50, 20, 0]);
  });

  test('reads that search for a text come one after the other, so that current ones do not wait behind them', async () => {
    for (let at = 0; at < 60; at += 1) await hold(1);
    for (let at = 0; at < 60; at += 1) await called(`17185557${100 + at}`);
    counts(61);
    await look();
    await pass(2);
    expect(await state()).toBe('behind');
    const dueWithin = (seconds: number) =>
      value(
        `select count(*)::integer from ops.sync_targets where dirty_version > clean_version and due_at < now() + $1 * interval '1 second'`,
        seconds,
      );
    expect(Number(await dueWithin(5))).toBeLessThan(15);
    expect(await dueWithin(50)).toBe(110);
  });

  test('a text whose thread the service does not let be read now is waited for, and nobody is asked', async () => {
    await called(caller);
    counts(1);
    await query(
      `insert into ops.sync_targets (kind, key, dirty_version, due_at, attempts, last_error)
       values ('thread', $1, 1, now() + interval '1 hour', 1, 'a pause')`,
      `${line}/12125550001`,
    );
    await look();
    await pass(2);
    await look();
    expect(await candidates()).toEqual([]);
    // What fails for long explains nothing.
    await query(`update ops.sync_targets set attempts = 3`);
    await look();
    expect(await candidates()).toEqual([`${line} ${caller}`]);
  });

  test('unread texts from before the mirror was made are no gap', async () => {
    counts(1);
    await look();
    await pass(20);
    counting.recent = {};
    expect(await state()).toBe('older');
    counting.recent = { [line]: 1 };
    expect(await state(), 'a text can be on its way beside them').toBe('behind');
    await pass(20);
    expect(await state()).toBe('unexplained');
  });
});

describe('who was asked for within the hour, and found to hold no conversation', () => {
  test.each([
    ['even without a call', false],
    ['after a call', true],
  ])('is asked for once more when the line misses a text, %s', async (_, hasCalled) => {
    if (hasCalled) await called(caller);
    await askedInVain(caller);
    await pass(5);
    counts(1);
    expect(await state()).toBe('behind');
    await pass(2);
    expect(await state()).toBe('behind');
    expect(await askedAgo(caller)).toBe(0);
    await pass(2);
    expect(await state()).toBe('behind');
    expect(await askedAgo(caller)).toBe(2);
  });

  test('is asked for again whenever somebody lists it while the line misses a text', async () => {
    await askedInVain(caller);
    await pass(5);
    await askedInVain(caller);
    expect(await askedAgo(caller)).toBe(5);
    counts(1);
    expect(await state()).toBe('behind');
    await askedInVain(caller);
    expect(await askedAgo(caller)).toBe(0);
  });

  test('is not asked for again on a line that was given up, which has who calls later asked for', async () => {
    await called(caller);
    await askedInVain(caller);
    counts(1);
    await look();
    await pass(16);
    expect(await state()).toBe('unexplained');
    const late = '17185559998';
    await called(late);
    await pass(60);
    expect(await state()).toBe('unexplained');
    await lines.round();
    expect(await askedAgo(late)).toBe(0);
    expect(await askedAgo(caller)).toBeGreaterThan(60);
  });
});

/* Section 2.7 promises no lines without unread texts. */
describe('a line that a service leaves out', () => {
  test('counts none: what was read elsewhere is read again', async () => {
    await hold(1);
    expect(await compared()).toBe('ahead 0 1');
    expect(await owed()).toBe(1);
  });

  test('has a text that is missed later looked for before it is given up', async () => {
    counts(1);
    expect(await state()).toBe('behind');
    await pass(20);
    counting.counts = {};
    expect(await compared()).toBe('even 0 0');
    counts(1);
    await pass(1);
    expect(await state()).toBe('behind');
  });

  test('of the counts since the mirror was made misses only older texts, and what was searched is not proposed again', async () => {
    counts(2);
    counting.recent = {};
    expect(await state()).toBe('behind');
    await pass(20);
    expect(await compared()).toBe('older 2 0');
    const words = async () => (await missingTexts(db)).map(missingTextWords).join();
    expect(await words()).toContain('backfill threads` may find them');
    await query(`insert into ops.backfills (stream, asked_from, asked_to, has_artefacts, done_until, finished_at)
      values ('threads', 'epoch', now(), false, now(), now())`);
    expect(await words()).toContain('backfill threads --numbers FILE` searches further numbers');
  });
});

describe('a thread of a line that goes on to count fewer', () => {
  test('of which nothing is found to be read waits twice as long each time, whatever its line counts', async () => {
    await hold(40);
    const reread: number[] = [];
    for (let minute = 0; minute < 80; minute += 1) {
      counts(minute % 3);
      await look();
      if ((await owed()) === 1) reread.push(minute);
      await readOwed();
      await pass(1);
    }
    expect(reread).toEqual([0, 10, 30, 70]);
  });

  test('waits some hours at most, and again once texts of it were read', async () => {
    await hold(2);
    await look();
    await readOwed();
    await query(`update warehouse.sms_conversations set unread_reread_wait = interval '11 hours'`);
    const owedAfter = async (minutes: number) => {
      await pass(minutes);
      await query('truncate warehouse.sms_unread_snapshots');
      expect(await state()).toBe('ahead');
      const pending = await owed();
      await readOwed();
      return pending;
    };
    expect([await owedAfter(670), await owedAfter(730)]).toEqual([1, 1]);
    await query('update warehouse.sms_messages set is_read = true where message_id = 1');
    expect([await owedAfter(730), await owedAfter(5), await owedAfter(6)]).toEqual([1, 0, 1]);
  });

  test('waits no longer for a read that could not be made yet', async () => {
    await hold(2);
    await look();
    await pass(11);
    await look();
    expect(await value('select unread_reread_wait::text from warehouse.sms_conversations')).toBe('00:10:00');
  });

  test('costs ever fewer reads while somebody reads a text of another thread each minute', async () => {
    const { service: shown, look: read, readAll } = await readersOf(lines).openReader();
    const [threads, texts] = [30, 3];
    const held = new Map(
      Array.from({ length: threads }, (_, at) => [
        `15551${String(at).padStart(6, '0')}`,
        messages(texts, at * 100).map((message, i) => ({ ...message, readBy: i < texts - 1 ? [7] : ([] as number[]) })),
      ]),
    );
    shown.answer = (asked) => {
      if (asked.path !== '/sms/unread')
        return threadService(() => held.get(asked.path.split('/').at(-1) ?? '') ?? [])(asked);
      const count = [...held.values()].flat().filter(({ readBy }) => readBy.length === 0).length;
      return { data: { total: count, lines: [{ line, count }] } };
    };
    const log = createLog('silent');
    const service = createService({ baseUrl: shown.url, apiKey: 'key', log, retry: { tries: 1 } });
    onTestFinished(() => service.close());
    for (const number of held.keys()) await readAll('thread', `${line}/${number}`);

    const requests: number[] = [];
    const lookAndRead = async (minutes: number) => {
      await pass(minutes);
      const before = shown.asked.length;
      const looks = await compareUnread({ ...parts, service });
      const pending = await query<{ key: string }>(
        `select key from ops.sync_targets where kind = 'thread' and dirty_version > clean_version`,
      );
      for (const { key } of pending) await read('thread', key);
      requests.push(shown.asked.length - before);
      return looks.find((each) => each.line === line);
    };
    await lookAndRead(1);
    const unread = [...held.values()].map((each) => each.at(-1));
    for (const text of unread.slice(0, 20)) {
      text?.readBy.push(7);
      await lookAndRead(1);
    }
    const sum = (from: number, to: number) => requests.slice(from, to).reduce((all, each) => all + each, 0);
    // A whole read of a thread is two requests, and each minute asks for the counts.
    expect(sum(0, 11)).toBeLessThanOrEqual(11 + 2 * 2 * threads);
    expect(sum(11, 21)).toBeLessThanOrEqual(10 + 2 * threads);
    await lookAndRead(720);
    expect(await lookAndRead(1)).toMatchObject({ reported: 10, held: 10, state: 'even' });
  });
});
