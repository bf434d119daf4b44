import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, insert, lines, query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

/** Monday; New York is five hours behind UTC until the 8th. */
const day = '2026-03-02';
const at = (seconds: number) => new Date(Date.parse(`${day}T15:00:00Z`) + seconds * 1_000).toISOString();

interface LegFacts {
  /** `user 201`, `queue 601 Sales`, `ivr`, `external`, `mailbox`; undefined is not reported. */
  readonly to: string | undefined;
  readonly from?: string;
  readonly start: number;
  readonly ring: number;
  readonly talk: number;
}

const end = (side: 'caller' | 'called', text: string | undefined) => {
  const [kind = null, number = null, name = null] = text?.split(' ') ?? [];
  return { [`${side}_type`]: kind, [`${side}_number`]: number, [`${side}_name`]: name };
};

async function callWith(id: string, values: Record<string, unknown>, legs: readonly LegFacts[]): Promise<void> {
  const length = Math.max(...legs.map(({ start, ring, talk }) => start + ring + talk));
  await call({
    ...{ call_id: id, started_at: at(0), ended_at: at(length), duration_seconds: length, talk_seconds: 1 },
    ...{ legs_fetched_at: at(600), leg_count: legs.length, ...values },
  });
  for (const [index, { to, from, start, ring, talk }] of legs.entries()) {
    await insert('warehouse.call_legs', {
      ...{ call_id: id, leg_key: String(index), ordinal: index + 1, started_at: at(start), talk_seconds: talk },
      ...{ duration_seconds: ring + talk, ...end('called', to), ...end('caller', from ?? 'external') },
    });
  }
  await facts.measure(id);
}

const rowOf = async (id: string, columns: string) => {
  const [row] = await query(`select ${columns} from reporting.fct_call where call_id = $1`, id);
  return row;
};

beforeAll(async () => {
  await facts.params({ time_zone: 'America/New_York' });
  await query(`update reporting.schedules set time_zone = 'America/New_York'`);
  await facts.user(1, ['201']);
  await facts.user(2, ['202']);
  await facts.user(3, ['203']);
});

