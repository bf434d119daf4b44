import { afterAll, describe, expect, test } from 'vitest';
import { queueSettings } from '../../config/queues.ts';
import { migratedDatabase } from '../world/database.ts';
import { until } from '../world.ts';
import { callId, callService, type ShownCall, shownCall, shownRecording, shownTranscript } from './call-service.ts';
import { type DeskOptions, openDesk } from './desk.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

async function withCall(shown: (id: string) => ShownCall, options: DeskOptions & { secondsAgo?: number } = {}) {
  const id = callId(options.secondsAgo);
  const calls = new Map([[id, shown(id)]]);
  const desk = await openDesk(database, options);
  desk.service.answer = callService(calls);
  const shows = (change: ShownCall) => void calls.set(id, { ...calls.get(id), ...change });
  const vanishes = () => void calls.delete(id);
  /** Reads the call and all that follows from it, until nothing is owed or only later looks are. */
  const readOnce = async () => {
    await desk.read('call', id);
    await desk.turn('recordings', id);
    await desk.turn('transcripts', id);
  };
  return { id, desk, shows, vanishes, readOnce };
}

async function states(id: string) {
  const [row] = await database.query(
    `select recordings_state as recordings, recording_count, transcripts_state as transcripts, transcript_count
     from warehouse.calls where call_id = $1`,
    id,
  );
  return row;
}

const whole = (id: string): ShownCall => ({
  call: { data: shownCall(id) },
  recordings: { data: [shownRecording(id)] },
  transcripts: { data: [shownTranscript(Number(id.split('.')[1]), id)] },
});

let later = 0;
/** A clock that the test moves, in seconds. */
const movable = { now: () => new Date(Date.now() + later * 1_000) };

test('a call is mirrored with its legs, recording and transcript', async () => {
  const { id, readOnce } = await withCall(whole);
  await readOnce();
  expect(await states(id)).toEqual({
    recordings: 'complete',
    recording_count: 1,
    transcripts: 'complete',
    transcript_count: 1,
  });
  expect(await database.value('select leg_count from warehouse.calls where call_id = $1', id)).toBe(1);
});

test('a call that was not recorded settles without recordings and transcripts', async () => {
  const { id, readOnce } = await withCall((own) => ({
    call: { data: shownCall(own, { recorded: false, status: 'missed' }) },
  }));
  await readOnce();
  expect(await states(id)).toMatchObject({ recordings: 'none', transcripts: 'none' });
});

test('a call that turns out to be recorded has its recording read, also when a search saw it first', async () => {
  const { id, desk, shows, readOnce } = await withCall((own) => ({
    ...whole(own),
    call: { data: shownCall(own, { recorded: false }) },
  }));
  await readOnce();
  expect(await states(id)).toMatchObject({ recordings: 'none' });
  await database.query('update warehouse.calls set is_recorded = true where call_id = $1', id);
  shows({ call: { data: shownCall(id) } });
  await readOnce();
  expect(await states(id)).toMatchObject({ recordings: 'complete', transcripts: 'complete' });
  const asked = desk.service.asked.length;
  await readOnce();
  expect(desk.service.asked.length).toBe(asked + 1);
});

test('a missing recording is pending at first, and gone after the last look', async () => {
  later = 0;
  const { id, desk, readOnce } = await withCall((own) => ({ call: { data: shownCall(own) } }), movable);
  await readOnce();
  expect(await states(id)).toMatchObject({ recordings: 'pending' });
  later = 200;
  await desk.readAll('recordings', id);
  expect(await states(id)).toMatchObject({ recordings: 'gone' });
  await desk.readAll('transcripts', id);
  expect(await states(id)).toMatchObject({ transcripts: 'none' });
});

