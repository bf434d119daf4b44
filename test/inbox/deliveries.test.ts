import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { claimTargets, finishTargets } from '../../src/inbox/claims.ts';
import { createInbox, type Delivery, type ReferencedTarget } from '../../src/inbox/deliveries.ts';
import { type DueTarget, markDirty } from '../../src/inbox/targets.ts';
import { storableText } from '../../src/shared/storable.ts';
import { migratedDatabase, waitingForLocks } from '../world/database.ts';
import { until } from '../world.ts';

const database = await migratedDatabase();
const { db, query, value } = database;
beforeEach(() => query('truncate ops.sync_targets, ops.deliveries'));

function openInbox() {
  const due: DueTarget[] = [];
  const inbox = createInbox(database, (enqueued) => void due.push(...enqueued));
  const plain: Delivery = {
    ...{ eventType: 'AccountSMS', claimedType: undefined, contentType: 'application/json', userAgent: undefined },
    ...{ body: '{}', targets: [] },
  };
  return { accept: (more: Partial<Delivery> = {}) => inbox.accept({ ...plain, ...more }), due };
}

const calls = (...numbers: readonly number[]): ReferencedTarget[] =>
  numbers.map((number) => ({ kind: 'call', key: `1700000001.${number}` }));
const targetCount = () => value('select count(*)::integer from ops.sync_targets');
const deliveryCount = () => value('select count(*)::integer from ops.deliveries');
const kept = () =>
  query(
    `select event_type as type, claimed_type as claimed, content_type as content, user_agent as agent, body, targets, is_recognized
     from ops.deliveries order by delivery_id`,
  );

test('a delivery is kept with its targets, and enqueues them after its commit', async () => {
  const { accept, due } = openInbox();
  await accept({ targets: calls(1, 2), body: '{"a":1}' });
  expect(await kept()).toEqual([
    {
      ...{ type: 'AccountSMS', claimed: null, content: 'application/json', agent: null, body: '{"a":1}' },
      ...{ targets: ['call 1700000001.1', 'call 1700000001.2'], is_recognized: true },
    },
  ]);
  expect(new Set(due)).toEqual(new Set(calls(1, 2).map((target) => ({ ...target, afterMs: 0 }))));
});

test('a delivery that points at nothing is kept', async () => {
  const { accept, due } = openInbox();
  await accept({ eventType: undefined });
  expect(await kept()).toMatchObject([{ type: null, targets: [], is_recognized: false }]);
  expect(due).toEqual([]);
});

test('a text that is named by its id is found in each thread that holds it', async () => {
  await query(
    `with c as (
       insert into warehouse.sms_conversations (line, number, participants_key, participants) values
         ('18005550100', '18455550123', '', '{}'),
         ('18455550123', '18005550100', '', '{}'),
         ('18005550100', '18455550124', '18455550124,18455550125', '{18455550124,18455550125}')
       returning conversation_id, line, number)
     insert into warehouse.sms_messages (conversation_id, message_id, line, number, content_hash, source, fetch_seq, fetched_at)
     select conversation_id, case number when '18455550124' then 12 else 11 end, line, number, 'h', 't', 1, now() from c`,
  );
  const { accept } = openInbox();
  const named = [['11'], ['12', '13'], ['13'], []];
  const accepted = await Promise.all(named.map((messageIds) => accept({ messageIds })));
  expect(accepted.map(({ targets }) => targets)).toEqual([2, 1, 0, 0]);
  const pair = ['thread 18005550100/18455550123', 'thread 18455550123/18005550100'];
  const group = ['thread 18005550100/18455550124/18455550124,18455550125'];
  expect(await kept()).toMatchObject([
    { targets: pair, is_recognized: true },
    { targets: group, is_recognized: true },
    { targets: [], is_recognized: false },
    { targets: [], is_recognized: false },
  ]);
  expect(await targetCount()).toBe(3);
});

