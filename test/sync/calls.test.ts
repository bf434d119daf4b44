import { describe, expect, test } from 'vitest';
import { queueSettings } from '../../config/queues.ts';
import { until } from '../world.ts';
import { callId, callService, type ShownCall, shownCall, shownRecording, shownTranscript } from './call-service.ts';
import { openReaders, whole } from './readers.ts';

const { query, value, withCall, openReader, tell } = await openReaders();

const numberOf = (id: string) => Number(id.split('.')[1]);
/** A call that was recorded, and has nothing to hear yet. */
const bare = (id: string): ShownCall => ({ call: { data: shownCall(id) } });
const callWith =
  (more: object) =>
  (id: string): ShownCall => ({ ...whole(id), call: { data: shownCall(id, more) } });
const pairing = (id: string) => value('select leg_pairing from warehouse.transcripts where call_id = $1', id);

test('a call that was not recorded settles without recordings and transcripts', async () => {
  const { readOnce, states } = await withCall(callWith({ recorded: false, status: 'missed' }));
  await readOnce();
  expect(await states()).toBe('none - none -');
});

test('a call that turns out to be recorded has its recording read, also when a search saw it first', async () => {
  const { id, service, shows, readOnce, states } = await withCall(callWith({ recorded: false }));
  await readOnce();
  expect(await states()).toBe('none - none -');
  await query('update warehouse.calls set is_recorded = true where call_id = $1', id);
  shows(bare(id));
  await readOnce();
  expect(await states()).toBe('complete 1 complete 1');
  const asked = service.asked.length;
  await readOnce();
  expect(service.asked.length).toBe(asked + 1);
});

test('a missing recording is pending at first, gone after the last look, and looked for again when its call is', async () => {
  const { id, skipTo, readAll, readOnce, read, readIfPending, shows, states } = await withCall(bare);
  await readOnce();
  expect(await states()).toBe('pending 0 -');
  skipTo(90_000);
  await readAll('recordings');
  expect(await states()).toBe('gone 0 -');
  await readAll('transcripts');
  expect(await states()).toBe('gone 0 none 0');
  shows({ recordings: whole(id).recordings });
  await read();
  expect(await readIfPending('recordings')).toBe('mirrored');
  expect(await states()).toMatch(/^complete 1/);
});

test.each(['recordings', 'transcripts'] as const)(
  '%s that are not found at a call that is held are looked for like those that are late',
  async (kind) => {
    const missing = { error: 'not_found', status: 404 } as const;
    const { id, look, read, readOnce, shows, held } = await withCall((own) => ({ ...whole(own), [kind]: missing }));
    const state = () => held(`${kind}_state`);
    await readOnce();
    expect(await state()).toBe('pending');
    shows({ [kind]: whole(id)[kind] });
    expect(await look(kind)).toBe('mirrored');
    expect(await state()).toBe('complete');
    shows({ [kind]: missing });
    await read(kind);
    expect(await state(), 'no proof of absence').toBe('complete');
  },
);

test('a recording and a transcript that come late are found at a later look', async () => {
  const { id, look, readIfPending, readOnce, shows, states } = await withCall(bare);
  await readOnce();
  shows({ recordings: whole(id).recordings });
  expect(await look('recordings')).toBe('mirrored');
  await readIfPending('transcripts');
  expect(await states()).toBe('complete 1 pending 0');
  shows({ transcripts: whole(id).transcripts });
  await look('transcripts');
  expect(await states()).toBe('complete 1 complete 1');
});

test('a recording that vanished is marked deleted and its call settles gone', async () => {
  const { id, read, readOnce, shows, states } = await withCall(whole);
  await readOnce();
  shows({ recordings: { data: [] } });
  await read('recordings');
  expect(await states()).toBe('gone 0 complete 1');
  expect(await value('select deleted_at is null from warehouse.recordings where call_id = $1', id)).toBe(false);
});

test('a transcript before its recording brings the read of recordings forward', async () => {
  const { id, read, readIfPending, readOnce, shows, states } = await withCall(bare);
  await readOnce();
  shows(whole(id));
  await read('transcripts');
  expect(await pairing(id)).toBe('none');
  expect(await readIfPending('recordings')).toBe('mirrored');
  expect(await pairing(id)).toBe('exact');
  expect(await states()).toBe('complete 1 complete 1');
});

test('a transcript of a call that was never read has the call read', async () => {
  const { read, readIfPending, states } = await withCall(whole);
  await read('transcripts');
  expect(await readIfPending('call')).toBe('mirrored');
  await readIfPending('recordings');
  await readIfPending('transcripts');
  expect(await states()).toBe('complete 1 complete 1');
});