test('a recording and a transcript that come late are found at a later look', async () => {
  later = 0;
  const { id, desk, readOnce, shows } = await withCall((own) => ({ call: { data: shownCall(own) } }), movable);
  await readOnce();
  const { recordings = { data: [] }, transcripts = { data: [] } } = whole(id);
  shows({ recordings });
  await desk.pass({ kind: 'recordings', key: id });
  expect(await desk.turn('recordings', id)).toBe('mirrored');
  await desk.turn('transcripts', id);
  expect(await states(id)).toMatchObject({ recordings: 'complete', transcripts: 'pending' });
  shows({ transcripts });
  await desk.pass({ kind: 'transcripts', key: id });
  await desk.turn('transcripts', id);
  expect(await states(id)).toMatchObject({ transcripts: 'complete' });
});

test('a recording that vanished is marked deleted and its call settles gone', async () => {
  const { id, desk, readOnce, shows } = await withCall(whole);
  await readOnce();
  shows({ recordings: { data: [] } });
  await desk.read('recordings', id);
  expect(await states(id)).toMatchObject({ recordings: 'gone', recording_count: 0 });
  expect(await database.value('select deleted_at is not null from warehouse.recordings where call_id = $1', id)).toBe(
    true,
  );
});

test('a recording that a possibly partial answer leaves out stays held', async () => {
  const { id, desk, readOnce, shows } = await withCall(whole);
  await readOnce();
  shows({ recordings: { data: [], beside: { next: 'cursor' } } });
  await desk.read('recordings', id);
  expect(await states(id)).toMatchObject({ recordings: 'complete', recording_count: 1 });
});

test('a transcript before its recording brings the read of recordings forward', async () => {
  later = 0;
  const { id, desk, readOnce, shows } = await withCall((own) => ({ call: { data: shownCall(own) } }), movable);
  await readOnce();
  const { recordings = { data: [] }, transcripts = { data: [] } } = whole(id);
  shows({ transcripts, recordings });
  await desk.read('transcripts', id);
  expect(await database.value(`select leg_pairing from warehouse.transcripts where call_id = $1`, id)).toBe('none');
  expect(await desk.turn('recordings', id)).toBe('mirrored');
  expect(await database.value(`select leg_pairing from warehouse.transcripts where call_id = $1`, id)).toBe('exact');
  expect(await states(id)).toMatchObject({ recordings: 'complete', transcripts: 'complete' });
});

test('a transcript of a call that was never read has the call read', async () => {
  const { id, desk } = await withCall(whole);
  await desk.read('transcripts', id);
  expect(await desk.turn('call', id)).toBe('mirrored');
  await desk.turn('recordings', id);
  await desk.turn('transcripts', id);
  expect(await states(id)).toMatchObject({ recordings: 'complete', transcripts: 'complete' });
});

describe('a transferred call', () => {
  test('has both recordings and both transcripts mirrored, though the second pair comes later', async () => {
    later = 0;
    const { id, desk, readOnce, shows } = await withCall(
      (own) => ({ ...whole(own), call: { data: shownCall(own, { transferred: 1 }) } }),
      movable,
    );
    await readOnce();
    const second = callId();
    const number = Number(id.split('.')[1]);
    shows({
      recordings: { data: [shownRecording(id), shownRecording(second)] },
      transcripts: { data: [shownTranscript(number, id), shownTranscript(number + 500_000, second, { callId: id })] },
    });
    await desk.pass({ kind: 'recordings', key: id });
    await desk.turn('recordings', id);
    await desk.pass({ kind: 'transcripts', key: id });
    await desk.turn('transcripts', id);
    expect(await states(id)).toMatchObject({ recording_count: 2, transcript_count: 2 });
    expect(
      await database.query(
        `select leg_unique_id, leg_pairing from warehouse.transcripts where call_id = $1 order by transcript_id`,
        id,
      ),
    ).toEqual([
      { leg_unique_id: id, leg_pairing: 'exact' },
      { leg_unique_id: second, leg_pairing: 'exact' },
    ]);
  });

  test('keeps the call that was asked for beside the call id of its leg', async () => {
    const { id, readOnce } = await withCall((own) => ({
      ...whole(own),
      recordings: { data: [shownRecording(own, { callId: '1700000000.77' })] },
    }));
    await readOnce();
    expect(
      await database.query('select call_id, leg_call_id from warehouse.recordings where call_id = $1', id),
    ).toEqual([{ call_id: id, leg_call_id: '1700000000.77' }]);
  });
});

