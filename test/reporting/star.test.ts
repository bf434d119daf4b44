import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, calls, expectRows, insert, query } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

/** Of Monday, ten in the morning in New York, which is five hours behind UTC until the 8th. */
const state = (call_id: string, values: Record<string, unknown>, legs?: readonly string[]) =>
  call({ call_id, started_at: '15:00', ...values }, legs);
const given = { status: 'missed', is_abandoned: true };

beforeAll(async () => {
  await facts.params({ time_zone: 'America/New_York' });
  await facts.hours('business_hours: { monday: 09:00-17:00, tuesday: 09:00-17:00, holidays: [2026-03-03] }');
  for (const user of [1, 2, 3]) await facts.user(user, [`20${user}`]);
  // 12 s of menu, 30 s in Sales, over into Support for 10 s, 202 rings for 8 s and does not answer, 201 after 5 s more; then to 203.
  await state('1.1', { transferred_count: 1 }, [
    'ivr 0 0 12',
    'ivr>queue:601:Sales 12 30 0',
    'queue>queue:602:Support 42 10 0',
    'queue>user:202 52 8 0',
    'queue>user:201 60 5 100',
    'user:201>user:203 165 20 50',
  ]);
  await state('1.2', given, ['ivr 0 0 9']);
  // Given up in the front desk's huntgroup, while 202's telephone rang for 6 s.
  await state('1.3', given, ['huntgroup::Front 0 4 0', 'huntgroup>user:202 4 6 0']);
  // The customer's telephone rang for 7 s.
  const outbound = { direction: 'outbound', caller_type: 'user', called_type: 'external' };
  await state('1.4', outbound, ['user:203>external 0 7 40']);
  // A leg that does not say where it went could be a menu or not.
  await state('1.5', {}, ['- 0 0 10', 'user:201 10 2 10']);
  // Not read whole: its ends tell who, and an outbound call how long it rang.
  const summary = { duration_seconds: 30, talk_seconds: 20 };
  await state('1.6', { ...summary, called_number: '202' });
  await state('1.7', { ...summary, status: 'missed', called_type: 'queue', called_number: '603' });
  await state('1.8', { ...summary, ...outbound, caller_number: '201' });
  const among = { called_type: 'user', called_number: '203', is_internal: true };
  const nobody = { external_number: null, account_number: null };
  await state('1.9', { ...summary, ...outbound, caller_number: '201', ...among, ...nobody });
  await facts.measure('1.6', '1.7', '1.8', '1.9');
  await facts.drain();
});

describe('fct_call', () => {
  test('knows the way of a call', () =>
    expectRows(`
      select call_id, answered_user_key as answered, placed_user_key as placed, coalesce(queue_key, huntgroup_key), wait_seconds,
        ring_seconds, menu_seconds, transferred_count, abandoned_in
      from reporting.fct_call where call_id < '2' order by 1`).toEqual([
      '1.1 | 1 | - | queue:602 | 53 | 13 | 12 | 1 | -',
      '1.2 | - | - | - | 9 | 0 | 9 | - | menu',
      '1.3 | - | - | huntgroup:Front | 10 | 6 | 0 | - | queue',
      '1.4 | - | 3 | - | 0 | 7 | - | - | -',
      '1.5 | 1 | - | - | 12 | 2 | - | - | -',
      '1.6 | 2 | - | - | 10 | - | - | - | -',
      '1.7 | - | - | queue:603 | 10 | - | - | - | -',
      '1.8 | - | 1 | - | 10 | 10 | - | - | -',
      '1.9 | 3 | 1 | - | 10 | 10 | - | - | -',
    ]));

  test('joins every dimension by one key each, which is NULL where there is none', () =>
    expectRows(`
      select c.call_id, c.local_date::text, reporting.number_name(c.account_number), k.number, k.area_code, q.queue_name, u.user_name
      from reporting.fct_call c
        left join reporting.dim_contact k on k.number = c.external_number
        left join reporting.dim_queue q on q.queue_key = coalesce(c.queue_key, c.huntgroup_key)
        left join reporting.dim_user u on u.user_key = c.answered_user_key
      where c.call_id in ('1.1', '1.3', '1.9') order by 1`).toEqual([
      '1.1 | 2026-03-02 | 15559990000 | 15550000001 | 555 | Support | User 1',
      '1.3 | 2026-03-02 | 15559990000 | 15550000001 | 555 | Front | -',
      '1.9 | 2026-03-02 | - | - | - | - | User 3',
    ]));

  test('credits who is learned later', async () => {
    await state('2.1', { called_number: '204' });
    await state('2.2', {}, ['user:204 0 1 9']);
    await facts.measure('2.1');
    const answered = `select answered_user_key from reporting.fct_call where call_id in ('2.1', '2.2') order by call_id`;
    await expectRows(answered).toEqual(['-', '-']);
    await facts.user(4, ['204']);
    await expectRows(answered).toEqual(['4', '4']);
  });

  test('knows business hours, by the clock of the schedule, and holidays', async () => {
    // Monday, from nine until five; Monday after the clock went forward; Saturday; the holiday.
    await calls(`
      call_id started_at
      4.1     13:59:59
      4.2     14:00
      4.3     22:00
      4.4     03-09T13:00
      4.5     03-07T16:00
      4.6     03-03T16:00`);
    await expectRows(
      `select call_id from reporting.fct_call where call_id ~ '^4' and is_business_hours order by 1`,
    ).toEqual(['4.2', '4.4']);
  });
});

