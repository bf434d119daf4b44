import { expect, test } from 'vitest';
import { ServiceError } from '../../src/api-client/client.ts';
import { message } from '../../src/api-client/entities/text-schemas.ts';
import { inTransaction, query, sql } from '../../src/db/database.ts';
import { createInbox, type Delivery } from '../../src/inbox/deliveries.ts';
import { createErasedNumbers } from '../../src/inbox/redact-erased.ts';
import { hasOptedOut } from '../../src/ledger/gates/gates.ts';
import { readGateInputs } from '../../src/ledger/gates/inputs.ts';
import { erasableNumber, eraseNumber, NotErasable, previewErasure } from '../../src/privacy/erase.ts';
import { eraseAtService, listErasableAtService } from '../../src/privacy/erase-at-service.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { asRead, ignored, readNumber } from '../warehouse/reads.ts';
import { openDatabase, waitingForLocks } from '../world/database.ts';
import { until } from '../world.ts';
import { placesIn } from './everywhere.ts';

/* What an erasure takes from each table; calls and threads as they are mirrored are in `warehouse/erasure.test.ts`. */

const database = await factsDatabase();
const { db, insert, lines } = database;

const erase = (number: string) => eraseNumber({ db, queues: { forget: async () => 0 }, knownAfterMs: 0 }, number);

/** A delivery whose body names somebody. */
const telling = (party: string): Delivery => ({
  ...{ eventType: undefined, claimedType: undefined, contentType: undefined, userAgent: undefined },
  ...{ body: `{"from":"${party}"}`, targets: [] },
});

test.each(['', '12', 'no number', '15557770001x', '1'.repeat(30)])('%j is no number to erase', (text) => {
  expect(() => erasableNumber(text)).toThrow(NotErasable);
});

/** Rows of all tables that can hold a person, by a number that also tells the rows apart. Returns how many each has. */
async function writeRows(number: string, name: string): Promise<Record<string, number>> {
  const [line, at] = ['15559990000', '2026-05-05T12:00:00Z'];
  const id = Number(number.slice(-1));
  const [call_id, text] = [`${1_777_982_400 + id}.1`, `${id}/${id * 1_000}`];
  const party = { caller_number: number, caller_name: name, called_number: '101', called_name: 'Reception' };
  const send = {
    line,
    number,
    trigger_kind: 'message',
    trigger_at: at,
    mode: 'live',
    expires_at: at,
    body: `To ${name}`,
  };
  const run = { rule: 'r', version: '1', trigger_kind: 'message_received', trigger_key: text, trigger_at: at };
  await database.thread(id, [[at, 'in', { from_number: number, body: `It is ${name}` }]], { line, number });
  const rows: readonly (readonly [table: string, row: Readonly<Record<string, unknown>>])[] = [
    ['ops.deliveries', { body: `{"from":"${number}"}`, targets: [], is_recognized: true }],
    ['ops.deliveries', { body: `{"name":"${name}"}`, targets: [`call ${call_id}`], is_recognized: true }],
    ['ops.sync_targets', { kind: 'thread', key: `${line}/${number}` }],
    ['ops.sync_targets', { kind: 'call', key: call_id, last_error: `refused for ${name}` }],
    ['ops.sends', { ...send, rule: 'SENT', trigger_id: `${text} 1`, state: 'SENT' }],
    ['ops.sends', { ...send, rule: 'UNKNOWN', trigger_id: `${text} 2`, state: 'UNKNOWN', search_count: 3 }],
    ['ops.sends', { ...send, rule: 'PLANNED', trigger_id: `${text} 3`, state: 'PLANNED' }],
    ['ops.send_budgets', { scope: `thread/${line}/${number}`, budget_date: at }],
    ['ops.opt_outs', { number, decided_by: name }],
    ['ops.rule_runs', { ...run, line, number, mode: 'live', is_matched: true, reason: '' }],
    ['ops.rule_events', { kind: 'message_received', key: text, happened_at: at }],
    ['ops.rule_events', { kind: 'call_missed', key: call_id, happened_at: at }],
    ['ops.thread_candidates', { line, number, evidence: 'call' }],
    ['warehouse.contacts', { number, name }],
    ['rollups.contacts', { number }],
    ['warehouse.calls', { call_id, started_at: at, external_number: number, account_number: line, ...party }],
    ['warehouse.call_legs', { call_id, leg_key: '1', ordinal: 1, ...party }],
    ['warehouse.recordings', { call_id, unique_id: '1', from_endpoint: number, to_endpoint: '101' }],
    ['warehouse.transcripts', { transcript_id: id, call_id, short_summary: `Of ${name}` }],
    ['warehouse.transcript_bodies', { transcript_id: id, segments: '[]', full_text: `I am ${name}`, fetch_seq: 1 }],
    ['warehouse.sms_message_delivery_events', { conversation_id: id, message_id: id * 1_000 }],
    ['warehouse.sms_conversation_events', { conversation_id: id, axis: 'comment', actor: 'r' }],
    ['secrets.links', { kind: 'file', owner: text, part: '1', link: 'sealed' }],
    ['secrets.links', { kind: 'recording', owner: call_id, part: '1', link: 'sealed' }],
  ];
  const counts: Record<string, number> = { 'warehouse.sms_conversations': 1, 'warehouse.sms_messages': 1 };
  for (const [table, row] of rows) {
    await insert(table, row);
    counts[table] = (counts[table] ?? 0) + 1;
  }
  return counts;
}

