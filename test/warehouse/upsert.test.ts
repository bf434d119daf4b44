import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { calls } from '../../src/warehouse/calls.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { smsMessages } from '../../src/warehouse/messages.ts';
import { transcripts } from '../../src/warehouse/transcripts.ts';
import { type Row, upsert } from '../../src/warehouse/upsert.ts';
import { users as listOfUsers } from '../../src/warehouse/users.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { migratedDatabase } from '../world/database.ts';
import { callReads, ignored, readNumber, textsRead } from './reads.ts';

const users = listOfUsers.table;

const database = await migratedDatabase();

let keys = 0;
const freshKey = () => 1_000 + keys++;

const transaction: ReturnType<typeof database.db.transaction>['execute'] = (work) =>
  database.db.transaction().execute(work);

async function write(fetchSeq: number, ...rows: Row<typeof users.columns>[]): Promise<void> {
  const reads = rows.map((row) => ({ row, read: readNumber(fetchSeq) }));
  await transaction((tx) => upsert(tx, users, reads));
}

/** The row, with its times as text: two writes within one millisecond are equal as dates. */
async function user(id: number) {
  const [row] = await database.query<Record<string, unknown>>(
    'select *, fetched_at::text, changed_at::text from warehouse.users where user_id = $1',
    id,
  );
  return row;
}

test('ends with the newest content, in whatever order and batches the reads are written', async () => {
  const batch = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 });
  const batches = fc.array(batch, { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(batches, async (written) => {
      const id = freshKey();
      for (const batch of written) {
        const reads = batch.map((seq) => ({ row: { user_id: id, title: `as of ${seq}` }, read: readNumber(seq) }));
        await transaction((tx) => upsert(tx, users, reads));
      }
      const newest = Math.max(...written.flat());
      expect(await user(id)).toMatchObject({ title: `as of ${newest}`, fetch_seq: String(newest) });
    }),
    { numRuns: 60 },
  );
});

test('an equal read moves fetched_at, and not changed_at', async () => {
  const id = freshKey();
  await write(1, { user_id: id, title: 'Agent' });
  const first = await user(id);
  await write(2, { user_id: id, title: 'Agent' });
  const second = await user(id);
  expect(second?.changed_at).toEqual(first?.changed_at);
  expect(second?.fetched_at).not.toEqual(first?.fetched_at);
  await write(3, { user_id: id, title: 'Lead' });
  expect((await user(id))?.changed_at).not.toEqual(first?.changed_at);
});

test('a row that is listed again is no longer deleted, and that is a change', async () => {
  const id = freshKey();
  await write(1, { user_id: id });
  await database.query(`update warehouse.users set deleted_at = now(), deleted_reason = 'test' where user_id = $1`, id);
  const before = await user(id);
  await write(2, { user_id: id });
  expect(await user(id)).toMatchObject({ deleted_at: null, deleted_reason: null });
  expect((await user(id))?.changed_at).not.toEqual(before?.changed_at);
});

test('a text that is listed again as it was is no longer deleted', async () => {
  const row = { conversation_id: 79, message_id: 1, line: '15550000001', number: '15550000002', body: 'hello' };
  const list = (fetchSeq: number) =>
    transaction((tx) => upsert(tx, smsMessages, [{ row, read: readNumber(fetchSeq) }], ['body']));
  await list(1);
  await database.query(`update warehouse.sms_messages set deleted_at = now() where conversation_id = 79`);
  expect(await list(2), 'a change').toEqual([{ before: { body: 'hello' }, after: { body: 'hello' } }]);
  expect(await database.value('select deleted_at from warehouse.sms_messages where conversation_id = 79')).toBeNull();
  expect(await list(3)).toEqual([]);
});

