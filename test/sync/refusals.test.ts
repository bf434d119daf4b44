import { afterAll, describe, expect, test } from 'vitest';
import { markDirty } from '../../src/inbox/targets.ts';
import { migratedDatabase } from '../world/database.ts';
import type { Reply } from '../world/service.ts';
import { deliveryAcceptor } from './accept-delivery.ts';
import { callId, callService, type ShownCall, shownCall, shownRecording } from './call-service.ts';
import { openReaderHarness } from './reader-harness.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

const tell = deliveryAcceptor(database);

async function targetOf(kind: string, key: string) {
  const [row] = await database.query(
    `select state, attempts, last_error, dirty_version > clean_version as is_owed from ops.sync_targets
     where kind = $1 and key = $2`,
    kind,
    key,
  );
  return row;
}

const isDeleted = (id: string) =>
  database.value('select deleted_at is not null from warehouse.calls where call_id = $1', id);
const endParking = () => database.query(`update ops.streams set parked_until = now()`);

async function withCall(shown: ShownCall = {}, secondsAgo = 30) {
  const id = callId(secondsAgo);
  const calls = new Map<string, ShownCall>([[id, { call: { data: shownCall(id) }, ...shown }]]);
  const harness = await openReaderHarness(database);
  const usual = callService(calls);
  harness.service.answer = usual;
  /** The next so many answers are this, then it is as usual. */
  const answersFirst = (...replies: Reply[]) => {
    harness.service.answer = (asked) => replies.shift() ?? usual(asked);
  };
  return { id, calls, harness, answersFirst };
}

const missing: Reply = { error: 'not_found', status: 404 };
const failing: Reply = { error: 'internal_error', status: 500 };

describe('a call that is not found', () => {
  test('is deleted by the third spaced read, and not before', async () => {
    const { id, calls, harness } = await withCall();
    await harness.read('call', id);
    calls.delete(id);
    expect(await harness.read('call', id)).toBe('later');
    expect(await harness.readIfPending('call', id)).toBe('not_pending');
    await harness.pass({ kind: 'call', key: id });
    expect(await harness.readIfPending('call', id)).toBe('later');
    expect(await isDeleted(id)).toBe(false);
    await harness.pass({ kind: 'call', key: id });
    expect(await harness.readIfPending('call', id)).toBe('gone');
    expect(await isDeleted(id)).toBe(true);
    expect(await targetOf('call', id)).toMatchObject({ state: 'gone', is_owed: false });
  });

  test('leaves no row when it was never seen', async () => {
    const { id, calls, harness } = await withCall();
    calls.delete(id);
    expect((await harness.readAll('call', id)).at(-1)).toBe('gone');
    expect(await database.value('select count(*)::integer from warehouse.calls where call_id = $1', id)).toBe(0);
  });

  test('is mirrored as soon as it is found again', async () => {
    const { id, calls, harness } = await withCall();
    await harness.read('call', id);
    calls.delete(id);
    await harness.readAll('call', id);
    calls.set(id, { call: { data: shownCall(id) } });
    await harness.read('call', id);
    expect(await isDeleted(id)).toBe(false);
    expect(await targetOf('call', id)).toMatchObject({ state: 'active' });
  });

  test('is given up by spaced reads where it is held, though only a delivery named it for reading', async () => {
    const { id, calls, harness } = await withCall({}, 7_200);
    await harness.read('call', id);
    calls.delete(id);
    // As a back-fill leaves it that reads no artefacts.
    await database.query('delete from ops.sync_targets where key = $1', id);
    await tell('AccountEndedCalls', { kind: 'call', key: id });
    const waits: unknown[] = [];
    for (;;) {
      await harness.pass({ kind: 'call', key: id });
      if ((await harness.readIfPending('call', id)) === 'gone') break;
      expect(await isDeleted(id)).toBe(false);
      const wait = 'select round(extract(epoch from due_at - now()))::integer from ops.sync_targets where key = $1';
      waits.push(await database.value(wait, id));
    }
    expect(waits).toEqual([1, 15, 60, 60]);
    expect(await isDeleted(id)).toBe(true);
  });

  test('is not deleted by one answer after reads that failed otherwise', async () => {
    const { id, harness, answersFirst } = await withCall();
    await harness.read('call', id);
    answersFirst(failing, failing, missing);
    for (let turn = 0; turn < 3; turn += 1) await harness.read('call', id);
    expect(await isDeleted(id)).toBe(false);
    expect(await targetOf('call', id)).toMatchObject({ state: 'active' });
  });
});

describe('a missing scope', () => {
  const refused: Reply = { error: 'insufficient_scope', status: 403, scope: 'recordings:read' };

  test('parks its stream alone, and the stream goes on when the scope is granted', async () => {
    const { id, harness, calls } = await withCall({ recordings: refused });
    await harness.read('call', id);
    expect(await harness.readIfPending('recordings', id)).toBe('parked');
    expect(await database.query('select kind, missing_scope from ops.streams')).toEqual([
      { kind: 'recordings', missing_scope: 'recordings:read' },
    ]);
    expect(await harness.readIfPending('recordings', id)).toBe('not_pending');
    expect(await harness.read('call', id)).toBe('mirrored');
    expect(await targetOf('recordings', id)).toMatchObject({ attempts: 0, is_owed: true });

    await endParking();
    expect(await harness.readIfPending('recordings', id)).toBe('parked');

    calls.set(id, { call: { data: shownCall(id) }, recordings: { data: [shownRecording(id)] } });
    await endParking();
    expect(await harness.readIfPending('recordings', id)).toBe('mirrored');
    expect(await database.query('select kind from ops.streams')).toEqual([]);
    expect(await targetOf('recordings', id)).toMatchObject({ state: 'active', is_owed: false });
  });
});

