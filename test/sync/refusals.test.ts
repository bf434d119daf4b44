import { beforeEach, describe, expect, test } from 'vitest';
import { markDirty, type TargetKind } from '../../src/inbox/targets.ts';
import { notFound, type Reply } from '../world/service.ts';
import { shownCall } from './call-service.ts';
import { openReaders, whole } from './readers.ts';
import { messages } from './thread-service.ts';

const { db, query, value, withCall, withThread, openReader, tell } = await openReaders();
beforeEach(() => query('truncate ops.parked_kinds'));

const denied: Reply = { error: 'permission_denied', status: 403 };
const malformed: Reply = { error: 'invalid_request', status: 400 };
const failing: Reply = { error: 'internal_error', status: 500 };
const alone = (id: string) => ({ call: { data: shownCall(id) } });

const parked = async () => (await query<{ kind: string }>('select kind from ops.parked_kinds')).map(({ kind }) => kind);
const endParking = () => query('update ops.parked_kinds set parked_until = now()');

describe('a call that is not found', () => {
  test('is deleted by the third spaced read, and not before', async () => {
    const { read, look, readIfPending, vanishes, held, target } = await withCall(alone);
    await read();
    vanishes();
    expect([await read(), await readIfPending('call'), await look()]).toEqual(['later', 'not_pending', 'later']);
    expect(await held('deleted_at')).toBeNull();
    expect(await look()).toBe('gone');
    expect(await held('deleted_at')).not.toBeNull();
    expect(await target()).toBe('gone 0');
  });

  test('leaves no row when it was never seen', async () => {
    const { readAll, vanishes, held } = await withCall(alone);
    vanishes();
    expect((await readAll()).at(-1)).toBe('gone');
    expect(await held('call_id')).toBeUndefined();
  });

  test('is mirrored as soon as it is found again', async () => {
    const { id, read, readAll, shows, vanishes, held, target } = await withCall(alone);
    await read();
    vanishes();
    await readAll();
    shows(alone(id));
    await read();
    expect(await held('deleted_at')).toBeNull();
    expect(await target()).toBe('active 0');
  });

  test('is given up by spaced reads where it is held, though only a delivery named it for reading', async () => {
    const { id, read, look, vanishes, held, dueIn } = await withCall(alone, { secondsAgo: 7_200 });
    await read();
    vanishes();
    // As a back-fill leaves it that reads no artefacts.
    await query('delete from ops.sync_targets where key = $1', id);
    await tell('AccountEndedCalls', { kind: 'call', key: id });
    const waits: number[] = [];
    while ((await look()) !== 'gone') {
      expect(await held('deleted_at')).toBeNull();
      waits.push(Math.round((await dueIn()) ?? 0));
    }
    expect(waits).toEqual([1, 15, 60, 60]);
    expect(await held('deleted_at')).not.toBeNull();
  });

  test('is not deleted by one answer after reads that failed otherwise', async () => {
    const { read, answersFirst, held, target } = await withCall(alone);
    await read();
    answersFirst(failing, failing, notFound);
    for (let time = 0; time < 3; time += 1) await read();
    expect(await held('deleted_at')).toBeNull();
    expect(await target()).toMatch(/^active/);
  });
});

test('a missing scope parks its stream alone, and the stream goes on when the scope is granted', async () => {
  const scope = 'recordings:read';
  const recordings: Reply = { error: 'insufficient_scope', status: 403, scope };
  const { id, read, readIfPending, shows, target } = await withCall((own) => ({ ...alone(own), recordings }));
  await read();
  expect(await readIfPending('recordings')).toBe('parked');
  expect(await query('select kind, missing_scope as scope from ops.parked_kinds')).toEqual([
    { kind: 'recordings', scope },
  ]);
  expect(await readIfPending('recordings')).toBe('not_pending');
  expect(await read()).toBe('mirrored');
  expect(await target('recordings')).toBe('active 0 pending');

  await endParking();
  expect(await readIfPending('recordings')).toBe('parked');
  shows(whole(id));
  await endParking();
  expect(await readIfPending('recordings')).toBe('mirrored');
  expect(await parked()).toEqual([]);
  expect(await target('recordings')).toBe('active 0');
});