test('each row of a person goes or is blanked as a preview counts them, and those of others stay', async () => {
  const [gone, stays] = ['15557770001', '15557770002'];
  const removed = await writeRows(gone, 'Zebulon');
  await writeRows(stays, 'Wanda');
  await insert('ops.send_budgets', {
    scope: 'account',
    budget_date: '2026-05-05',
    sends_count: 2,
    spent_micros: 10_000,
  });
  const places = async (...words: string[]) =>
    (await Promise.all(words.map((each) => placesIn({ ...database, redisUrl: undefined }, each)))).flat();
  const before = await places(stays, 'Wanda');
  expect(before.length).toBeGreaterThan(20);
  const preview = await previewErasure(db, gone);
  expect(await places(stays, 'Wanda')).toEqual(before);
  const erased = await erase(gone);
  expect(erased).toEqual(preview);
  expect(erased).toEqual({ number: '…0001', removed });
  expect(await places(gone.slice(1), 'Zebulon')).toEqual([]);
  expect(await places(stays, 'Wanda')).toEqual(before);
  const legs =
    'select caller_number, caller_name, called_number, called_name from warehouse.call_legs order by call_id';
  expect(await lines(legs)).toEqual(['- | - | 101 | Reception', `${stays} | Wanda | 101 | Reception`]);
  const sends = `select rule, state, reason, body, number = 'erased/' || send_id from ops.sends where number <> $1 order by rule`;
  expect(await lines(sends, stays)).toEqual([
    'PLANNED | DENIED | gate:erased |  | true',
    'SENT | SENT | - |  | true',
    'UNKNOWN | UNKNOWN | - |  | true',
  ]);
  const spent = `select sends_count, spent_micros from ops.send_budgets where scope = 'account'`;
  expect(await lines(spent), 'amounts stay').toEqual(['2 | 10000']);
  expect((await erase(gone)).removed, 'nothing is left').toEqual({});
});

test('a number of the account is not erased', async () => {
  await insert('warehouse.user_endpoints', { user_id: 1, kind: 'number', endpoint: '15559990001' });
  await expect(erase('15559990001')).rejects.toThrow(NotErasable);
});

test('a receiver that was suspended since an erasure stores nothing of whom it does not know yet', async () => {
  const known = createErasedNumbers(db);
  await known.refresh();
  const inbox = createInbox(database, () => undefined, { erased: known });
  await erase('15557770313');
  await inbox.accept(telling('15557770313'));
  await inbox.accept(telling('15557770314'));
  const bodies = await query(db, 'select body from ops.deliveries', []);
  expect(JSON.stringify(bodies)).not.toContain('15557770313');
  expect(JSON.stringify(bodies)).toContain('15557770314');

  // The database goes back in time to before the first erasure.
  await query(db, 'delete from ops.erasures', []);
  await inbox.accept(telling('15557770315'));
});