test('call ids that are answered as bare numbers keep every digit', async () => {
  const id = `${Math.floor(Date.now() / 1000) - 40}.057900`;
  const { service, read, readIfPending } = await openReader();
  const unquoted = (data: unknown) => ({
    body: JSON.stringify({ data }).replace(/("(?:id|uniqueId|callId|calledBack)":)"(\d+\.\d+)"/g, '$1$2'),
  });
  const shown = {
    call: unquoted(shownCall(id, { calledBack: '1783385492.057910' })),
    recordings: unquoted([shownRecording(id)]),
    transcripts: unquoted([shownTranscript(9_001, id)]),
  };
  service.answer = callService(new Map([[id, shown]]));
  await read('call', id);
  for (const kind of ['recordings', 'transcripts'] as const) await readIfPending(kind, id);
  expect(await value('select called_back_call_id from warehouse.calls where call_id = $1', id)).toBe(
    '1783385492.057910',
  );
  expect(await value('select unique_id from warehouse.recordings where call_id = $1', id)).toBe(id);
  expect(await pairing(id)).toBe('exact');
});

test('a call that still lasts is looked at again', async () => {
  const { read, dueIn } = await withCall(callWith({ endTime: undefined }));
  await read();
  expect(await dueIn()).toBeGreaterThan(0);
});

test('a leg that is no longer listed is marked deleted', async () => {
  const { id, read, shows, held } = await withCall(callWith({ legs: [{ uniqueId: '1700000000.4' }] }));
  await read();
  shows(callWith({ legs: [{ uniqueId: id }] })(id));
  await read();
  const legs = `select string_agg(leg_key, ' ' order by leg_key) from warehouse.call_legs where call_id = $1 and deleted_at`;
  expect([await value(`${legs} is null`, id), await value(`${legs} is not null`, id)]).toEqual([id, '1700000000.4']);
  expect(await held('leg_count')).toBe(1);
});

test('the API is asked for so many calls at a time, however many handlers have one to read', async () => {
  const { handlers, reads } = queueSettings.calls;
  const { service, read } = await openReader();
  const gate = Promise.withResolvers<void>();
  let asking = 0;
  let most = 0;
  service.answer = async ({ path }) => {
    asking += 1;
    most = Math.max(most, asking);
    await gate.promise;
    asking -= 1;
    return { data: shownCall(path.split('/').at(-1) ?? '') };
  };
  const ends = Promise.all(Array.from({ length: handlers }, () => read('call', callId())));
  await until(() => asking === reads);
  gate.resolve();
  expect(new Set(await ends)).toEqual(new Set(['mirrored']));
  expect(most).toBe(reads);
});

test.each(['leg(1', 'a+b', 'x\0y'])('a leg whose uniqueId is %j keeps nothing else out', async (odd) => {
  const { readOnce, states } = await withCall((own) => ({
    call: { data: shownCall(own, { legs: [{ uniqueId: own }, { uniqueId: odd }] }) },
    recordings: { data: [shownRecording(own), shownRecording(odd)] },
    transcripts: { data: [shownTranscript(numberOf(own), own), shownTranscript(numberOf(own) + 700_000, odd)] },
  }));
  await readOnce();
  expect(await states()).toBe('complete 2 complete 2');
});

test('a recording of a transferred call keeps the call that was asked for beside the call id of its leg', async () => {
  const { id, readOnce } = await withCall((own) => ({
    ...whole(own),
    recordings: { data: [shownRecording(own, { callId: '1700000000.77' })] },
  }));
  await readOnce();
  expect(await value('select leg_call_id from warehouse.recordings where call_id = $1', id)).toBe('1700000000.77');
});

