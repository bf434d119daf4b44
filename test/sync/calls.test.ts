import { afterAll, expect, test } from 'vitest';
import { queueSettings } from '../../config/queues.ts';
import { migratedDatabase } from '../world/database.ts';
import { until } from '../world.ts';
import { callHarness, whole } from './call-harness.ts';
import { callId, callService, shownCall, shownRecording, shownTranscript } from './call-service.ts';
import { openReaderHarness } from './reader-harness.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

const { withCall, states } = callHarness(database);

let later = 0;
/** A clock that the test moves, in seconds. */
const movable = { now: () => new Date(Date.now() + later * 1_000) };

test('a call that was not recorded settles without recordings and transcripts', async () => {
  const { id, readOnce } = await withCall((own) => ({
    call: { data: shownCall(own, { recorded: false, status: 'missed' }) },
  }));
  await readOnce();
  expect(await states(id)).toMatchObject({ recordings: 'none', transcripts: 'none' });
});

test('a call that turns out to be recorded has its recording read, also when a search saw it first', async () => {
  const { id, harness, shows, readOnce } = await withCall((own) => ({
    ...whole(own),
    call: { data: shownCall(own, { recorded: false }) },
  }));
  await readOnce();
  expect(await states(id)).toMatchObject({ recordings: 'none' });
  await database.query('update warehouse.calls set is_recorded = true where call_id = $1', id);
  shows({ call: { data: shownCall(id) } });
  await readOnce();
  expect(await states(id)).toMatchObject({ recordings: 'complete', transcripts: 'complete' });
  const asked = harness.service.asked.length;
  await readOnce();
  expect(harness.service.asked.length).toBe(asked + 1);
});

test('a missing recording is pending at first, and gone after the last look', async () => {
  later = 0;
  const { id, harness, readOnce } = await withCall((own) => ({ call: { data: shownCall(own) } }), movable);
  await readOnce();
  expect(await states(id)).toMatchObject({ recordings: 'pending' });
  later = 200;
  await harness.readAll('recordings', id);
  expect(await states(id)).toMatchObject({ recordings: 'gone' });
  await harness.readAll('transcripts', id);
  expect(await states(id)).toMatchObject({ transcripts: 'none' });
});

test.each(['recordings', 'transcripts'] as const)(
  '%s that are not found at a call that is held are looked for like those that are late',
  async (kind) => {
    later = 0;
    const missing = { error: 'not_found', status: 404 } as const;
    const { id, harness, readOnce, shows } = await withCall((own) => ({ ...whole(own), [kind]: missing }), movable);
    await readOnce();
    expect(await states(id)).toMatchObject({ [kind]: 'pending' });
    shows({ [kind]: whole(id)[kind] });
    await harness.pass({ kind, key: id });
    expect(await harness.readIfPending(kind, id)).toBe('mirrored');
    expect(await states(id)).toMatchObject({ [kind]: 'complete' });
    shows({ [kind]: missing });
    await harness.read(kind, id);
    expect(await states(id), 'no proof of absence').toMatchObject({ [kind]: 'complete' });
  },
);

test('a recording that was given up is looked for again when its call is', async () => {
  later = 0;
  const { id, harness, readOnce, shows } = await withCall((own) => ({ call: { data: shownCall(own) } }), movable);
  await readOnce();
  later = 200;
  await harness.readAll('recordings', id);
  expect(await states(id)).toMatchObject({ recordings: 'gone' });
  shows({ recordings: { data: [shownRecording(id)] } });
  await harness.read('call', id);
  expect(await harness.readIfPending('recordings', id)).toBe('mirrored');
  expect(await states(id)).toMatchObject({ recordings: 'complete', recording_count: 1 });
});

test('a recording and a transcript that come late are found at a later look', async () => {
  later = 0;
  const { id, harness, readOnce, shows } = await withCall((own) => ({ call: { data: shownCall(own) } }), movable);
  await readOnce();
  const { recordings = { data: [] }, transcripts = { data: [] } } = whole(id);
  shows({ recordings });
  await harness.pass({ kind: 'recordings', key: id });
  expect(await harness.readIfPending('recordings', id)).toBe('mirrored');
  await harness.readIfPending('transcripts', id);
  expect(await states(id)).toMatchObject({ recordings: 'complete', transcripts: 'pending' });
  shows({ transcripts });
  await harness.pass({ kind: 'transcripts', key: id });
  await harness.readIfPending('transcripts', id);
  expect(await states(id)).toMatchObject({ transcripts: 'complete' });
});

test('a recording that vanished is marked deleted and its call settles gone', async () => {
  const { id, harness, readOnce, shows } = await withCall(whole);
  await readOnce();
  shows({ recordings: { data: [] } });
  await harness.read('recordings', id);
  expect(await states(id)).toMatchObject({ recordings: 'gone', recording_count: 0 });
  expect(await database.value('select deleted_at is not null from warehouse.recordings where call_id = $1', id)).toBe(
    true,
  );
});