test('a refused credential parks the stream and burns nothing', async () => {
  const { id, harness, answersFirst } = await withCall();
  answersFirst({ error: 'unauthenticated', status: 401 });
  expect(await harness.read('call', id)).toBe('parked');
  expect(await targetOf('call', id)).toMatchObject({ attempts: 0, is_owed: true });
  await endParking();
  expect(await harness.readIfPending('call', id)).toBe('mirrored');
  expect(await database.query('select kind from ops.streams')).toEqual([]);
});

describe('recordings that the role may not hear', () => {
  const denied: Reply = { error: 'permission_denied', status: 403 };

  test('settle forbidden, and so do transcripts', async () => {
    const { id, harness } = await withCall({ recordings: denied, transcripts: denied });
    await harness.read('call', id);
    expect(await harness.readIfPending('recordings', id)).toBe('forbidden');
    expect(await harness.readIfPending('transcripts', id)).toBe('forbidden');
    expect(
      await database.query('select recordings_state, transcripts_state from warehouse.calls where call_id = $1', id),
    ).toEqual([{ recordings_state: 'forbidden', transcripts_state: 'forbidden' }]);
    expect(await database.query('select kind from ops.streams')).toEqual([]);
  });

  test('keep what was heard before', async () => {
    const { id, harness, calls } = await withCall();
    calls.set(id, { call: { data: shownCall(id) }, recordings: { data: [shownRecording(id)] } });
    await harness.read('call', id);
    await harness.readIfPending('recordings', id);
    calls.set(id, { call: { data: shownCall(id) }, recordings: denied });
    await harness.read('recordings', id);
    expect(
      await database.query('select deleted_at, leg_call_id from warehouse.recordings where call_id = $1', id),
    ).toEqual([{ deleted_at: null, leg_call_id: id }]);
    expect(await database.value('select recording_count from warehouse.calls where call_id = $1', id)).toBe(1);
  });

  test('still have a call read of which only a transcript was heard of', async () => {
    const { id, harness } = await withCall({ transcripts: denied });
    await harness.read('transcripts', id);
    expect(await harness.readIfPending('call', id)).toBe('mirrored');
  });
});

test.each<[string, Reply]>([
  [
    'a page of HTML with status 200',
    { body: '<html><body>Down for maintenance</body></html>', contentType: 'text/html' },
  ],
  ['JSON that is cut off', { body: '{"data":{"id":"17000' }],
  ['an envelope without data', { body: '{"result":{}}' }],
  ['data of another type', { data: ['not a call'] }],
  ['an empty body', { body: '' }],
  ['HTML with status 404', { body: '<html>not here</html>', status: 404 }],
  ['HTML with status 403', { body: '<html>blocked</html>', status: 403 }],
  ['a server error', failing],
])('%s writes nothing and is read again', async (_name, reply) => {
  const { id, harness, answersFirst } = await withCall();
  answersFirst(reply);
  expect(await harness.read('call', id)).toBe('later');
  expect(await database.value('select count(*)::integer from warehouse.calls where call_id = $1', id)).toBe(0);
  expect(await targetOf('call', id)).toMatchObject({ attempts: 1, is_owed: true, state: 'active' });
  await harness.pass({ kind: 'call', key: id });
  expect(await harness.readIfPending('call', id)).toBe('mirrored');
  expect(await targetOf('call', id)).toMatchObject({ attempts: 0, is_owed: false, last_error: null });
});

test('a target that the service calls malformed settles refused, and a new hint has it read', async () => {
  const { id, harness, answersFirst } = await withCall();
  answersFirst({ error: 'invalid_request', status: 400 });
  expect(await harness.read('call', id)).toBe('refused');
  expect(await targetOf('call', id)).toMatchObject({ state: 'refused' });
  expect(await harness.read('call', id)).toBe('mirrored');
});

test('a hint during a read leaves its target pending, and causes another read', async () => {
  const { id, harness } = await withCall();
  const usual = harness.service.answer;
  harness.service.answer = async (asked) => {
    harness.service.answer = usual;
    await markDirty(database.db, [{ kind: 'call', key: id }], { activeMs: 0, refusedMs: 0 });
    return usual(asked);
  };
  expect(await harness.read('call', id)).toBe('mirrored');
  expect(await targetOf('call', id)).toMatchObject({ is_owed: true });
  expect(harness.due).toContainEqual(expect.objectContaining({ kind: 'call', key: id }));
  expect(await harness.readIfPending('call', id)).toBe('mirrored');
  expect(await targetOf('call', id)).toMatchObject({ is_owed: false });
});

test('an address that the service repeats in a refusal is kept nowhere', async () => {
  const { id, harness, answersFirst } = await withCall();
  answersFirst({
    body: JSON.stringify({ error: { type: 'invalid_request', message: 'bad https://media.example/x?token=abc' } }),
    status: 400,
  });
  await harness.read('call', id);
  expect(JSON.stringify(await targetOf('call', id))).not.toContain('media.example');
  expect(harness.logged()).not.toContain('media.example');
});

test('a credential that is taken again ends the wait, though it may not read this', async () => {
  const harness = await openReaderHarness(database);
  harness.service.answer = () => ({ error: 'unauthenticated', status: 401 });
  expect(await harness.read('users', 'all')).toBe('parked');
  await endParking();
  harness.service.answer = () => ({ error: 'permission_denied', status: 403 });
  expect(await harness.readIfPending('users', 'all')).toBe('forbidden');
  expect(await database.query('select kind from ops.streams')).toEqual([]);
});