describe('a call of more legs than recordings', () => {
  const second = (id: string): ShownCall => ({
    recordings: { data: [shownRecording(id), shownRecording(`${id}1`)] },
    transcripts: {
      data: [shownTranscript(numberOf(id), id), shownTranscript(numberOf(id) + 300_000, `${id}1`, { callId: id })],
    },
  });
  const withLegs = (more: object = {}) =>
    withCall((id) =>
      callWith({ legs: [{ uniqueId: id }, { uniqueId: `${id}1`, bridgedFromCallId: id }], ...more })(id),
    );

  test.each([{ transferred: 0 }, { transferred: undefined }, { transferred: 1, legs: undefined }])(
    'has its recordings looked for 1, 5 and 60 minutes after its end: %o',
    async (more) => {
      const { service, skipTo, look, readOnce, states } = await withLegs(more);
      await readOnce();
      const ends: string[] = [];
      for (const at of [61, 301, 3_601, 90_000]) {
        skipTo(at);
        ends.push(await look('recordings'));
      }
      expect(ends).toEqual(['mirrored', 'mirrored', 'mirrored', 'not_pending']);
      expect(service.asked.filter(({ path }) => path.endsWith('/recordings'))).toHaveLength(4);
      expect(await states()).toBe('complete 1 complete 1');
    },
  );

  test('has a second recording and its transcript found, and is looked at no more', async () => {
    const { id, skipTo, look, readOnce, shows, states } = await withLegs();
    await readOnce();
    shows(second(id));
    skipTo(61);
    await look('recordings');
    await look('transcripts');
    expect(await states()).toBe('complete 2 complete 2');
    const pairs = `select string_agg(leg_unique_id || ' ' || leg_pairing, ', ' order by transcript_id) from warehouse.transcripts`;
    expect(await value(`${pairs} where call_id = $1`, id)).toBe(`${id} exact, ${id}1 exact`);
    expect(await look('recordings')).toBe('not_pending');
  });

  test.each([
    ['within a day', 80_000, 'mirrored'],
    ['later', 90_000, 'not_pending'],
  ] as const)('has its recordings read again when it is hinted at again %s', async (_when, at, ended) => {
    const { id, skipTo, look, read, readOnce, shows } = await withLegs();
    await readOnce();
    skipTo(4_000);
    await look('recordings');
    shows(second(id));
    skipTo(at);
    await read();
    expect(await look('recordings')).toBe(ended);
  });
});

test('a usual call costs one read of it, of its recordings and of its transcripts, however often it is looked for', async () => {
  const { service, skipTo, look, readOnce } = await withCall(whole);
  await readOnce();
  for (const at of [61, 301, 3_601, 86_401]) {
    skipTo(at);
    for (const kind of ['call', 'recordings', 'transcripts'] as const) expect(await look(kind)).toBe('not_pending');
  }
  expect(service.asked).toHaveLength(3);
});

test('an answered and recorded call that is listed without legs is read again until they come', async () => {
  const { id, skipTo, look, readOnce, shows, held } = await withCall(callWith({ legs: [] }));
  await readOnce();
  expect(await held('leg_count')).toBe(0);
  shows(bare(id));
  skipTo(11);
  expect(await look()).toBe('mirrored');
  expect(await held('leg_count')).toBe(1);
  skipTo(26);
  expect(await look()).toBe('not_pending');
});

test('a transcript without words is pending until its words or a summary of them come', async () => {
  const { id, skipTo, look, read, readOnce, shows, states } = await withCall(whole);
  const shown = (more: object) => ({ transcripts: { data: [shownTranscript(numberOf(id), id, more)] } });
  shows(shown({ segments: [] }));
  await readOnce();
  expect(await states()).toBe('complete 1 pending 1');
  shows(shown({ segments: [], shortSummary: 'A greeting' }));
  skipTo(61);
  await look('transcripts');
  expect(await states()).toBe('complete 1 complete 1');
  shows(shown({ segments: [] }));
  skipTo(90_000);
  await read('transcripts');
  expect(await states()).toBe('complete 1 complete 1');
});

describe('an event that outran the end of its call', () => {
  const lasting = { endTime: undefined, durationSeconds: 0, talkTimeSeconds: 0, recorded: false };

  test('has the call looked for soon, however long it lasted, until the end shows', async () => {
    const { id, look, readIfPending, shows, states, dueIn } = await withCall(callWith(lasting), { secondsAgo: 9_000 });
    await tell('AccountEndedCalls', { kind: 'call', key: id });
    await readIfPending('call');
    expect(await dueIn()).toBeLessThanOrEqual(1);
    shows(bare(id));
    shows(whole(id));
    await look();
    await readIfPending('recordings');
    expect(await states()).toMatch(/^complete 1/);
    expect(await dueIn()).toBeUndefined();
  });

  test('is told from one of a call that lasts', async () => {
    const { id, readIfPending, dueIn } = await withCall(callWith(lasting), { secondsAgo: 90_000 });
    await tell('AccountRealTimeCalls', { kind: 'call', key: id });
    await readIfPending('call');
    expect(await dueIn()).toBeUndefined();
  });

  test('has a call that never shows an end looked for some minutes, and its recordings as from what it lasted', async () => {
    const shown = (id: string) => ({ call: { data: shownCall(id, { endTime: undefined, durationSeconds: 4_200 }) } });
    const { id, readIfPending, dueIn } = await withCall(shown, { secondsAgo: 4_200 });
    await tell('AccountEndedCalls', { kind: 'call', key: id });
    await query(`update ops.deliveries set received_at = now() - interval '301 seconds'`);
    await readIfPending('call');
    expect(await dueIn()).toBeGreaterThan(1_000);
    await readIfPending('recordings');
    expect(await dueIn('recordings')).toBeLessThanOrEqual(60);
  });
});
