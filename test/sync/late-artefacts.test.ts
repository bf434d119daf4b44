import { afterAll, describe, expect, test } from 'vitest';
import { migratedDatabase } from '../world/database.ts';
import { deliveryAcceptor } from './accept-delivery.ts';
import { callHarness, whole } from './call-harness.ts';
import { shownCall, shownRecording, shownTranscript } from './call-service.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

const { withCall, states } = callHarness(database);

let later = 0;
/** A clock that the test moves, in seconds. */
const movable = { now: () => new Date(Date.now() + later * 1_000) };

describe('a transferred call', () => {
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
      recheckDelays: looks,
    });

  test.each([{ transferred: 0 }, { transferred: undefined }, { transferred: 1, legs: undefined }])(
    'has its recordings looked for 1, 5 and 60 minutes after its end: %o',
    async (more) => {
      later = 0;
      const { id, harness, readOnce } = await withLegs(more);
      await readOnce();
      const asked = () => harness.service.asked.filter(({ path }) => path.endsWith('/recordings')).length;
      expect(asked()).toBe(1);
      for (const [at, ended] of [
        [61, 'mirrored'],
        [301, 'mirrored'],
        [3_601, 'mirrored'],
        [90_000, 'not_pending'],
      ] as const) {
        later = at;
        await harness.pass({ kind: 'recordings', key: id });
        expect(await harness.readIfPending('recordings', id)).toBe(ended);
      }
      expect(asked()).toBe(4);
      expect(await states(id)).toMatchObject({ recordings: 'complete', recording_count: 1 });
    },
  );

  test('has a second recording and its transcript found, and is looked at no more', async () => {
    later = 0;
    const { id, harness, readOnce, shows } = await withLegs({});
    await readOnce();
    shows(second(id));
    later = 61;
    await harness.pass({ kind: 'recordings', key: id });
    await harness.readIfPending('recordings', id);
    await harness.readIfPending('transcripts', id);
    expect(await states(id)).toEqual({
      recordings: 'complete',
      recording_count: 2,
      transcripts: 'complete',
      transcript_count: 2,
    });
    expect(
      await database.query(
        `select leg_unique_id, leg_pairing from warehouse.transcripts where call_id = $1 order by transcript_id`,
        id,
      ),
    ).toEqual([
      { leg_unique_id: id, leg_pairing: 'exact' },
      { leg_unique_id: `${id}1`, leg_pairing: 'exact' },
    ]);
    await harness.pass({ kind: 'recordings', key: id });
    expect(await harness.readIfPending('recordings', id)).toBe('not_pending');
  });

  test.each([
    ['within a day', 80_000, 'mirrored'],
    ['later', 90_000, 'not_pending'],
  ] as const)('has its recordings read again when it is hinted at again %s', async (_when, at, ended) => {
    later = 0;
    const { id, harness, readOnce, shows } = await withLegs({});
    await readOnce();
    later = 4_000;
    await harness.pass({ kind: 'recordings', key: id });
    await harness.readIfPending('recordings', id);
    shows(second(id));
    later = at;
    await harness.read('call', id);
    expect(await harness.readIfPending('recordings', id)).toBe(ended);
  });
});

test('a usual call costs one read of it, of its recordings and of its transcripts, however often it is looked for', async () => {
  later = 0;
  const { id, harness, readOnce } = await withCall(whole, {
    ...movable,
    recheckDelays: [60, 120, 300, 900, 3_600, 21_600, 86_400],
  });
  await readOnce();
  for (const at of [61, 301, 3_601, 86_401]) {
    later = at;
    for (const kind of ['call', 'recordings', 'transcripts'] as const) {
      await harness.pass({ kind, key: id });
      expect(await harness.readIfPending(kind, id)).toBe('not_pending');
    }
  }
  expect(harness.service.asked).toHaveLength(3);
});