test('other spellings of a number go from what is held, and are kept out of what comes', async () => {
  const spellings = [
    '020 7946 0958',
    '+44 (0)20 7946 0958',
    '0044 20 7946 0958',
    '01144 2079460958',
    '"Work 2" <+442079460958>',
  ];
  const known = createErasedNumbers(db);
  const inbox = createInbox(database, () => undefined, { erased: known });
  const bodies = async () => {
    const rows = await query<{ body: string }>(db, 'select body from ops.deliveries where delivery_id > $1', [before]);
    return rows.map(({ body }) => body);
  };
  const [newest] = await query<{ id: string }>(
    db,
    'select coalesce(max(delivery_id), 0) as id from ops.deliveries',
    [],
  );
  const before = newest?.id;
  const foreign = { ...telling('x'), body: '', unread: Buffer.from('<from>020 7946 0958</from>') };
  const unread = () => query(db, 'select from secrets.bodies', []);
  for (const spelling of spellings) await inbox.accept(telling(spelling));
  await inbox.accept(foreign);
  expect((await bodies()).filter((body) => body === '')).toEqual(['']);
  expect(await unread()).toHaveLength(1);
  await erase('442079460958');
  expect(await bodies()).toEqual(Array.from({ length: 6 }, () => ''));
  expect(await unread()).toEqual([]);
  for (const spelling of spellings) await inbox.accept(telling(spelling));
  await inbox.accept(foreign);
  await inbox.accept(telling('020 7946 0959'));
  expect(await unread()).toEqual([]);
  expect((await bodies()).filter((body) => body !== '')).toEqual(['{"from":"020 7946 0959"}']);
});

test('a delivery that cannot be judged is answered and read, and its body is not kept', async () => {
  const known = createErasedNumbers(db);
  await known.refresh();
  expect(known.hasAny).toBe(true);
  const inbox = createInbox(database, () => undefined, { erased: known });
  const target = { kind: 'thread', key: '12125559911/15557770999' } as const;
  const body = Array.from({ length: 30_000 }, (_, at) => 2_125_550_000 + at).join();
  expect(await inbox.accept({ ...telling('x'), body, targets: [target] })).toMatchObject({
    targets: 1,
  });
  const [stored] = await query(
    db,
    'select body, targets, is_erased, is_recognized from ops.deliveries order by delivery_id desc limit 1',
    [],
  );
  expect(stored).toEqual({
    body: '',
    targets: ['thread 12125559911/15557770999'],
    is_erased: true,
    is_recognized: true,
  });
});

test('of two erasures at once, a receiver misses neither', async () => {
  const known = createErasedNumbers(db);
  const [first, second] = ['15557770311', '15557770312'] as const;
  const isThereOrWaits = async () => {
    const rows = await query(
      db,
      `select where exists (select from ops.erasures where number_hash = ops.erasure_hash($1))
         or exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')`,
      [second],
    );
    return rows.length > 0;
  };
  const { erasing } = await db.transaction().execute(async (tx) => {
    await query(tx, 'insert into ops.erasures (number_hash) values (ops.erasure_hash($1))', [first]);
    const erasing = erase(second);
    await until(isThereOrWaits);
    await known.refresh();
    return { erasing };
  });
  await erasing;
  await known.refresh();
  expect((await known.redact([telling(first), telling(second)])).map(({ body }) => body)).toEqual(['', '']);
});

