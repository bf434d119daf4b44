import { beforeEach, expect, test } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import { settleManually } from '../../src/ledger/outcome.ts';
import { cancelSend } from '../../src/ledger/plans.ts';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { recordFollowing } from '../../src/warehouse/what-follows.ts';
import { openLedgerStores } from './ledger-stores.ts';
import { openLedger } from './ledger-world.ts';

/* Whatever changes a send marks its days: the totals that reports show are those of a count from scratch. */

const { clear, database, sandbox } = await openLedgerStores();
const { db, query, value } = database;
beforeEach(async () => {
  await clear();
  await query('truncate rollups.rule_outcome_rollup, rollups.sms_cost_rollup, ops.send_markers');
  await drainOutcomes(db);
});

const totals = async () => [
  await query(
    'select * from rollups.rule_outcome_rollup where planned_count > 0 order by local_date, rule, version, mode',
  ),
  await query('select * from rollups.sms_cost_rollup order by local_date, line'),
];

/** Drains, and compares the totals with those that are counted from scratch, as after a change of the time zone. */
async function expectEven(): Promise<void> {
  expect(Number(await value('select count(*) from ops.send_markers'))).toBeGreaterThan(0);
  await drainOutcomes(db);
  const kept = await totals();
  await query('update ops.outcome_state set time_zone = null');
  await drainOutcomes(db);
  expect(kept).toEqual(await totals());
}

test('a send that is planned, sent and answered', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line, number } = await ledger.answer();
  await expectEven();
  expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
  await expectEven();
  const reply = { line, number, at: new Date(Date.now() + 60_000) };
  await inTransaction(db, (tx) =>
    recordFollowing(tx, { replies: [reply, { ...reply, at: new Date(Date.now() - 60_000) }] }),
  );
  expect(await query('select planned_at is not null as is_planned from ops.send_markers')).toEqual([
    { is_planned: true },
  ]);
});

test('a reservation of yesterday, sent today', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer();
  await ledger.hangIn('RESERVED', sendId);
  await query(
    `update ops.sends set reserved_at = now() - interval '1 day', due_at = now() - interval '1 second' where send_id = $1`,
    sendId,
  );
  await query('update ops.outcome_state set time_zone = null');
  await drainOutcomes(db);
  expect(await value('select count(*)::int from rollups.sms_cost_rollup')).toBe(1);
  await ledger.dispatcher.drain();
  expect(await ledger.state(sendId)).toBe('SENT');
  await expectEven();
});

test('a send whose answer was lost, and that a person settles', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer();
  sandbox.faults({ kind: 'reset', when: 'before', times: 1, operation: 'sendMessage' });
  expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
  await expectEven();
  expect(await settleManually(db, sendId, 'NOT_SENT', { isInsisted: true })).toBe(true);
  await expectEven();
});

test('a send that a newer one supersedes, and what it had reserved', async () => {
  const ledger = await openLedger(database, sandbox);
  const first = await ledger.answer({}, { sentAt: new Date(Date.now() - 3_000).toISOString() });
  await ledger.hangIn('RESERVED', first.sendId);
  const second = await ledger.answer({ number: first.number }, { text: 'And tomorrow?' });
  await expectEven();
  await ledger.dispatcher.sweep(10);
  expect(await value('select reserved_micros::int from ops.sends where send_id = $1', first.sendId)).toBe(0);
  await expectEven();
  expect(await cancelSend(db, second.sendId, { by: 'a test' })).toBe(true);
  await expectEven();
});

test('a send of somebody who is erased', async () => {
  const ledger = await openLedger(database, sandbox);
  const sent = await ledger.answer();
  await ledger.dispatcher.advance(sent.sendId);
  await ledger.answer({ number: sent.number, rule: 'other' }, { text: 'More' });
  await drainOutcomes(db);
  await query('select ops.erase_sends($1)', sent.number);
  await expectEven();
});