test('an answered and recorded call that is listed without legs is read again until they come', async () => {
  later = 0;
  const { id, harness, readOnce, shows } = await withCall(
    (own) => ({ ...whole(own), call: { data: shownCall(own, { legs: [] }) } }),
    movable,
  );
  const legs = () => database.value('select leg_count from warehouse.calls where call_id = $1', id);
  await readOnce();
  expect(await legs()).toBe(0);
  shows({ call: { data: shownCall(id) } });
  later = 11;
  await harness.pass({ kind: 'call', key: id });
  expect(await harness.readIfPending('call', id)).toBe('mirrored');
  expect(await legs()).toBe(1);
  later = 26;
  await harness.pass({ kind: 'call', key: id });
  expect(await harness.readIfPending('call', id)).toBe('not_pending');
});

test('a transcript without a word or a summary is pending while looks remain', async () => {
  later = 0;
  const number = (id: string) => Number(id.split('.')[1]);
  const { id, harness, readOnce, shows } = await withCall(
    (own) => ({ ...whole(own), transcripts: { data: [shownTranscript(number(own), own, { segments: [] })] } }),
    movable,
  );
  await readOnce();
  expect(await states(id)).toMatchObject({ transcripts: 'pending', transcript_count: 1 });
  shows({ transcripts: { data: [shownTranscript(number(id), id, { segments: [], shortSummary: 'A greeting' })] } });
  later = 61;
  await harness.pass({ kind: 'transcripts', key: id });
  await harness.readIfPending('transcripts', id);
  expect(await states(id)).toMatchObject({ transcripts: 'complete' });
  shows({ transcripts: { data: [shownTranscript(number(id), id, { segments: [] })] } });
  later = 121;
  await harness.read('transcripts', id);
  expect(await states(id)).toMatchObject({ transcripts: 'complete' });
});

describe('an event that outran the end of its call', () => {
  const tell = deliveryAcceptor(database);
  const lasting = { endTime: undefined, durationSeconds: 0, talkTimeSeconds: 0, recorded: false };
  const owedIn = (id: string) =>
    database.value(
      `select extract(epoch from due_at - now())::float8 from ops.sync_targets
       where kind = 'call' and key = $1 and dirty_version > clean_version`,
      id,
    );

  test('has the call looked for soon, however long it lasted, until the end shows', async () => {
    const { id, harness, shows } = await withCall(
      (own) => ({ ...whole(own), call: { data: shownCall(own, lasting) } }),
      {
        secondsAgo: 9_000,
      },
    );
    await tell('AccountEndedCalls', { kind: 'call', key: id });
    await harness.readIfPending('call', id);
    expect(await owedIn(id)).toBeLessThanOrEqual(1);
    shows({ call: { data: shownCall(id) } });
    await harness.pass({ kind: 'call', key: id });
    await harness.readIfPending('call', id);
    await harness.readIfPending('recordings', id);
    expect(await states(id)).toMatchObject({ recordings: 'complete', recording_count: 1 });
    expect(await owedIn(id)).toBeUndefined();
  });

  test('is told from one of a call that lasts', async () => {
    const { id, harness } = await withCall((own) => ({ call: { data: shownCall(own, lasting) } }), {
      secondsAgo: 9_000,
    });
    await tell('AccountRealTimeCalls', { kind: 'call', key: id });
    await harness.readIfPending('call', id);
    expect(await owedIn(id)).toBeUndefined();
  });

  test('has a call that never shows an end looked for some minutes, and its recordings as from what it lasted', async () => {
    const looks = [60, 120, 300, 900, 3_600, 21_600, 86_400];
    const { id, harness } = await withCall(
      (own) => ({ call: { data: shownCall(own, { endTime: undefined, durationSeconds: 4_200 }) } }),
      { secondsAgo: 4_200, recheckDelays: looks },
    );
    await tell('AccountEndedCalls', { kind: 'call', key: id });
    await database.query(`update ops.deliveries set received_at = now() - interval '301 seconds'`);
    await harness.readIfPending('call', id);
    expect(await owedIn(id)).toBeGreaterThan(1_000);
    await harness.readIfPending('recordings', id);
    const next = `select extract(epoch from due_at - now())::float8 from ops.sync_targets where kind = 'recordings' and key = $1`;
    expect(await database.value(next, id)).toBeLessThanOrEqual(60);
  });
});