describe('fct_call', () => {
  const way = `answered_user_key::integer as answered, placed_user_key::integer as placed, queue_key as queue, huntgroup_key as huntgroup,
    wait_seconds as wait, ring_seconds as ring, ring_basis, menu_seconds as menu, menu_basis, transferred_count as transfers`;

  beforeAll(async () => {
    // 12 s of menu, 30 s in Sales, over into Support for 10 s, 202 rings for 8 s and does not answer, 201 after 5 s more; then to 203.
    await callWith('1.1', { transferred_count: 1 }, [
      { to: 'ivr', start: 0, ring: 0, talk: 12 },
      { to: 'queue 601 Sales', from: 'ivr', start: 12, ring: 30, talk: 0 },
      { to: 'queue 602 Support', from: 'queue', start: 42, ring: 10, talk: 0 },
      { to: 'user 202', from: 'queue', start: 52, ring: 8, talk: 0 },
      { to: 'user 201', from: 'queue', start: 60, ring: 5, talk: 100 },
      { to: 'user 203', from: 'user 201', start: 165, ring: 20, talk: 50 },
    ]);
    // Given up in the menu.
    await callWith('1.2', { status: 'missed', is_abandoned: true }, [{ to: 'ivr', start: 0, ring: 0, talk: 9 }]);
    // Given up in the front desk's huntgroup, while 202's telephone rang for 6 s.
    await callWith('1.3', { status: 'missed', is_abandoned: true }, [
      { to: 'huntgroup  Front', start: 0, ring: 4, talk: 0 },
      { to: 'user 202', from: 'huntgroup', start: 4, ring: 6, talk: 0 },
    ]);
    // Outbound: the customer's telephone rang for 7 s.
    await callWith('1.4', { direction: 'outbound', caller_type: 'user', called_type: 'external' }, [
      { to: 'external', from: 'user 203', start: 0, ring: 7, talk: 40 },
    ]);
    // A leg that does not say where it went could be a menu or not.
    await callWith('1.5', {}, [
      { to: undefined, start: 0, ring: 0, talk: 10 },
      { to: 'user 201', start: 10, ring: 2, talk: 10 },
    ]);
    // Not read whole: its ends tell who, and an outbound call how long it rang.
    const summary = { started_at: at(0), duration_seconds: 30, talk_seconds: 20 };
    await call({ ...summary, call_id: '1.6', called_type: 'user', called_number: '202' });
    await call({ ...summary, call_id: '1.7', status: 'missed', called_type: 'queue', called_number: '603' });
    const outbound = { direction: 'outbound', caller_type: 'user', caller_number: '201', called_type: 'external' };
    await call({ ...summary, ...outbound, call_id: '1.8' });
    const internal = { called_type: 'user', called_number: '203', is_internal: true };
    await call({
      ...{ ...summary, ...outbound, ...internal, call_id: '1.9', external_number: null, account_number: null },
    });
    await facts.measure('1.6', '1.7', '1.8', '1.9');
    await facts.drain();
  });

  const none = { answered: null, placed: null, queue: null, huntgroup: null };
  const unknown = { menu: null, menu_basis: 'unknown' };
  test.each([
    [
      'through two queues',
      '1.1',
      {
        ...{ ...none, answered: 1, queue: 'queue:602', wait: 53, ring: 13, ring_basis: 'legs', menu: 12 },
        ...{ menu_basis: 'legs', transfers: 1 },
      },
    ],
    ['given up in the menu', '1.2', { ...none, ring: 0, ring_basis: 'legs', menu: 9, menu_basis: 'legs' }],
    [
      'given up while a telephone rang',
      '1.3',
      { ...none, huntgroup: 'huntgroup:Front', wait: 10, ring: 6, ring_basis: 'legs', menu: 0, menu_basis: 'legs' },
    ],
    ['outbound', '1.4', { ...none, placed: 3, ring: 7, ring_basis: 'legs', ...unknown }],
    ['with a leg of unknown kind', '1.5', { ...none, answered: 1, ring: 2, ...unknown }],
    ['not read whole', '1.6', { ...none, answered: 2, ring: null, ring_basis: 'unknown', ...unknown }],
    ['not read whole, to a queue', '1.7', { ...none, queue: 'queue:603' }],
    ['not read whole, outbound', '1.8', { ...none, placed: 1, ring: 10, ring_basis: 'duration_minus_talk' }],
    ['among colleagues', '1.9', { ...none, answered: 3, placed: 1 }],
  ])('knows the way of a call %s', async (_, id, expected) => {
    expect(await rowOf(id, way)).toMatchObject(expected);
  });

  test('joins every dimension by one key each, and unknown where there is none', async () => {
    const keys = 'local_date::text, number_key, contact_key';
    expect(await rowOf('1.1', keys)).toEqual({
      ...{ local_date: '2026-03-02', number_key: '15559990000', contact_key: '15550000001' },
    });
    expect(await rowOf('1.9', keys)).toMatchObject({ number_key: 'unknown', contact_key: 'unknown' });
    expect(
      await lines(
        `select c.call_id, d.day_name, n.is_line, k.area_code, q.queue_name, u.user_name
         from reporting.fct_call c
           join reporting.dim_date d on d.local_date = c.local_date
           join reporting.dim_number n on n.number_key = c.number_key
           join reporting.dim_contact k on k.contact_key = c.contact_key
           left join reporting.dim_queue q on q.queue_key = coalesce(c.queue_key, c.huntgroup_key)
           left join reporting.dim_user u on u.user_key = c.answered_user_key
         where c.call_id in ('1.1', '1.3', '1.9') order by 1`,
      ),
    ).toEqual([
      '1.1 | Mon | false | 555 | Support | User 1',
      '1.3 | Mon | false | 555 | Front | -',
      '1.9 | Mon | false | - | - | User 3',
    ]);
  });

  test('credits who is learned later', async () => {
    await call({ call_id: '1.10', started_at: at(0), called_type: 'user', called_number: '204' });
    await callWith('1.11', {}, [{ to: 'user 204', start: 0, ring: 1, talk: 9 }]);
    await facts.measure('1.10');
    const answered = () =>
      query(
        `select answered_user_key::integer as id from reporting.fct_call where call_id in ('1.10', '1.11') order by call_id`,
      );
    expect(await answered()).toEqual([{ id: null }, { id: null }]);
    await facts.user(4, ['204']);
    expect(await answered()).toEqual([{ id: 4 }, { id: 4 }]);
  });

  test.each([
    ['opens on Monday at nine', '2026-03-02T14:00:00Z', true],
    ['is closed a second before', '2026-03-02T13:59:59Z', false],
    ['is closed from five on', '2026-03-02T22:00:00Z', false],
    ['is open an hour earlier by UTC after the clock went forward', '2026-03-09T13:00:00Z', true],
    ['is closed on Saturday', '2026-03-07T16:00:00Z', false],
    ['is closed on a holiday', '2026-03-03T16:00:00Z', false],
  ])('knows business hours: it %s', async (_, startedAt, isOpen) => {
    await query(`insert into reporting.holidays values (1, '2026-03-03', 'Day') on conflict do nothing`);
    const id = `2.${Date.parse(startedAt)}`;
    await call({ call_id: id, started_at: startedAt });
    expect(await rowOf(id, 'is_business_hours as is_open')).toEqual({ is_open: isOpen });
  });
});