test('deliveries of a batch keep their order and their own columns', async () => {
  const { accept } = openInbox();
  const given = Array.from({ length: 120 }, (_, at) => ({
    ...{ body: at % 3 === 0 ? '' : `body ${at}`, targets: calls(...(at % 2 ? [at] : [])) },
  }));
  await Promise.all(given.map((each) => accept(each)));
  const rows = await query('select body, cardinality(targets) as targets from ops.deliveries order by delivery_id');
  expect(rows).toEqual(given.map(({ body, targets }) => ({ body, targets: targets.length })));
});

test('each delivery of concurrent batches is answered its own id, and a target keeps one that named it', async () => {
  const { accept } = openInbox();
  const bodies = Array.from({ length: 2_500 }, (_, at) => `body ${at}`);
  const accepted = await Promise.all(
    bodies.map(async (body, at) => ({ id: (await accept({ body, targets: calls(at % 500) })).id, body })),
  );
  const rows = await query('select delivery_id as id, body from ops.deliveries order by delivery_id');
  expect(accepted.toSorted((a, b) => Number(a.id) - Number(b.id))).toEqual(rows);
  const named = `select count(*)::integer from ops.sync_targets t join ops.deliveries d using (delivery_id)
    where t.kind || ' ' || t.key = any(d.targets)`;
  expect(await value(named)).toBe(500);
});

test('a burst on one target marks it dirty once and enqueues it once', async () => {
  const { accept, due } = openInbox();
  await Promise.all(Array.from({ length: 200 }, () => accept({ targets: calls(1) })));
  expect(due).toHaveLength(1);
  expect(await deliveryCount()).toBe(200);
});

test('any body comes back as it went', async () => {
  const { accept } = openInbox();
  const odd = [
    '\u001e',
    '\u001e\u001e',
    '\u0001\u001f\u007f',
    '',
    ';',
    '{"a":"\\u0000"}',
    "';--",
    'NULL',
    '\\N',
    '\ud83d',
  ];
  const body = fc.oneof(fc.constantFrom(...odd), fc.string({ unit: 'binary' }));
  await fc.assert(
    fc.asyncProperty(fc.array(body, { minLength: 1, maxLength: 8 }), async (given) => {
      await query('truncate ops.deliveries');
      const stored = given.map(storableText);
      await Promise.all(stored.map((each) => accept({ body: each })));
      const rows = await query<{ body: string }>('select body from ops.deliveries order by delivery_id');
      expect(rows.map((row) => row.body)).toEqual(stored);
    }),
    { numRuns: 60, examples: [[odd]] },
  );
});

test('a delivery that cannot be stored rejects, and leaves nothing', async () => {
  const { accept } = openInbox();
  await expect(accept({ targets: calls(1), messageIds: ['no number'] })).rejects.toThrow();
  expect(await targetCount()).toBe(0);
  await accept();
  expect(await deliveryCount()).toBe(1);
});

describe('deadlocks', () => {
  test('do not come of batches with the same targets in another order', async () => {
    const numbers = Array.from({ length: 40 }, (_, at) => at);
    const batches = [openInbox(), openInbox(), openInbox()].flatMap(({ accept }, at) =>
      Array.from({ length: 20 }, () => accept({ targets: calls(...(at % 2 ? numbers : numbers.toReversed())) })),
    );
    await Promise.all(batches);
    expect(await targetCount()).toBe(40);
  });

  test('with a read that settles do not cost a delivery', async () => {
    const { accept } = openInbox();
    const transcripts = { kind: 'transcripts', key: '1700000002.1' } as const;
    const call = { kind: 'call', key: '1700000002.1' } as const;
    await markDirty(db, [transcripts]);
    const [claim] = await claimTargets(db, [transcripts]);
    if (!claim) throw new Error('nothing was pending');
    // The two halves of one settlement, with a delivery in between: a transcript of a call that was never read.
    let accepted: Promise<string> = Promise.resolve('');
    await db
      .transaction()
      .execute(async (tx) => {
        await finishTargets(tx, [{ ...claim, state: 'active', error: undefined }], []);
        accepted = accept({ targets: [call, transcripts] }).then(() => 'kept', String);
        await until(async () => Number(await value(waitingForLocks)) > 0);
        await markDirty(tx, [call]);
      })
      // The sync runs such a transaction again.
      .catch(() => undefined);
    expect(await accepted).toBe('kept');
  });
});