test('a transcript before its recording brings the read of recordings forward', async () => {
  later = 0;
  const { id, harness, readOnce, shows } = await withCall((own) => ({ call: { data: shownCall(own) } }), movable);
  await readOnce();
  const { recordings = { data: [] }, transcripts = { data: [] } } = whole(id);
  shows({ transcripts, recordings });
  await harness.read('transcripts', id);
  expect(await database.value(`select leg_pairing from warehouse.transcripts where call_id = $1`, id)).toBe('none');
  expect(await harness.readIfPending('recordings', id)).toBe('mirrored');
  expect(await database.value(`select leg_pairing from warehouse.transcripts where call_id = $1`, id)).toBe('exact');
  expect(await states(id)).toMatchObject({ recordings: 'complete', transcripts: 'complete' });
});

test('a transcript of a call that was never read has the call read', async () => {
  const { id, harness } = await withCall(whole);
  await harness.read('transcripts', id);
  expect(await harness.readIfPending('call', id)).toBe('mirrored');
  await harness.readIfPending('recordings', id);
  await harness.readIfPending('transcripts', id);
  expect(await states(id)).toMatchObject({ recordings: 'complete', transcripts: 'complete' });
});

test('call ids that are answered as bare numbers keep every digit', async () => {
  const id = `${Math.floor(Date.now() / 1000) - 40}.057900`;
  const harness = await openReaderHarness(database);
  const bare = (value: unknown) => ({
    body: JSON.stringify({ data: value }).replace(/("(?:id|uniqueId|callId|calledBack)":)"(\d+\.\d+)"/g, '$1$2'),
  });
  harness.service.answer = callService(
    new Map([
      [
        id,
        {
          call: bare(shownCall(id, { calledBack: '1783385492.057910' })),
          recordings: bare([shownRecording(id)]),
          transcripts: bare([shownTranscript(9_001, id)]),
        },
      ],
    ]),
  );
  await harness.read('call', id);
  await harness.readIfPending('recordings', id);
  await harness.readIfPending('transcripts', id);
  expect(
    await database.query('select call_id, called_back_call_id from warehouse.calls where call_id = $1', id),
  ).toEqual([{ call_id: id, called_back_call_id: '1783385492.057910' }]);
  expect(await database.value('select unique_id from warehouse.recordings where call_id = $1', id)).toBe(id);
  expect(await database.value('select leg_pairing from warehouse.transcripts where call_id = $1', id)).toBe('exact');
});

test('a call that still lasts is looked at again', async () => {
  later = 0;
  const { id, harness } = await withCall(
    (own) => ({ call: { data: shownCall(own, { endTime: undefined }) } }),
    movable,
  );
  await harness.read('call', id);
  expect(
    await database.value(
      `select dirty_version > clean_version from ops.sync_targets where kind = 'call' and key = $1`,
      id,
    ),
  ).toBe(true);
});

test('a leg that is no longer listed is marked deleted', async () => {
  const { id, harness, shows } = await withCall((own) => ({
    call: { data: shownCall(own, { legs: [{ uniqueId: own }, { uniqueId: '1700000000.5' }] }) },
  }));
  await harness.read('call', id);
  shows({ call: { data: shownCall(id, { legs: [{ uniqueId: id }] }) } });
  await harness.read('call', id);
  expect(
    await database.query(
      'select leg_key, deleted_at is not null as is_deleted from warehouse.call_legs where call_id = $1 order by ordinal',
      id,
    ),
  ).toEqual([
    { leg_key: id, is_deleted: false },
    { leg_key: '1700000000.5', is_deleted: true },
  ]);
  expect(await database.value('select leg_count from warehouse.calls where call_id = $1', id)).toBe(1);
});

test('the API is asked for so many calls at a time, however many handlers have one to read', async () => {
  const { handlers, reads } = queueSettings.calls;
  const harness = await openReaderHarness(database);
  const gate = Promise.withResolvers<void>();
  let asking = 0;
  let most = 0;
  harness.service.answer = async ({ path }) => {
    asking += 1;
    most = Math.max(most, asking);
    await gate.promise;
    asking -= 1;
    return { data: shownCall(path.split('/').at(-1) ?? '') };
  };
  const turns = Promise.all(Array.from({ length: handlers }, () => harness.read('call', callId())));
  await until(() => asking === reads);
  gate.resolve();
  expect(new Set(await turns)).toEqual(new Set(['mirrored']));
  expect(most).toBe(reads);
});

test.each(['leg(1', 'a+b', 'x\0y'])('a leg whose uniqueId is %j keeps nothing else out', async (odd) => {
  const { id, readOnce } = await withCall((own) => {
    const number = Number(own.split('.')[1]);
    return {
      call: { data: shownCall(own, { legs: [{ uniqueId: own }, { uniqueId: odd }] }) },
      recordings: { data: [shownRecording(own), shownRecording(odd)] },
      transcripts: { data: [shownTranscript(number, own), shownTranscript(number + 700_000, odd)] },
    };
  });
  await readOnce();
  expect(await states(id)).toEqual({
    recordings: 'complete',
    recording_count: 2,
    transcripts: 'complete',
    transcript_count: 2,
  });
});
