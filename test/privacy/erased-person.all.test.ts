import { afterAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/api-client/client.ts';
import { createReconciler } from '../../src/completeness/coverage/reconcile.ts';
import { markDirty } from '../../src/inbox/targets.ts';
import { erasableNumber, eraseNumber, NotErasable, previewErasure } from '../../src/privacy/erase.ts';
import { backends } from '../stores/backends.ts';
import { createWorld, until } from '../world.ts';
import { placesWith, recorded } from './everywhere.ts';

/* A whole deployment, its queues included; rows of each table are in `erase.test.ts`. */

const number = '15557770001';
const written = '+1 (555) 777-0001';
const name = 'Zebulon Quackenbush';
const other = '15557770099';

/** The tables whose answers may say more of the person than columns hold. */
const saying = ['calls', 'call_legs', 'recordings', 'transcripts'].map((table) => `warehouse.${table}`);

describe.each(backends)('on %s', async (backend) => {
  const world = await createWorld({ backend, sandbox: { deliveryRetriesMs: [50] } });
  afterAll(() => world.close());
  const { query, value, sandbox, context } = world;
  const { database, queues, service, notifier, log } = context;
  const { db } = database;

  /** Where the digits of the number stand, in any format, or the name. */
  const traces = async () => [...(await placesWith(world, number.slice(1))), ...(await placesWith(world, name))];

  /** A life with the account: texts, a group, calls in and out; and what answers say beyond columns. */
  async function live(): Promise<void> {
    await query('insert into warehouse.contacts (number, name) values ($1, $2)', number, name);
    const { line } = await sandbox.emit.sms({ number, text: 'Hello, it is me', media: ['me.png'] });
    await sandbox.emit.sms({ line, number, direction: 'out', text: 'Thank you', delivery: 'delivered' });
    await sandbox.emit.sms({ line, participants: [number, other], text: 'All of us' });
    await sandbox.emit.sms({ line, number: other, text: 'Thank you too' });
    await sandbox.emit.call({ number, callerName: name, direction: 'inbound', ...recorded, transfers: 1 });
    await sandbox.emit.call({ number, direction: 'outbound', ...recorded });
    await sandbox.emit.call({ number: other, direction: 'inbound', ...recorded });
    await world.settled();
    await until(async () => Number(await value('select count(*) from warehouse.transcript_bodies')) >= 3);
    // What rules record of the person comes a moment after the texts, and late artefacts are looked for once more.
    const isOwed = `select exists (select from ops.rule_events) or exists (select from ops.sync_targets
      where dirty_version > clean_version and due_at < now() + interval '3 seconds')`;
    await until(async () => (await value(isOwed)) === false);
    const theirs = 'where call_id in (select call_id from warehouse.calls where external_number = $2)';
    const extra = JSON.stringify({ note: `of ${written}`, name });
    for (const table of saying) await query(`update ${table} set extra = $1 ${theirs}`, extra, number);
  }

  /** Reads everything again that the mirror could be filled from: all targets, and call history by search. */
  async function readAgain(): Promise<void> {
    const targets = await query<{ kind: 'call'; key: string }>('select kind, key from ops.sync_targets');
    const line = await value('select line from warehouse.sms_lines limit 1');
    const threads = [`${line}/${number}`, `${line}/${number}/${[number, other].join(',')}`];
    const bumps = [...targets, ...threads.map((key) => ({ kind: 'thread' as const, key }))];
    notifier.notify(await markDirty(db, bumps));
    await query(`update ops.coverage set due_at = now(), claimed_until = '-infinity'`);
    const { notify } = notifier;
    await createReconciler({ db, service: service as Service, log, notify }).round();
    await world.settled();
  }

  /** Calls in all, those of an erased person, and what is left of that person in these. */
  const calls = async () =>
    (
      await query(
        `select count(*)::int as calls, count(*) filter (where is_erased)::int as erased,
           count(*) filter (where is_erased and (external_number is not null or duration_seconds is null or account_number is null
             or exists (select from warehouse.transcripts t where t.call_id = c.call_id)
             or exists (select from secrets.links l where l.owner = c.call_id)))::int as wrong from warehouse.calls c`,
      )
    )[0];

  test('everything of a person goes at once, from tables and queues, and never comes back', async () => {
    await live();
    const before = (await traces()).filter((place) => /^(warehouse|ops|secrets)\./.test(place));
    const places = ['ops.deliveries.body', 'ops.sync_targets.key', 'warehouse.calls.caller_name'];
    expect(before).toEqual(expect.arrayContaining([...places, ...saying.map((table) => `${table}.extra`)]));
    const { removed: counted } = await previewErasure(db, erasableNumber(written));
    expect(counted).toMatchObject({
      'warehouse.sms_conversations': 2,
      'warehouse.sms_messages': 3,
      'warehouse.calls': 2,
    });

    const erased = await eraseNumber({ db, queues }, erasableNumber(written));
    expect(erased).toMatchObject({ number: '…0001', removed: { 'warehouse.sms_messages': 3, 'warehouse.calls': 2 } });
    expect(await traces()).toEqual([]);
    expect(await calls()).toEqual({ calls: 3, erased: 2, wrong: 0 });
    expect(await value('select body from warehouse.sms_messages where number = $1', other)).toBe('Thank you too');
    expect(await value('select count(*)::int from warehouse.transcripts')).toBeGreaterThan(0);

    await readAgain();
    expect(await traces()).toEqual([]);
    expect(await calls()).toEqual({ calls: 3, erased: 2, wrong: 0 });
    const atOnce = { db, queues, knownAfterMs: 0 };
    expect((await eraseNumber(atOnce, erasableNumber('1-555-777-0001'))).removed, 'nothing is left').toEqual({});

    // What the person does later is answered, and kept out.
    const newest = Number(await value('select max(delivery_id) from ops.deliveries'));
    await sandbox.emit.sms({ number, text: 'It is me again' });
    await sandbox.emit.call({ number, callerName: name, ...recorded });
    const startTime = new Date(Date.now() - 5 * 3_600_000).toISOString();
    await sandbox.emit.call({ number, direction: 'outbound', status: 'missed', announce: false, startTime });
    const answer = await world.deliver('AccountSMS', { fromNumber: written, toNumber: '15550000001', message: 'me' });
    expect(answer.status).toBe(202);
    await world.settled();
    const known = 'select count(*)::int from warehouse.calls where is_erased and recording_count > 0';
    await until(async () => (await value(known)) === 3);
    await readAgain();
    expect(await traces()).toEqual([]);
    expect(await calls()).toEqual({ calls: 5, erased: 4, wrong: 0 });
    const kept = await query(
      `select body, targets from ops.deliveries where delivery_id > $1 and is_erased and event_type = 'AccountSMS'`,
      newest,
    );
    const emptied = { body: '', targets: [] };
    expect(kept).toEqual([emptied, emptied]);
    const full = `select count(*)::int from ops.deliveries where is_erased and body <> ''`;
    expect(await value(full)).toBe(0);
    for (const word of [number.slice(1), name]) expect(world.logged()).not.toContain(word);

    const line = erasableNumber(String(await value('select line from warehouse.sms_lines limit 1')));
    await expect(eraseNumber(atOnce, line), 'a number of the account').rejects.toThrow(NotErasable);
  });
});