describe('a call of more legs than recordings', () => {
  const looks = [60, 120, 300, 900, 3_600, 21_600, 86_400];
  const legsOf = (id: string) => [{ uniqueId: id }, { uniqueId: `${id}1`, bridgedFromCallId: id }];
  const second = (id: string) => ({
    recordings: { data: [shownRecording(id), shownRecording(`${id}1`)] },
    transcripts: {
      data: [
        shownTranscript(Number(id.split('.')[1]), id),
        shownTranscript(Number(id.split('.')[1]) + 300_000, `${id}1`, { callId: id }),
      ],
    },
  });
  const withLegs = (more: object) =>
    withCall((own) => ({ ...whole(own), call: { data: shownCall(own, { legs: legsOf(own), ...more }) } }), {
      ...movable,
      looks,
    });

  test.each([{ transferred: 0 }, { transferred: undefined }, { transferred: 1, legs: undefined }])(
    'has its recordings looked for 1, 5 and 60 minutes after its end: %o',
    async (more) => {
      later = 0;
      const { id, desk, readOnce } = await withLegs(more);
      await readOnce();
      const asked = () => desk.service.asked.filter(({ path }) => path.endsWith('/recordings')).length;
      expect(asked()).toBe(1);
      for (const [at, ended] of [
        [61, 'mirrored'],
        [301, 'mirrored'],
        [3_601, 'mirrored'],
        [90_000, 'nothing_owed'],
      ] as const) {
        later = at;
        await desk.pass({ kind: 'recordings', key: id });
        expect(await desk.turn('recordings', id)).toBe(ended);
      }
      expect(asked()).toBe(4);
      expect(await states(id)).toMatchObject({ recordings: 'complete', recording_count: 1 });
    },
  );

  test('has a second recording and its transcript found, and is looked at no more', async () => {
    later = 0;
    const { id, desk, readOnce, shows } = await withLegs({});
    await readOnce();
    shows(second(id));
    later = 61;
    await desk.pass({ kind: 'recordings', key: id });
    await desk.turn('recordings', id);
    await desk.turn('transcripts', id);
    expect(await states(id)).toEqual({
      recordings: 'complete',
      recording_count: 2,
      transcripts: 'complete',
      transcript_count: 2,
    });
    await desk.pass({ kind: 'recordings', key: id });
    expect(await desk.turn('recordings', id)).toBe('nothing_owed');
  });

  test.each([
    ['within a day', 80_000, 'mirrored'],
    ['later', 90_000, 'nothing_owed'],
  ] as const)('has its recordings read again when it is hinted at again %s', async (_when, at, ended) => {
    later = 0;
    const { id, desk, readOnce, shows } = await withLegs({});
    await readOnce();
    later = 4_000;
    await desk.pass({ kind: 'recordings', key: id });
    await desk.turn('recordings', id);
    shows(second(id));
    later = at;
    await desk.read('call', id);
    expect(await desk.turn('recordings', id)).toBe(ended);
  });
});

test('a usual call costs one read of it, of its recordings and of its transcripts, however often it is looked for', async () => {
  later = 0;
  const { id, desk, readOnce } = await withCall(whole, {
    ...movable,
    looks: [60, 120, 300, 900, 3_600, 21_600, 86_400],
  });
  await readOnce();
  for (const at of [61, 301, 3_601, 86_401]) {
    later = at;
    for (const kind of ['call', 'recordings', 'transcripts'] as const) {
      await desk.pass({ kind, key: id });
      expect(await desk.turn(kind, id)).toBe('nothing_owed');
    }
  }
  expect(desk.service.asked).toHaveLength(3);
});