test('what names the person only by a leg, in a group of a text, in an unread body or in an error is removed, and nobody else’s', async () => {
  const gone = '14155550177';
  const [call_id, legId] = ['1783385900.000001', '1783385900.000002'];
  await insert('warehouse.calls', { call_id, caller_number: gone });
  await insert('warehouse.call_legs', { call_id, leg_key: legId, ordinal: 0, unique_id: legId });
  const deliveries = [
    { targets: [`call ${legId}`], bytes: '' },
    { targets: [`recordings ${call_id}`], bytes: '' },
    { targets: [`transcripts ${call_id}`], bytes: '' },
    { targets: [], bytes: '\x00\xff from +1 (415) 555-0177 \xfe' },
    { targets: [], bytes: '<from>4155550177</from>' },
    { targets: [], bytes: '\x00\xff from +1 (415) 555-0178 \xfe' },
    { targets: [], bytes: '\x00\x01\x02' },
  ];
  for (const { targets, bytes } of deliveries) {
    await database.query(
      `with kept as (
         insert into ops.deliveries (body, targets, is_recognized, user_agent)
         values (case when $2 then '{"name":"Jane"}' else '' end, $1, $2, 'leg') returning delivery_id
       )
       insert into secrets.bodies (delivery_id, bytes) select delivery_id, $3 from kept where not $2`,
      ...[targets, bytes === '', Buffer.from(bytes, 'latin1')],
    );
  }
  await insert('ops.sync_targets', { kind: 'recordings', key: call_id, last_error: 'refused for Jane' });
  const inGroup = (...others: string[]) =>
    ['2026-05-05T12:00:00Z', 'in', { group_participants: ['15551000001', ...others] }] as const;
  await database.thread(77, [inGroup(gone), inGroup('14155550178')]);
  expect(await listErasableAtService(db, gone)).toEqual([
    { line: '15559990000', number: '15551000077', messageId: '77000' },
  ]);
  await erase(gone);
  expect(await lines('select message_id from warehouse.sms_messages where conversation_id = 77')).toEqual(['77001']);
  const left = await lines(
    `select body, is_erased, bytes is not null from ops.deliveries left join secrets.bodies using (delivery_id)
     where user_agent = 'leg' order by delivery_id`,
  );
  const [erased, kept] = [' | true | false', ' | false | true'];
  expect(left).toEqual([erased, erased, erased, erased, erased, kept, kept]);
  const error = `select last_error from ops.sync_targets where kind = 'recordings' and key = $1`;
  expect(await lines(error, call_id)).toEqual(['-']);
});

const columnsOfCalls =
  'caller_number caller_id_internal caller_id_external called_number dialled_number external_number account_number';
test.each([
  ...columnsOfCalls.split(' ').map((column) => ['calls', column, {}] as const),
  ...['caller_number', 'called_number'].map((column) => ['call_legs', column, { leg_key: '1', ordinal: 1 }] as const),
  ...['from_endpoint', 'to_endpoint'].map((column) => ['recordings', column, { unique_id: '1' }] as const),
])('who is named only by %s.%s is found there, and gone from it', async (table, column, key) => {
  const number = '15557770601';
  const call_id = `1783385950.${await database.value('select count(*) from warehouse.calls')}`;
  if (table !== 'calls') await insert('warehouse.calls', { call_id });
  await insert(`warehouse.${table}`, { call_id, ...key, [column]: number });
  await erase(number);
  expect(await lines(`select ${column} from warehouse.${table} where call_id = $1`, call_id)).toEqual(['-']);
  expect(await lines('select is_erased from warehouse.calls where call_id = $1', call_id)).toEqual(['true']);
});

