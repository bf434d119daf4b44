import { afterAll, describe, expect, test } from 'vitest';
import type { Target, TargetKind } from '../../src/inbox/targets.ts';
import { migratedDatabase } from '../world/database.ts';
import type { Reply } from '../world/service.ts';
import { callHarness, whole } from './call-harness.ts';
import { openReaderHarness, type ReaderHarness } from './reader-harness.ts';
import { threadsIn } from './thread-harness.ts';
import { messages } from './thread-service.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());
const { withCall, states } = callHarness(database);
const { withThread, mirrored } = threadsIn(database);

const hour = 60;
const day = 24 * hour;
const refusals: [string, Reply][] = [
  ['403', { error: 'permission_denied', status: 403 }],
  ['400', { error: 'invalid_request', status: 400 }],
  ['410', { error: 'gone', status: 410 }],
  ['451', { error: 'unavailable_for_legal_reasons', status: 451 }],
];
const [[, denied], [, malformed]] = refusals as [[string, Reply], [string, Reply]];

/** When the next look at a target is due, in minutes after it was first refused; undefined when none is. */
async function nextRead({ kind, key }: Target): Promise<number | undefined> {
  const [target] = await database.query<{ minutes: number }>(
    `select round(extract(epoch from due_at - refused_at) / 60)::integer as minutes from ops.sync_targets
     where kind = $1 and key = $2 and dirty_version > clean_version`,
    kind,
    key,
  );
  return target?.minutes;
}

/** The time goes by until the next look, and it is taken; answers with when it was due. */
async function lookAgain(harness: ReaderHarness, target: Target): Promise<number | undefined> {
  const minutes = await nextRead(target);
  await database.query(
    `update ops.sync_targets set refused_at = refused_at - (due_at - now()), due_at = now()
     where kind = $1 and key = $2 and dirty_version > clean_version`,
    target.kind,
    target.key,
  );
  await harness.readIfPending(target.kind, target.key);
  return minutes;
}

async function looksOf(harness: ReaderHarness, target: Target, most: number): Promise<(number | undefined)[]> {
  const found: (number | undefined)[] = [];
  for (let look = 0; look < most; look += 1) found.push(await lookAgain(harness, target));
  return found;
}

describe.each(refusals)('%s of a moment', (_status, refusal) => {
  test('keeps a call out of the mirror for a minute, and no event is needed', async () => {
    const { id, harness, shows } = await withCall(() => ({ call: refusal }));
    await harness.read('call', id);
    shows(whole(id));
    expect(await lookAgain(harness, { kind: 'call', key: id })).toBe(1);
    expect(await database.value('select count(*)::integer from warehouse.calls where call_id = $1', id)).toBe(1);
  });

  test.each(['recordings', 'transcripts'] as const)('keeps %s out for a minute', async (kind) => {
    const { id, harness, shows } = await withCall((call) => ({ ...whole(call), [kind]: refusal }));
    await harness.read('call', id);
    await harness.read(kind, id);
    shows(whole(id));
    expect(await lookAgain(harness, { kind, key: id })).toBe(1);
    expect(await states(id)).toMatchObject({ [kind]: 'complete' });
  });

  test('keeps the texts of a thread out for a minute', async () => {
    const { harness, key, behave } = await withThread(messages(2));
    harness.service.answer = () => refusal;
    await harness.read('thread', key);
    behave({});
    expect(await lookAgain(harness, { kind: 'thread', key })).toBe(1);
    expect(await mirrored(key)).toEqual([1, 2]);
  });

  test.each(['users', 'lines'] as const)('keeps the %s out for a minute', async (kind) => {
    const harness = await openReaderHarness(database);
    harness.service.answer = () => refusal;
    await harness.read(kind, 'all');
    expect(await nextRead({ kind, key: 'all' })).toBe(1);
  });
});

describe('what is refused for good', () => {
  test('is asked for after a minute, ten and an hour, and then once a day', async () => {
    const { harness, key } = await withThread([]);
    harness.service.answer = () => denied;
    expect(await harness.read('thread', key)).toBe('forbidden');
    expect(await looksOf(harness, { kind: 'thread', key }, 5)).toEqual([1, 10, hour, hour + day, hour + 2 * day]);
  });

  test('is asked for ever more seldom where nobody understands it', async () => {
    const { harness, key } = await withThread([]);
    harness.service.answer = () => malformed;
    await harness.read('thread', key);
    const looks = await looksOf(harness, { kind: 'thread', key }, 8);
    expect(looks.at(-1)).toBeGreaterThan(10 * day);
  });

  test.each<TargetKind>(['call', 'recordings', 'transcripts'])(
    'costs a long history of %s hardly more than that',
    async (kind) => {
      const { id, harness } = await withCall(() => ({ call: denied, recordings: denied, transcripts: denied }), {
        secondsAgo: 30 * 86_400,
      });
      await harness.read(kind, id);
      const looks = await looksOf(harness, { kind, key: id }, 4);
      expect(looks.slice(0, 3)).toEqual([1, 10, hour]);
      expect(looks[3]).toBeGreaterThan(29 * day);
    },
  );

  test('is asked for soon again when it was shown meanwhile', async () => {
    const { harness, key, behave } = await withThread(messages(1));
    harness.service.answer = () => denied;
    await harness.read('thread', key);
    await looksOf(harness, { kind: 'thread', key }, 3);
    behave({});
    await harness.read('thread', key);
    harness.service.answer = () => denied;
    await harness.read('thread', key);
    expect(await lookAgain(harness, { kind: 'thread', key })).toBe(1);
  });
});