describe('fct_queue_visit', () => {
  const visits = (id: string) =>
    expectRows(
      `select visit_number, queue_key, outcome, wait_seconds, wait_basis, next_queue_key from reporting.fct_queue_visit
       where call_id = $1 order by 1`,
      id,
    );

  test('tells what happened in each queue, and follows a leg that is told otherwise', async () => {
    await visits('1.1').toEqual([
      '1 | queue:601 | overflowed | 30 | legs | queue:602',
      '2 | queue:602 | answered | 23 | legs | -',
    ]);
    await visits('1.3').toEqual(['1 | huntgroup:Front | abandoned | 10 | legs | -']);
    const third = `where call_id = '1.1' and ordinal = 3`;
    await query(
      `update warehouse.call_legs set started_at = started_at - interval '2 seconds', called_number = '609' ${third}`,
    );
    await facts.drain();
    await visits('1.1').toEqual([
      '1 | queue:601 | overflowed | 28 | legs | queue:609',
      '2 | queue:609 | answered | 25 | legs | -',
    ]);
  });

  test('knows queues that the call itself or a search names, and says no more of two', async () => {
    await visits('1.7').toEqual(['1 | queue:603 | missed | 10 | duration_minus_talk | -']);
    const found = { call_id: '1.7', kind: 'queue', endpoint: '602', role: 'entered', started_at: '15:00' };
    await insert('warehouse.call_attributions', { ...found, source: 'search_filter' });
    await facts.drain();
    await visits('1.7').toEqual([
      '1 | queue:602 | unknown | - | unknown | -',
      '2 | queue:603 | unknown | - | unknown | -',
    ]);
  });
});

describe('the dimensions', () => {
  test('dim_queue has the queues that calls entered, each once, and keeps its keys through a rebuild', async () => {
    await using own = await factsDatabase();
    const queues = () => own.expectRows('select queue_key, kind, queue_name from reporting.dim_queue order by 1');
    await own.call({ call_id: '1.1', started_at: '15:00' }, [
      'queue:601 0 1 0',
      'queue:602:Support 1 1 0',
      'user:1 2 1 9',
    ]);
    await own.call({ call_id: '1.2', started_at: '15:00', status: 'missed' }, ['huntgroup::Front 0 1 0']);
    await own.call({
      call_id: '1.3',
      started_at: '15:00',
      status: 'missed',
      called_type: 'queue',
      called_number: '603',
    });
    await own.drain();
    const later = ['huntgroup:Front | huntgroup | Front', 'queue:602 | queue | Support', 'queue:603 | queue | 603'];
    const expected = later.toSpliced(1, 0, 'queue:601 | queue | 601');
    await queues().toEqual(expected);
    await rebuildRollups(own.db);
    await queues().toEqual(expected);
    // Entered a day later, under another name; an older day that is counted again does not take that back.
    await own.call({ call_id: '3.1', started_at: '03-03T15:00' }, ['queue:601:Vertrieb 0 1 0']);
    await own.drain();
    await rebuildRollups(own.db, { from: new Date('2026-03-02T15:00Z'), to: new Date('2026-03-02T16:00Z') });
    await queues().toEqual(later.toSpliced(1, 0, 'queue:601 | queue | Vertrieb'));
  });

  test('a number of the account is named by its line, else by itself', async () => {
    await using own = await factsDatabase();
    const read = { content_hash: 'h', source: 'test', fetch_seq: 1, fetched_at: '15:00' };
    await own.insert('warehouse.sms_lines', { line: '15559990001', name: 'Shop', ...read });
    await own
      .expectRows(
        `select number_name, reporting.number_name(null) as none from unnest(array['15559990001', '15559990002']) n, reporting.number_name(n)`,
      )
      .toEqual(['Shop | -', '15559990002 | -']);
  });

  test('dim_contact has everybody who called or texted, and nobody who was erased', async () => {
    await using own = await factsDatabase();
    await own.thread(1, [['15:00', 'in']], { number: '12125550123' });
    await own.calls(`
      call_id started_at external_number caller_name
      4.1     15:05      15550000007     Old
      4.2     15:06      15550000007     New
      4.3     15:07      15550000008     -`);
    await own.query(`insert into ops.erasures (number_hash) select ops.erasure_hash('15550000008')`);
    await own.drain();
    await own
      .expectRows('select number, contact_name, area_code from reporting.dim_contact order by 1')
      .toEqual(['12125550123 | - | 212', '15550000007 | New | 555']);
    await own.insert('warehouse.contacts', { number: '15550000007', name: 'Listed', owner: 'Sam', tags: ['vip'] });
    await own
      .expectRows(`
      select contact_name, company, owner, language, tags from reporting.dim_contact where number = '15550000007'`)
      .toEqual(['Listed | - | Sam | - | vip']);
  });

  test.each([
    ['dim_user', 'user_key'],
    ['dim_queue', 'queue_key'],
    ['dim_contact', 'number'],
  ])('%s has a key that is unique and never NULL', (name, key) =>
    expectRows(
      `select count(*) > 0 as is_filled, count(*) = count(distinct ${key}) as is_key from reporting.${name}`,
    ).toEqual(['true | true']),
  );
});

test('the comment of each view begins with what one row is', async () => {
  const comments = `select obj_description(c.oid) from pg_class c where c.relnamespace = 'reporting'::regnamespace and c.relkind = 'v'`;
  const all = await facts.lines(comments);
  expect(all.length).toBeGreaterThan(15);
  expect(all.filter((comment) => !comment.startsWith('One row per '))).toEqual([]);
});
