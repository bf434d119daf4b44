import { afterAll, beforeAll, expect, test } from 'vitest';
import { call as entity } from '../../src/api-client/entities/calls.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { asRead, ignored, readNumber } from '../warehouse/reads.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const main = '15559990000';
const did = '15559990001';
const customer = '15552220001';
const ours = { callerType: 'user', callerNumber: '201', callerIdExternal: main };
const theirs = { callerType: 'external', callerNumber: `+${customer}`, dialledNumber: main };

/** Calls as the service reports them, with whether both ends are the account's own and who the other party is. */
const cases: readonly (readonly [string, object, boolean, string | null])[] = [
  ['to a customer', { ...ours, calledType: 'external', calledNumber: customer }, false, customer],
  ['into the mailbox of a customer', { ...ours, calledType: 'mailbox', calledNumber: customer }, false, customer],
  ['into it, ten digits', { ...ours, calledType: 'mailbox', calledNumber: '(555) 222-0001' }, false, customer],
  [
    'into it, by name',
    { ...ours, calledType: 'mailbox', calledNumber: 'vm', dialledNumber: customer },
    false,
    customer,
  ],
  ['into a menu of a customer', { ...ours, calledType: 'ivr', calledNumber: customer }, false, customer],
  ['to a type of no known name', { ...ours, calledType: 'fax', calledNumber: customer }, false, customer],
  ['without a type', { ...ours, calledNumber: customer }, false, customer],
  ['to a user who is no number of ours', { ...ours, calledType: 'user', calledNumber: customer }, false, customer],
  ['abroad', { ...ours, calledType: 'mailbox', calledNumber: '+442079460123' }, false, '442079460123'],
  ['to a short code', { ...ours, calledType: 'external', calledNumber: '911' }, false, null],
  ['to a colleague', { ...ours, calledType: 'user', calledNumber: '202', dialledNumber: '202' }, true, null],
  ['to a colleague’s own number', { ...ours, calledType: 'user', calledNumber: did, dialledNumber: did }, true, null],
  ['into a colleague’s mailbox', { ...ours, calledType: 'mailbox', calledNumber: '202' }, true, null],
  ['into it, by their own number', { ...ours, calledType: 'mailbox', calledNumber: did }, true, null],
  ['into it, by name', { ...ours, calledType: 'mailbox', calledNumber: 'Sales', dialledNumber: '*98' }, true, null],
  ['to a line of ours', { ...ours, calledType: 'mailbox', calledNumber: main }, true, null],
  ['to a queue', { ...ours, calledType: 'queue', calledNumber: '6001' }, true, null],
  ['from a customer', { direction: 'inbound', ...theirs, calledType: 'user', calledNumber: '201' }, false, customer],
  [
    'from a customer into a mailbox',
    { direction: 'inbound', ...theirs, calledType: 'mailbox', calledNumber: '201' },
    false,
    customer,
  ],
  [
    'from a customer of another type',
    { direction: 'inbound', ...theirs, callerType: 'sip', calledType: 'mailbox' },
    false,
    customer,
  ],
  ['from a colleague', { direction: 'inbound', ...ours, calledType: 'user', calledNumber: '202' }, true, null],
  [
    'of no direction, to a colleague',
    { direction: undefined, ...ours, calledType: 'user', calledNumber: '202' },
    true,
    null,
  ],
  [
    'of no direction, into the mailbox of a customer',
    { direction: undefined, ...ours, calledType: 'mailbox', calledNumber: customer },
    false,
    null,
  ],
];
const read = (nth: number, values: object) =>
  asRead(entity, [
    {
      ...{ id: `${1772460000 + nth}.1`, direction: 'outbound', status: 'voicemail', statusCode: 0 },
      ...{
        startTime: new Date((1772460000 + nth) * 1_000).toISOString(),
        durationSeconds: 30,
        talkTimeSeconds: 20,
        ...values,
      },
    },
  ]);

beforeAll(async () => {
  await facts.user(1, ['201']);
  await facts.user(2, ['202']);
  await query(`insert into warehouse.user_endpoints (user_id, kind, endpoint) values (2, 'number', $1)`, did);
  await facts.insert('warehouse.sms_lines', {
    line: main,
    content_hash: 'h',
    source: 'test',
    fetch_seq: 1,
    fetched_at: new Date(),
  });
  await facts.db.transaction().execute((tx) =>
    writeCalls(
      tx,
      ignored,
      cases.flatMap(([, values], nth) => read(nth, values).map((call) => ({ call, read: readNumber(1) }))),
    ),
  );
  await facts.drain();
});

test.each(cases.map((each, nth) => [nth, ...each] as const))(
  '%i: a call %s',
  async (nth, _, __, isInternal, number) => {
    expect(
      await query(
        'select is_internal, external_number from reporting.fct_call where call_id = $1',
        `${1772460000 + nth}.1`,
      ),
    ).toEqual([{ is_internal: isInternal, external_number: number }]);
  },
);

test('a day holds all calls of the account: internal ones are a direction of their own', async () => {
  const of = (direction: string) =>
    cases.filter(([, values, isInternal]) => {
      const given = 'direction' in values ? (values.direction ?? 'unknown') : 'outbound';
      return (isInternal ? 'internal' : given) === direction;
    }).length;
  const directions = ['inbound', 'internal', 'outbound', 'unknown'];
  expect(
    await query(
      `select direction, sum(call_count)::integer as calls, sum(answered_count)::integer as answered
       from reporting.call_hourly where local_date = '2026-03-02' group by 1 order by 1`,
    ),
  ).toEqual(directions.map((direction) => ({ direction, calls: of(direction), answered: 0 })));
});

test('an outbound call that ended in the mailbox of the customer is in the totals, and returns a missed call', async () => {
  const outside = cases.filter(([, values, isInternal]) => !isInternal && !('direction' in values)).length;
  expect(await value(`select sum(call_count)::integer from reporting.call_hourly where direction = 'outbound'`)).toBe(
    outside,
  );
  expect(
    await query(
      `select direction, sum(handled_count)::integer as calls from reporting.agent_hourly where user_key = 1 and direction in ('internal', 'outbound') group by 1 order by 1`,
    ),
  ).toEqual([
    { direction: 'internal', calls: cases.filter(([, values, isInternal]) => isInternal && values).length },
    { direction: 'outbound', calls: outside },
  ]);
  await facts.call({
    call_id: '1772450000.1',
    started_at: '2026-03-02T12:00:00Z',
    status: 'missed',
    external_number: '442079460123',
  });
  await facts.drain();
  expect(await query(`select returned_by from reporting.missed_calls where call_id = '1772450000.1'`)).toEqual([
    { returned_by: 'outbound_call' },
  ]);
});