test('an older read moves nothing, and does not bring a deleted row back', async () => {
  const id = freshKey();
  await write(5, { user_id: id, title: 'Lead' });
  for (const change of ['title = title', 'deleted_at = now()']) {
    await database.query(`update warehouse.users set ${change} where user_id = $1`, id);
    const before = await user(id);
    await write(4, { user_id: id, title: 'Agent' });
    expect(await user(id)).toEqual(before);
  }
});

test('what is not reported or beyond its column stays NULL, and zero, false and empty text stay what they are', async () => {
  const names = ['status_code', 'talk_seconds', 'is_recorded', 'caller_name', 'duration_seconds', 'repeated_count'];
  const given = [
    [undefined, undefined, undefined, undefined, undefined, undefined],
    [0, 0, false, '', 2 ** 31 - 1, 0],
    [70_000, 2 ** 31, undefined, undefined, 1.5, Number.NaN],
  ];
  const rows = given.map((values, at) => ({
    row: { call_id: `1700000001.${at}`, ...Object.fromEntries(values.map((value, nth) => [names[nth], value])) },
    read: readNumber(1),
  }));
  await transaction((tx) => upsert(tx, calls, rows));
  const held = await database.query<Record<string, unknown>>(
    `select ${names.join(', ')} from warehouse.calls where call_id like '1700000001.%' order by call_id`,
  );
  const none = names.map(() => null);
  expect(held.map((row) => names.map((name) => row[name]))).toEqual([none, given[1], none]);
});

test('a call that was not recorded has no recordings, unless a read of recordings says otherwise', async () => {
  const id = '1700000003.1';
  const write = (fetchSeq: number, row: object) =>
    transaction((tx) => writeCalls(tx, ignored, callReads(fetchSeq, { id, ...row })));
  const state = () => database.value('select recordings_state from warehouse.calls where call_id = $1', id);
  await write(1, {});
  expect(await state()).toBeNull();
  await write(2, { recorded: false });
  expect(await state()).toBe('none');
  await database.query(`update warehouse.calls set recordings_state = 'complete' where call_id = $1`, id);
  await write(3, { recorded: false });
  await write(4, {});
  expect(await state()).toBe('complete');
});

describe('what a read lacks', () => {
  const key = { conversation_id: 78, message_id: 1, line: '15550000001', number: '15550000002' };
  const write = (fetchSeq: number, row: Partial<Row<typeof smsMessages.columns>>) =>
    transaction((tx) => upsert(tx, smsMessages, [{ read: readNumber(fetchSeq), row: { ...key, ...row } }]));
  const held = async () => {
    const [row] = await database.query<Record<string, unknown>>(
      'select *, fetched_at::text, changed_at::text from warehouse.sms_messages where conversation_id = 78',
    );
    return row;
  };
  const whole = {
    ...{ direction: 'out', body: 'hello', is_read: false, scheduled_at: '2030-01-01T00:00:00.000Z' },
    ...{ delivery_status: 'failed', delivery_error: 'unreachable' },
  };

  test('takes nothing away that is kept, and is no change', async () => {
    await write(1, whole);
    const before = await held();
    await write(2, { ...whole, direction: null, body: undefined, delivery_status: null, delivery_error: null });
    const ofRead = { fetch_seq: '2', fetched_at: expect.any(String), content_hash: expect.any(String) };
    expect(await held()).toEqual({ ...before, ...ofRead });
    await write(3, whole);
    expect((await held())?.changed_at).toEqual(before?.changed_at);
  });

  test('does not hide what changes beside it, nor does its return count as another change', async () => {
    const before = await held();
    await write(4, { ...whole, body: undefined, is_read: true });
    const after = await held();
    expect(after).toMatchObject({ body: 'hello', is_read: true });
    expect(after?.changed_at).not.toEqual(before?.changed_at);
    await write(5, { ...whole, is_read: true });
    expect((await held())?.changed_at).toEqual(after?.changed_at);
  });

  test('is taken away where it was said together with what is said again, and where it is not kept', async () => {
    await write(6, { ...whole, is_read: true, delivery_status: 'delivered', delivery_error: null, scheduled_at: null });
    expect(await held()).toMatchObject({ delivery_status: 'delivered', delivery_error: null, scheduled_at: null });
  });
});