describe('fct_queue_visit', () => {
  const visits = (id: string) =>
    query(
      `select visit_number as nr, queue_key as queue, outcome, wait_seconds as wait, wait_basis as basis, next_queue_key as next
       from reporting.fct_queue_visit where call_id = $1 order by 1`,
      id,
    );
  const told = { basis: 'legs', next: null };

  test('tells what happened in each queue, from its own entry', async () => {
    expect(await visits('1.1')).toEqual([
      { ...told, nr: 1, queue: 'queue:601', outcome: 'overflowed', wait: 30, next: 'queue:602' },
      { ...told, nr: 2, queue: 'queue:602', outcome: 'answered', wait: 23 },
    ]);
    expect(await visits('1.3')).toEqual([{ ...told, nr: 1, queue: 'huntgroup:Front', outcome: 'abandoned', wait: 10 }]);
  });

  test('knows where the caller gave up', async () => {
    const stage = async (id: string) => (await rowOf(id, 'abandoned_in'))?.abandoned_in;
    expect([await stage('1.1'), await stage('1.2'), await stage('1.3')]).toEqual([null, 'menu', 'queue']);
  });

  test('knows queues that the call itself or a search names, and says no more of two', async () => {
    const summary = { ...told, basis: 'unknown', wait: null };
    expect(await visits('1.7')).toEqual([
      { ...summary, nr: 1, queue: 'queue:603', outcome: 'missed', wait: 10, basis: 'duration_minus_talk' },
    ]);
    const found = { call_id: '1.7', kind: 'queue', endpoint: '602', role: 'entered', started_at: at(0) };
    await insert('warehouse.call_attributions', { ...found, source: 'search_filter' });
    await facts.drain();
    expect(await visits('1.7')).toEqual([
      { ...summary, nr: 1, queue: 'queue:602', outcome: 'unknown' },
      { ...summary, nr: 2, queue: 'queue:603', outcome: 'unknown' },
    ]);
    await query(`delete from warehouse.call_attributions where call_id = '1.7'`);
  });

  test('follows a leg that is told otherwise, although the wait of the call stays', async () => {
    await query(`update warehouse.call_legs set started_at = $1 where call_id = '1.1' and ordinal = 3`, at(40));
    await facts.drain();
    expect((await visits('1.1')).map(({ wait }) => wait)).toEqual([28, 25]);
    await query(`update warehouse.call_legs set called_number = '609' where call_id = '1.1' and ordinal = 3`);
    await facts.drain();
    expect((await visits('1.1')).map(({ queue }) => queue)).toEqual(['queue:601', 'queue:609']);
    await query(`update warehouse.call_legs set called_number = '602' where call_id = '1.1' and ordinal = 3`);
    await facts.drain();
  });
});