test('a refused credential parks the stream and burns nothing', async () => {
  const { read, readIfPending, answersFirst, target } = await withCall(alone);
  answersFirst({ error: 'unauthenticated', status: 401 });
  expect(await read()).toBe('parked');
  expect(await target()).toBe('active 0 pending');
  await endParking();
  expect(await readIfPending('call')).toBe('mirrored');
  expect(await parked()).toEqual([]);
});

test('a credential that is taken again ends the wait, though it may not read this', async () => {
  const { service, read, readIfPending } = await openReader();
  service.answer = () => ({ error: 'unauthenticated', status: 401 });
  expect(await read('users', 'all')).toBe('parked');
  await endParking();
  service.answer = () => denied;
  expect(await readIfPending('users', 'all')).toBe('forbidden');
  expect(await parked()).toEqual([]);
});

describe('recordings that the role may not hear', () => {
  test('settle forbidden, and so do transcripts', async () => {
    const { read, readIfPending, states } = await withCall((id) => ({
      ...alone(id),
      ...{ recordings: denied, transcripts: denied },
    }));
    await read();
    expect([await readIfPending('recordings'), await readIfPending('transcripts')]).toEqual(['forbidden', 'forbidden']);
    expect(await states()).toBe('forbidden - forbidden -');
    expect(await parked()).toEqual([]);
  });

  test('keep what was heard before', async () => {
    const { id, readOnce, read, shows, held } = await withCall(whole);
    await readOnce();
    shows({ recordings: denied });
    await read('recordings');
    const recording = 'select leg_call_id from warehouse.recordings where deleted_at is null and call_id = $1';
    expect(await value(recording, id)).toBe(id);
    expect(await held('recording_count')).toBe(1);
  });

  test('still have a call read of which only a transcript was heard of', async () => {
    const { read, readIfPending } = await withCall((id) => ({ ...alone(id), transcripts: denied }));
    await read('transcripts');
    expect(await readIfPending('call')).toBe('mirrored');
  });
});

test.each<[string, Reply]>([
  ['a page of HTML with status 200', { body: '<html><body>Maintenance</body></html>', contentType: 'text/html' }],
  ['JSON that is cut off', { body: '{"data":{"id":"17000' }],
  ['an envelope without data', { body: '{"result":{}}' }],
  ['data of another type', { data: ['not a call'] }],
  ['an empty body', { body: '' }],
  ['HTML with status 404', { body: '<html>not here</html>', status: 404 }],
  ['HTML with status 403', { body: '<html>blocked</html>', status: 403 }],
  ['a server error', failing],
])('%s writes nothing and is read again', async (_name, reply) => {
  const { read, look, answersFirst, held, target } = await withCall(alone);
  answersFirst(reply);
  expect(await read()).toBe('later');
  expect(await held('call_id')).toBeUndefined();
  expect(await target()).toBe('active 1 pending');
  expect(await look()).toBe('mirrored');
  expect(await target()).toBe('active 0');
});

test('a target that the service calls malformed settles refused, and a new hint has it read', async () => {
  const { read, answersFirst, target } = await withCall(alone);
  answersFirst(malformed);
  expect(await read()).toBe('refused');
  expect(await target()).toMatch(/^refused/);
  expect(await read()).toBe('mirrored');
});

test('a hint during a read leaves its target pending, and causes another read', async () => {
  const { id, service, due, read, readIfPending, target } = await withCall(alone);
  const usual = service.answer;
  service.answer = async (asked) => {
    service.answer = usual;
    await markDirty(db, [{ kind: 'call', key: id }]);
    return usual(asked);
  };
  expect(await read()).toBe('mirrored');
  expect(await target()).toMatch(/pending$/);
  expect(due).toContainEqual(expect.objectContaining({ kind: 'call', key: id }));
  expect(await readIfPending('call')).toBe('mirrored');
  expect(await target()).toBe('active 0');
});

test('an address that the service repeats in a refusal is kept nowhere', async () => {
  const { id, read, answersFirst, logged } = await withCall(alone);
  const error = { type: 'invalid_request', message: 'bad https://media.example/x?token=abc' };
  answersFirst({ body: JSON.stringify({ error }), status: 400 });
  await read();
  expect(await value('select last_error from ops.sync_targets where key = $1', id)).not.toContain('media.example');
  expect(logged()).not.toContain('media.example');
});

