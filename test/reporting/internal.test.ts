import { afterAll, beforeAll, test } from 'vitest';
import type { CallSummary } from '../../src/api-client/client.ts';
import { call as entity } from '../../src/api-client/entities/call-schemas.ts';
import { writeCalls } from '../../src/warehouse/write-calls.ts';
import { asRead, ignored, readNumber } from '../warehouse/reads.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { expectRows } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const main = '15559990000';
const did = '15559990001';
const customer = '15552220001';
const ours = { callerType: 'user', callerNumber: '201', callerIdExternal: main };
const theirs = { direction: 'inbound', callerType: 'external', callerNumber: `+${customer}`, dialledNumber: main };
const undirected = { direction: undefined, ...ours };
const to = (calledType: string, calledNumber: string) => ({ calledType, calledNumber });

/** Calls as the service reports them, with whether both ends are the account's own and who the other party is. */
const cases: readonly (readonly [string, object, boolean, string | null])[] = [
  ['to a customer', { ...ours, ...to('external', customer) }, false, customer],
  ['into the mailbox of a customer', { ...ours, ...to('mailbox', customer) }, false, customer],
  ['into it, ten digits', { ...ours, ...to('mailbox', '(555) 222-0001') }, false, customer],
  ['into it, by name', { ...ours, ...to('mailbox', 'vm'), dialledNumber: customer }, false, customer],
  ['into a menu of a customer', { ...ours, ...to('ivr', customer) }, false, customer],
  ['to a type of no known name', { ...ours, ...to('fax', customer) }, false, customer],
  ['without a type', { ...ours, calledNumber: customer }, false, customer],
  ['to a user who is no number of ours', { ...ours, ...to('user', customer) }, false, customer],
  ['abroad', { ...ours, ...to('mailbox', '+442079460123') }, false, '442079460123'],
  ['to a short code', { ...ours, ...to('external', '911') }, false, null],
  ['to a colleague', { ...ours, ...to('user', '202'), dialledNumber: '202' }, true, null],
  ['to a colleague’s own number', { ...ours, ...to('user', did), dialledNumber: did }, true, null],
  ['into a colleague’s mailbox', { ...ours, ...to('mailbox', '202') }, true, null],
  ['into it, by their own number', { ...ours, ...to('mailbox', did) }, true, null],
  ['into it, by name', { ...ours, ...to('mailbox', 'Sales'), dialledNumber: '*98' }, true, null],
  ['to a line of ours', { ...ours, ...to('mailbox', main) }, true, null],
  ['to a queue', { ...ours, ...to('queue', '6001') }, true, null],
  ['from a customer', { ...theirs, ...to('user', '201') }, false, customer],
  ['from a customer into a mailbox', { ...theirs, ...to('mailbox', '201') }, false, customer],
  ['from a customer of another type', { ...theirs, callerType: 'sip', calledType: 'mailbox' }, false, customer],
  ['from a colleague', { direction: 'inbound', ...ours, ...to('user', '202') }, true, null],
  ['of no direction, to a colleague', { ...undirected, ...to('user', '202') }, true, null],
  ['of no direction, into a customer’s mailbox', { ...undirected, ...to('mailbox', customer) }, false, null],
];
const idOf = (nth: number) => `${1772460000 + nth}.1`;
const startOf = (nth: number) => new Date((1772460000 + nth) * 1_000).toISOString();
const common = { direction: 'outbound', status: 'voicemail', statusCode: 0, durationSeconds: 30, talkTimeSeconds: 20 };

beforeAll(async () => {
  await facts.user(1, ['201']);
  await facts.user(2, ['202']);
  await facts.insert('warehouse.user_endpoints', { user_id: 2, kind: 'number', endpoint: did });
  const provenance = { content_hash: 'h', source: 'test', fetch_seq: 1, fetched_at: '10:00' };
  await facts.insert('warehouse.sms_lines', { line: main, ...provenance });
  const rows = cases.map(([, values], nth) => ({ id: idOf(nth), startTime: startOf(nth), ...common, ...values }));
  const reads = asRead<CallSummary>(entity, rows).map((call) => ({ call, read: readNumber(1) }));
  await facts.db.transaction().execute((tx) => writeCalls(tx, ignored, reads));
  await facts.drain();
});

test.each(cases.map((each, nth) => [nth, ...each] as const))('%i: a call %s', (nth, _, __, isInternal, number) =>
  expectRows('select is_internal, external_number from reporting.fct_call where call_id = $1', idOf(nth)).toEqual([
    `${isInternal} | ${number ?? '-'}`,
  ]),
);

test('a day holds all calls of the account: internal ones are a direction of their own', () =>
  expectRows(
    'select direction, sum(call_count) as calls, sum(answered_count) as answered from reporting.call_hourly group by 1 order by 1',
  ).toEqual(['inbound | 3 | 0', 'internal | 9 | 0', 'outbound | 10 | 0', 'unknown | 1 | 0']));

test('an outbound call that ended in the mailbox of the customer is in the totals, and returns a missed call', async () => {
  const handled = `select direction, sum(handled_count) as calls from reporting.agent_hourly
    where user_key = 1 and direction in ('internal', 'outbound') group by 1 order by 1`;
  await expectRows(handled).toEqual(['internal | 9', 'outbound | 10']);
  await facts.call({ call_id: '1.1', started_at: '12:00', status: 'missed', external_number: '442079460123' });
  await facts.drain();
  await expectRows(`select returned_by from reporting.missed_calls where call_id = '1.1'`).toEqual(['outbound_call']);
});