test('a delivery that is being stored while the rows go is emptied too', async () => {
  const number = '15557770701';
  await using other = openDatabase(database.url);
  const [stored, erased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const isAwaited = () => until(async () => Number(await database.value(waitingForLocks)) > 0);
  const store = () =>
    inTransaction(other.db, async (tx) => {
      const { body } = telling(number);
      await query(tx, sql`insert into ops.deliveries (body, targets, is_recognized) values (${body}, '{}', true)`);
      stored.resolve();
      await Promise.race([isAwaited(), erased.promise]);
    });
  let storing: Promise<unknown> | undefined;
  const forget = async () => {
    storing ??= store();
    await stored.promise;
    return 0;
  };
  await eraseNumber({ db, queues: { forget }, knownAfterMs: 0 }, number);
  erased.resolve();
  await storing;
  expect(await lines('select from ops.deliveries where strpos(body, $1) > 0', number)).toEqual([]);
});

test('at the service, what it does not find counts as deleted, and what it refuses is named', async () => {
  const line = '15559990000';
  const failing = (code: 'not_found' | 'permission_denied') => async () => {
    throw new ServiceError(code, code, { operation: 'conversations.delete', effect: 'none' });
  };
  const conversations = { delete: failing('not_found'), deleteMessage: failing('permission_denied') };
  const [thread, text] = [
    { line, number: '15551000001' },
    { line, number: '15551000002', messageId: '1' },
  ] as const;
  expect(await eraseAtService({ conversations: conversations as never }, [thread, text])).toEqual({
    deleted: [thread],
    refused: [{ ...text, reason: expect.stringContaining('permission_denied') }],
  });
});

test('a preview that Postgres ends because of a deadlock is repeated', async () => {
  const number = '15550107799';
  await insert('ops.deliveries', { body: `{"fromNumber":"${number}"}`, targets: [], is_recognized: true });
  const send = {
    rule: 'r',
    line: '18005550100',
    number,
    trigger_kind: 'message',
    trigger_id: '1',
    trigger_at: new Date(),
  };
  await insert('ops.sends', { ...send, mode: 'live', state: 'SENT', expires_at: new Date() });
  await using other = openDatabase(database.url);
  let preview: ReturnType<typeof previewErasure> | undefined;
  // Repeated where Postgres ends this one instead: on a machine so busy that the preview looked for a deadlock too early.
  await inTransaction(other.db, async (tx) => {
    await query(tx, sql`update ops.sends set reason = 'held'`);
    preview = previewErasure(db, number);
    preview.catch(() => undefined);
    await until(async () => Number(await database.value(waitingForLocks)) > 0);
    // The preview waits longer already, so it is the one that Postgres ends.
    await query(tx, sql`update ops.deliveries set user_agent = 'held'`);
  });
  expect((await preview)?.removed).toMatchObject({ 'ops.deliveries': 1, 'ops.sends': 1 });
});

const line = '15550000001';

async function isOut(number: string, from: string, kind?: 'unsure'): Promise<boolean> {
  const subject = { line: from, number, trigger: { kind: 'message', id: '1', at: new Date() } } as const;
  const { optOuts } = await db.transaction().execute((tx) => readGateInputs(tx, subject));
  return hasOptedOut(from, optOuts, kind);
}

test('a group goes with one of its members, but not that another one opted out there', async () => {
  const all = ['15557710001', '15557710002', '15557710003', '15557710004', '15557710005'];
  const [gone = '', out = '', back = '', other = '', cleared = ''] = all;
  const said = [
    [gone, 'STOP'],
    [out, 'please stop'],
    [back, 'STOP'],
    [back, 'START'],
    [other, 'Stop by at five'],
    [cleared, 'Stop by at six'],
  ];
  const messages = said.map(([from, text], at) => ({
    ...{ id: 9_000 + at, direction: 'in', from, to: line, text, groupParticipants: all },
    sentAt: new Date(Date.UTC(2026, 3, 21, 0, at)).toISOString(),
  }));
  const thread = { line, number: gone, participants: all };
  const group = { thread, messages: asRead(message, messages), isComplete: true, read: readNumber(1) };
  await inTransaction(db, (tx) => writeThreads(tx, ignored, [group]));
  await insert('ops.opt_outs', { number: cleared, decision: 'clear', source: 'person', decided_by: 'lea' });
  const outs = () => Promise.all(all.map((number) => isOut(number, line)));
  expect(await outs()).toEqual([true, true, false, false, false]);
  expect(await isOut(other, line, 'unsure')).toBe(true);
  await erase(gone);
  expect(await lines('select from warehouse.sms_messages where line = $1', line)).toEqual([]);
  expect(await outs()).toEqual([false, true, false, false, false]);
  expect(await isOut(other, line, 'unsure'), 'still waits for a decision').toBe(true);
  expect(await isOut(back, line, 'unsure')).toBe(false);
  expect(await isOut(cleared, line, 'unsure'), 'a person has decided').toBe(false);
  expect(await isOut(out, '15550000009'), 'from any line').toBe(true);
  for (const member of [out, other, cleared]) await erase(member);
  expect(await lines('select from ops.opt_outs where number = any($1)', all)).toEqual([]);
});