test('a transcript without a word or a summary is pending while looks remain', async () => {
  later = 0;
  const number = (id: string) => Number(id.split('.')[1]);
  const { id, desk, readOnce, shows } = await withCall(
    (own) => ({ ...whole(own), transcripts: { data: [shownTranscript(number(own), own, { segments: [] })] } }),
    movable,
  );
  await readOnce();
  expect(await states(id)).toMatchObject({ transcripts: 'pending', transcript_count: 1 });
  shows({ transcripts: { data: [shownTranscript(number(id), id, { segments: [], shortSummary: 'A greeting' })] } });
  later = 61;
  await desk.pass({ kind: 'transcripts', key: id });
  await desk.turn('transcripts', id);
  expect(await states(id)).toMatchObject({ transcripts: 'complete' });
  shows({ transcripts: { data: [shownTranscript(number(id), id, { segments: [] })] } });
  later = 121;
  await desk.read('transcripts', id);
  expect(await states(id)).toMatchObject({ transcripts: 'complete' });
});

test('call ids that are answered as bare numbers keep every digit', async () => {
  const id = `${Math.floor(Date.now() / 1000) - 40}.057900`;
  const desk = await openDesk(database);
  const bare = (value: unknown) => ({
    body: JSON.stringify({ data: value }).replace(/("(?:id|uniqueId|callId|calledBack)":)"(\d+\.\d+)"/g, '$1$2'),
  });
  desk.service.answer = callService(
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
  await desk.read('call', id);
  await desk.turn('recordings', id);
  await desk.turn('transcripts', id);
  expect(
    await database.query('select call_id, called_back_call_id from warehouse.calls where call_id = $1', id),
  ).toEqual([{ call_id: id, called_back_call_id: '1783385492.057910' }]);
  expect(await database.value('select unique_id from warehouse.recordings where call_id = $1', id)).toBe(id);
  expect(await database.value('select leg_pairing from warehouse.transcripts where call_id = $1', id)).toBe('exact');
});

test('a call that still lasts is looked at again', async () => {
  later = 0;
  const { id, desk } = await withCall((own) => ({ call: { data: shownCall(own, { endTime: undefined }) } }), movable);
  await desk.read('call', id);
  expect(
    await database.value(
      `select dirty_version > clean_version from ops.sync_targets where kind = 'call' and key = $1`,
      id,
    ),
  ).toBe(true);
});

test('what changed late is kept with what it was', async () => {
  const { id, desk, shows } = await withCall(whole);
  await desk.read('call', id);
  shows({ call: { data: shownCall(id, { calledBack: '1783385492.057911' }) } });
  await desk.read('call', id);
  expect(
    await database.query(
      `select field, old_value, new_value from warehouse.field_changes
       where entity_key = $1 and field = 'called_back_call_id'`,
      id,
    ),
  ).toEqual([{ field: 'called_back_call_id', old_value: null, new_value: '1783385492.057911' }]);
});

test('a leg that is no longer listed is marked deleted', async () => {
  const { id, desk, shows } = await withCall((own) => ({
    call: { data: shownCall(own, { legs: [{ uniqueId: own }, { uniqueId: '1700000000.5' }] }) },
  }));
  await desk.read('call', id);
  shows({ call: { data: shownCall(id, { legs: [{ uniqueId: id }] }) } });
  await desk.read('call', id);
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
  const desk = await openDesk(database);
  const gate = Promise.withResolvers<void>();
  let asking = 0;
  let most = 0;
  desk.service.answer = async ({ path }) => {
    asking += 1;
    most = Math.max(most, asking);
    await gate.promise;
    asking -= 1;
    return { data: shownCall(path.split('/').at(-1) ?? '') };
  };
  const turns = Promise.all(Array.from({ length: handlers }, () => desk.read('call', callId())));
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
