import { afterAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/api-client/client.ts';
import { createReconciler } from '../../src/completeness/coverage/reconcile.ts';
import { markDirty } from '../../src/inbox/targets.ts';
import { type Erasure, erasableNumber, eraseNumber, NotErasable, previewErasure } from '../../src/privacy/erase.ts';
import { backends } from '../stores/backends.ts';
import { createWorld, until, type World } from '../world.ts';
import { placesWith, recorded } from './everywhere.ts';

const number = '15557770001';
const written = '+1 (555) 777-0001';
const name = 'Zebulon Quackenbush';
const other = '15557770099';

const worlds = new Map<string, World>();
for (const backend of backends)
  worlds.set(backend, await createWorld({ backend, sandbox: { deliveryRetriesMs: [50] } }));
afterAll(async () => {
  for (const world of worlds.values()) await world.close();
});

/** Digits of the number as they stand in any format, and the person's name. */
async function traces(world: World): Promise<string[]> {
  return [...(await placesWith(world, number.slice(1))), ...(await placesWith(world, name))];
}

/** The traces that only an erasure ends. A job is gone once it is done, whoever looks. */
async function kept(world: World): Promise<string[]> {
  return (await traces(world)).filter((place) => /^(warehouse|ops|secrets)\./.test(place));
}

/** A life with the account: texts, a group, calls in and out. */
async function live({ sandbox, query }: World): Promise<void> {
  await query('insert into warehouse.contacts (number, name) values ($1, $2)', number, name);
  const { line } = await sandbox.emit.sms({ number, text: 'Hello, it is me', media: ['me.png'] });
  await sandbox.emit.sms({ line, number, direction: 'out', text: 'Thank you', delivery: 'delivered' });
  await sandbox.emit.sms({ line, participants: [number, other], text: 'All of us' });
  await sandbox.emit.sms({ line, number: other, text: 'Thank you too' });
  await sandbox.emit.call({
    number,
    callerName: name,
    direction: 'inbound',
    ...recorded,
    transfers: 1,
  });
  await sandbox.emit.call({ number, direction: 'outbound', ...recorded });
  await sandbox.emit.call({ number: other, direction: 'inbound', ...recorded });
}

/** The tables whose answers may say more of the person than columns hold. */
const saying = ['calls', 'call_legs', 'recordings', 'transcripts'].map((name) => `warehouse.${name}`);

async function sayMore({ query }: World): Promise<void> {
  const theirs = `where call_id in (select call_id from warehouse.calls where external_number = $2)`;
  for (const table of saying) {
    await query(`update ${table} set extra = $1 ${theirs}`, JSON.stringify({ note: `of ${written}`, name }), number);
  }
}

/** Reads everything again that the mirror could be filled from: all targets, and call history by search. */
async function readAgain(world: World): Promise<void> {
  const { database, service, notifier, log } = world.context;
  const pauses = { activeMs: 0, refusedMs: 0 };
  const targets = await world.query<{ kind: 'call'; key: string }>('select kind, key from ops.sync_targets');
  const { line } = (await world.query<{ line: string }>('select line from warehouse.sms_lines limit 1'))[0] ?? {
    line: '',
  };
  const threads = [`${line}/${number}`, `${line}/${number}/${[number, other].join(',')}`];
  const bumps = [...targets, ...threads.map((key) => ({ kind: 'thread' as const, key }))];
  notifier.notify(await markDirty(database.db, bumps, pauses));
  await world.query(`update ops.coverage set due_at = now(), claimed_until = '-infinity'`);
  const reconciler = createReconciler({
    db: database.db,
    service: service as Service,
    log,
    pauses,
    notify: notifier.notify,
  });
  await reconciler.round();
  await world.settled();
}

const erase = async (world: World, text = written, how: { knownAfterMs?: number } = {}): Promise<Erasure> =>
  eraseNumber({ db: world.context.database.db, queues: world.context.queues, ...how }, erasableNumber(text));
/** Where no job is under way, nothing is waited for. */
const atOnce = { knownAfterMs: 0 };

describe.each(backends)('on %s', (backend) => {
  const world = worlds.get(backend) as World;
  const { query, value, sandbox } = world;

  test('a preview counts what an erasure removes, and removes nothing', async () => {
    await live(world);
    await world.settled();
    await until(async () => Number(await value('select count(*) from warehouse.transcript_bodies')) >= 3);
    await world.settled();
    // What rules record of the person comes a moment after the texts, and late artefacts are looked for once more.
    const isOwed = `select exists (select from ops.rule_events) or exists (select from ops.sync_targets
      where dirty_version > clean_version and due_at < now() + interval '3 seconds')`;
    await until(async () => (await value(isOwed)) === false);
    await sayMore(world);
    const before = await kept(world);
    expect(before).toEqual(
      expect.arrayContaining([
        'ops.deliveries.body',
        'ops.sync_targets.key',
        'warehouse.calls.external_number',
        'warehouse.calls.caller_name',
        ...saying.map((table) => `${table}.extra`),
        'warehouse.sms_conversations.number',
        'warehouse.sms_messages.number',
      ]),
    );
    const { removed } = await previewErasure(world.context.database.db, erasableNumber(written));
    expect(removed).toMatchObject({
      'warehouse.sms_conversations': 2,
      'warehouse.sms_messages': 3,
      'warehouse.calls': 2,
    });
    // Of two recordings and a file.
    expect(removed['secrets.links']).toBeGreaterThanOrEqual(3);
    expect(removed['warehouse.transcript_bodies']).toBeGreaterThanOrEqual(2);
    expect(await kept(world)).toEqual(before);
    expect(await value('select count(*)::integer from ops.erasures')).toBe(0);
  });

  test('an erasure leaves no trace in any table or queue', async () => {
    const outcome = await erase(world);
    expect(outcome.number).toBe('…0001');
    expect(outcome.removed).toMatchObject({ 'warehouse.sms_messages': expect.any(Number), 'warehouse.calls': 2 });
    expect(await traces(world)).toEqual([]);
  });

  test('the rows of calls stay, without the person', async () => {
    expect(
      await query(
        'select count(*)::integer as calls, count(*) filter (where is_erased)::integer as erased from warehouse.calls',
      ),
    ).toEqual([{ calls: 3, erased: 2 }]);
    expect(
      await value(
        `select count(*)::integer from warehouse.calls where is_erased and (external_number is not null
           or duration_seconds is null or account_number is null)`,
      ),
    ).toBe(0);
    expect(
      await value(
        'select count(*)::integer from warehouse.transcripts join warehouse.calls using (call_id) where is_erased',
      ),
    ).toBe(0);
    expect(
      await value(
        'select count(*)::integer from secrets.links l join warehouse.calls c on c.call_id = l.owner where c.is_erased',
      ),
    ).toBe(0);
  });

  test('others keep their texts and calls', async () => {
    expect(await value('select body from warehouse.sms_messages where number = $1', other)).toBe('Thank you too');
    expect(await value('select count(*)::integer from warehouse.calls where external_number = $1', other)).toBe(1);
    expect(
      await value(
        `select count(*)::integer from warehouse.transcripts join warehouse.calls using (call_id) where not is_erased`,
      ),
    ).toBeGreaterThan(0);
  });

  test('reading everything again brings nothing back', async () => {
    await readAgain(world);
    expect(await traces(world)).toEqual([]);
    expect(await value('select count(*)::integer from warehouse.calls where is_erased')).toBe(2);
  });

  test('a repeated erasure finds nothing left', async () => {
    expect((await erase(world, '1-555-777-0001', atOnce)).removed).toEqual({});
  });

  test('what the person does later is answered, and kept out', async () => {
    const before = Number(await value('select max(delivery_id) from ops.deliveries'));
    await sandbox.emit.sms({ number, text: 'It is me again' });
    await sandbox.emit.call({ number, callerName: name, ...recorded });
    const startTime = new Date(Date.now() - 5 * 3_600_000).toISOString();
    await sandbox.emit.call({ number, direction: 'outbound', status: 'missed', announce: false, startTime });
    const answer = await world.deliver('AccountSMS', { fromNumber: written, toNumber: '15550000001', message: 'me' });
    expect(answer.status).toBe(202);
    await world.settled();
    await until(
      async () =>
        Number(await value('select count(*) from warehouse.calls where is_erased and recording_count > 0')) === 3,
    );
    await readAgain(world);
    expect(await traces(world)).toEqual([]);
    expect(await value('select count(*)::integer from warehouse.calls where is_erased')).toBe(4);
    const kept = await query<{ event_type: string; body: string; targets: string[] }>(
      'select event_type, body, targets from ops.deliveries where delivery_id > $1 and is_erased',
      before,
    );
    expect(kept.filter(({ event_type }) => event_type === 'AccountSMS')).toEqual([
      { event_type: 'AccountSMS', body: '', targets: [] },
      { event_type: 'AccountSMS', body: '', targets: [] },
    ]);
    expect(kept.every(({ body }) => body === '')).toBe(true);
  });

  test('the log names nobody', () => {
    expect(world.logged()).not.toContain(number.slice(1));
    expect(world.logged()).not.toContain(name);
  });

  test('a number of the account is refused', async () => {
    const line = String(await value('select line from warehouse.sms_lines limit 1'));
    await expect(erase(world, line)).rejects.toThrow(NotErasable);
  });
});