test('a text is scheduled while the service says so, and sent when an answer no longer says it', async () => {
  const answers = [{ scheduled: true }, {}, { scheduled: null }, { scheduled: false }];
  const found: { is_scheduled: boolean; changed_at: string }[] = [];
  const held = `select is_scheduled, changed_at::text from warehouse.sms_messages where number = '15550000009'`;
  for (const [at, flags] of answers.entries()) {
    const read = textsRead(at + 1, [{ id: 1, text: 'hello', ...flags }], '15550000009');
    await transaction((tx) => writeThreads(tx, ignored, [read]));
    found.push(...(await database.query<(typeof found)[number]>(held)));
  }
  expect(found.map((row) => row.is_scheduled)).toEqual([true, false, false, false]);
  expect(new Set(found.slice(1).map((row) => row.changed_at)).size).toBe(1);
});

test('NUL and half characters in a text are replaced, and the rest of the text is kept', async () => {
  const id = freshKey();
  await write(1, { user_id: id, title: 'a\0b', company: 'half \ud83d, whole \u{1f600}' });
  expect(await user(id)).toMatchObject({ title: 'a\ufffdb', company: 'half \ufffd, whole \u{1f600}' });
});

test.each([['\u001d'], ['\u001e'], ['\u001f'], ['a\u001eb\u001f'], [''], ['\u001e\u001e'], ['\u001d\u001e\u001d']])(
  'the text %j is kept as it is, beside any other',
  async (title) => {
    const titles = new Map([
      [freshKey(), title],
      [freshKey(), 'plain'],
      [freshKey(), undefined],
    ]);
    await write(1, ...Array.from(titles, ([user_id, title]) => ({ user_id, title })));
    await write(1, { user_id: freshKey(), title });
    for (const [id, written] of titles) expect((await user(id))?.title).toBe(written ?? null);
  },
);

test('arrays of any texts come back as they went', async () => {
  let id = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme', maxLength: 12 }), { maxLength: 5 }), async (points) => {
      id += 1;
      const written = points.map((point) => point.replaceAll('\0', ' '));
      const row = { transcript_id: id, call_id: '1700000003.1', bullet_points: written };
      await transaction((tx) => upsert(tx, transcripts, [{ read: readNumber(1), row }]));
      const held = 'select bullet_points from warehouse.transcripts where transcript_id = $1';
      expect(await database.value(held, id)).toEqual(written);
    }),
    { numRuns: 60, examples: [[['"', '\\', '{}', ',', 'NULL', 'null', '', ' ', '\n', '\\"', "'", '{"a","b"}']]] },
  );
});

test('a receipt is appended when it first comes and whenever it changes', async () => {
  const write = (fetchSeq: number, status?: string, text = 'hello') => {
    const row = { id: 77, direction: 'out', text, delivery: status === undefined ? undefined : { status } };
    return transaction((tx) => writeThreads(tx, ignored, [textsRead(fetchSeq, [row], '15550000077', false)]));
  };
  const statuses = () =>
    database.value(`
      select coalesce(array_agg(delivery_status order by observed_at), '{}') from warehouse.sms_message_delivery_events
      where message_id = 77`);
  await write(1);
  expect(await statuses()).toEqual([]);
  await write(2, 'queued');
  await write(3, 'queued');
  await write(4, 'queued', 'edited');
  expect(await statuses()).toEqual(['queued']);
  await write(5, 'delivered');
  await write(4, 'queued');
  expect(await statuses()).toEqual(['queued', 'delivered']);
  // One answer lacks it, and the next has it again.
  await write(6);
  await write(7, 'delivered');
  expect(await statuses()).toEqual(['queued', 'delivered']);
});