describe('the dimensions', () => {
  test('dim_queue has the queues that calls entered, each once, and keeps its keys through a rebuild', async () => {
    const queues = () =>
      query('select queue_key, kind, queue_name, last_call_date::text as last from reporting.dim_queue order by 1');
    const expected = [
      { queue_key: 'huntgroup:Front', kind: 'huntgroup', queue_name: 'Front', last: day },
      { queue_key: 'queue:601', kind: 'queue', queue_name: '601', last: day },
      { queue_key: 'queue:602', kind: 'queue', queue_name: 'Support', last: day },
      { queue_key: 'queue:603', kind: 'queue', queue_name: '603', last: day },
      { queue_key: 'queue:609', kind: 'queue', queue_name: '609', last: day },
    ];
    expect(await queues()).toEqual(expected);
    await rebuildRollups(facts.db);
    expect(await queues()).toEqual(expected);
    // Answered from it a day later, under another name; an older day that is counted again does not take that back.
    await callWith('3.1', { started_at: at(86_400), called_type: 'user' }, [
      { to: 'queue 601 Vertrieb', start: 86_400, ring: 1, talk: 0 },
    ]);
    await facts.drain();
    await rebuildRollups(facts.db, { from: new Date(at(0)), to: new Date(at(3_600)) });
    expect((await queues())[1]).toMatchObject({ queue_name: 'Vertrieb', last: '2026-03-03' });
  });

  test('dim_number has what the directory and the facts have', async () => {
    const line = { name: 'Shop', is_bulk_enabled: true, is_unrestricted: true };
    await insert('warehouse.sms_lines', {
      ...{ ...line, line: '15559990001', content_hash: 'h', source: 'test', fetch_seq: 1, fetched_at: at(0) },
    });
    await insert('warehouse.user_endpoints', { user_id: 2, kind: 'number', endpoint: '15559990002' });
    await facts.thread(1, [[at(0), 'in']], { number: '12125550123' });
    await facts.drain();
    expect(
      await lines(
        `select number_key, account_number, number_name, user_key::integer as owner, is_line, last_call_date is not null as has_calls
         from reporting.dim_number order by 1`,
      ),
    ).toEqual([
      '15559990000 | 15559990000 | 15559990000 | - | false | true',
      '15559990001 | 15559990001 | Shop | - | true | false',
      '15559990002 | 15559990002 | 15559990002 | 2 | false | false',
      'unknown | - | unknown | - | false | false',
    ]);
  });

  test('dim_contact has everybody who called or texted, and nobody who was erased', async () => {
    await call({ call_id: '4.1', started_at: at(5), external_number: '15550000007', caller_name: 'Old' });
    await call({ call_id: '4.2', started_at: at(6), external_number: '15550000007', caller_name: 'New' });
    await call({ call_id: '4.3', started_at: at(7), external_number: '15550000008' });
    await query(`insert into ops.erasures (number_hash) select ops.erasure_hash('15550000008')`);
    await facts.drain();
    expect(
      await lines(
        `select contact_key, contact_name, area_code from reporting.dim_contact where contact_key <> '15550000001' order by 1`,
      ),
    ).toEqual(['12125550123 | - | 212', '15550000007 | New | 555', 'unknown | unknown | -']);
    await query(
      `insert into warehouse.contacts (number, name, owner, tags) values ('15550000007', 'Listed', 'Sam', '{vip}')`,
    );
    expect(
      await query(
        `select contact_name, company, owner, language, tags from reporting.dim_contact where contact_key = '15550000007'`,
      ),
    ).toEqual([{ contact_name: 'Listed', company: null, owner: 'Sam', language: null, tags: ['vip'] }]);
  });

  test('their keys are unique and never NULL', async () => {
    for (const [name, key] of [
      ...[
        ['dim_user', 'user_key'] as const,
        ['dim_queue', 'queue_key'] as const,
        ['dim_number', 'number_key'] as const,
      ],
      ...[['dim_contact', 'contact_key'] as const, ['dim_date', 'local_date'] as const],
    ]) {
      expect(
        await query(`select count(*) = count(distinct ${key}) as is_key from reporting.${name}`),
        `${name}.${key}`,
      ).toEqual([{ is_key: true }]);
    }
  });
});

test('totals of numbers and missed calls join where no number is reported', async () => {
  await call({
    ...{ call_id: '5.1', started_at: '2026-03-20T15:00:00Z', status: 'missed', talk_seconds: 0, is_abandoned: true },
    account_number: null,
  });
  await facts.drain();
  expect(
    await query(
      `select n.account_number, n.number_key, n.call_count as calls, m.call_id
       from reporting.call_hourly n join reporting.missed_calls m on m.local_date = n.local_date and m.number_key = n.number_key
       where n.local_date = '2026-03-20'`,
    ),
  ).toEqual([{ account_number: null, number_key: 'unknown', calls: 1, call_id: expect.any(String) }]);
});

test('the comment of each view begins with what one row is', async () => {
  expect(
    await query(
      `select c.relname from pg_class c where c.relnamespace = 'reporting'::regnamespace and c.relkind = 'v'
         and obj_description(c.oid) not like 'One row per %'`,
    ),
  ).toEqual([]);
  expect(await value(`select count(*)::integer from pg_views where schemaname = 'reporting'`)).toBeGreaterThan(20);
});