describe('a target that is refused is looked at again', () => {
  const [hour, day] = [60, 24 * 60];
  interface Refused {
    readonly look: (kind?: TargetKind) => Promise<unknown>;
  }

  /** The time goes by until the next look, and it is taken; resolves to how many minutes after the first refusal that was. */
  async function lookAgain({ look }: Refused, key: string, kind: TargetKind): Promise<number | undefined> {
    const pending = 'where kind = $1 and key = $2 and dirty_version > clean_version';
    const after = 'select round(extract(epoch from due_at - refused_at) / 60)::integer from ops.sync_targets';
    const minutes = (await value(`${after} ${pending}`, kind, key)) as number | undefined;
    await query(`update ops.sync_targets set refused_at = refused_at - (due_at - now()) ${pending}`, kind, key);
    await look(kind);
    return minutes;
  }
  async function looksOf(known: Refused, key: string, kind: TargetKind, most: number) {
    const looks: (number | undefined)[] = [];
    for (let look = 0; look < most; look += 1) looks.push(await lookAgain(known, key, kind));
    return looks;
  }

  describe.each<[string, Reply]>([
    ['403', denied],
    ['400', malformed],
    ['410', { error: 'gone', status: 410 }],
    ['451', { error: 'unavailable_for_legal_reasons', status: 451 }],
  ])('a minute after %s', (status, refusal) => {
    test.each(['call', 'recordings', 'transcripts'] as const)('%s', async (kind) => {
      const known = await withCall((own) => ({ ...whole(own), [kind]: refusal }));
      await known.read();
      if (kind !== 'call') await known.read(kind);
      known.shows(whole(known.id));
      expect(await lookAgain(known, known.id, kind)).toBe(1);
      if (kind === 'call') expect(await known.held('call_id')).toBe(known.id);
      else expect(await known.states()).toMatch(kind === 'recordings' ? /^complete 1/ : /complete 1$/);
    });

    test('thread', async () => {
      const known = await withThread(messages(2));
      known.service.answer = () => refusal;
      await known.read();
      known.behave({});
      expect(await lookAgain(known, known.key, 'thread')).toBe(1);
      expect(await known.held()).toEqual([1, 2]);
    });

    test.each(['users', 'lines'] as const)('%s', async (kind) => {
      const { service, read } = await openReader();
      service.answer = () => refusal;
      await read(kind, status);
      expect(await lookAgain({ look: async () => undefined }, status, kind)).toBe(1);
    });
  });

  test('after a minute, ten and an hour, and then once a day', async () => {
    const known = await withThread([]);
    known.service.answer = () => denied;
    expect(await known.read()).toBe('forbidden');
    expect(await looksOf(known, known.key, 'thread', 5)).toEqual([1, 10, hour, hour + day, hour + 2 * day]);
  });

  test('ever more seldom where nobody understands it', async () => {
    const known = await withThread([]);
    known.service.answer = () => malformed;
    await known.read();
    expect((await looksOf(known, known.key, 'thread', 8)).at(-1)).toBeGreaterThan(10 * day);
  });

  test.each(['call', 'recordings', 'transcripts'] as const)('a month later in a history of %s', async (kind) => {
    const all = { call: denied, recordings: denied, transcripts: denied };
    const known = await withCall(() => all, { secondsAgo: 30 * 86_400 });
    await known.read(kind);
    const looks = await looksOf(known, known.id, kind, 4);
    expect(looks.slice(0, 3)).toEqual([1, 10, hour]);
    expect(looks[3]).toBeGreaterThan(29 * day);
  });

  test('soon where it was shown meanwhile', async () => {
    const known = await withThread(messages(1));
    known.service.answer = () => denied;
    await known.read();
    await looksOf(known, known.key, 'thread', 3);
    known.behave({});
    await known.read();
    known.service.answer = () => denied;
    await known.read();
    expect(await lookAgain(known, known.key, 'thread')).toBe(1);
  });
});
