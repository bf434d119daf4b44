import { beforeEach, expect, test } from 'vitest';
import type { Sent } from '../../src/api-client/client.ts';
import { pauseSends, readControl, resumeSends } from '../../src/ledger/control.ts';
import { until } from '../world.ts';
import { openLedgerStores } from './ledger-stores.ts';
import { type LedgerWorld, openLedger, putInForce } from './ledger-world.ts';

/*
 * What becomes of a send that the gates or the budgets keep back. What they decide is in `gates/judge.test.ts` and
 * `budgets.test.ts`, what they go by in `gates/inputs.test.ts`, and the switch in `control.test.ts`.
 */

const { ask, books, clear, database, posts, sandbox } = await openLedgerStores();
beforeEach(clear);

const number = '12125550188';
const unsent = '0 sends, 0 reserved, 0 spent';

test('quiet hours hold a send until the window opens, and do not make it too old', async () => {
  const ledger = await openLedger(database, sandbox);
  const always = { from: '00:00', to: '23:59' };
  const { sendId } = await ledger.answer({ number, limits: { quietHours: always, maxAgeSeconds: 60 } });
  expect(await ledger.dispatcher.advance(sendId)).toBe('held');
  const times = `select reason, due_at > now() as later, expires_at - due_at = interval '1 minute' as fresh,
    to_char(due_at at time zone 'America/New_York', 'HH24:MI') as local from ops.sends`;
  const reason = 'gate:quiet_hours';
  expect(await database.query(times)).toEqual([{ reason, later: true, fresh: true, local: '23:59' }]);
  expect(posts()).toBe(0);
});

test('a number that the line has blocked gets nothing: that would be charged and not delivered', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line } = await ledger.answer({ number });
  await ask('POST', `/api/public/v1/sms/lines/${line}/blocked`, { number });
  await ledger.dispatcher.advance(sendId);
  expect(await ledger.state(sendId)).toBe('DENIED gate:blocked');
  expect(posts()).toBe(0);
});

test('the service is believed that a number is not blocked any more; a trial goes by the newest text', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line } = await ledger.answer({ number });
  await ask('POST', `/api/public/v1/sms/lines/${line}/blocked`, { number });
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
  await sandbox.emit.sms({ line, number, direction: 'out', text: 'Hi', announce: false, sentAt: hourAgo });
  await ledger.mirror(line, number);
  const trial = await ledger.answer({ number, rule: 'trial', mode: 'dry-run' });
  await ledger.dispatcher.advance(trial.sendId);
  expect(await ledger.state(trial.sendId)).toBe('DENIED gate:blocked');
  await database.query('update ops.sends set trigger_id = $2 where send_id = $1', sendId, trial.triggerId);

  // An answer that says neither way lets nothing out, and denies nothing.
  sandbox.faults({ kind: 'answer', status: 503, times: 1, operation: 'getBlockedSender' });
  expect(await ledger.dispatcher.advance(sendId)).toBe('replanned');
  await ledger.makeDue(sendId);
  const unblocked = await openLedger(database, sandbox, { isBlocked: async () => false });
  expect(await unblocked.dispatcher.advance(sendId)).toBe('sent');
});

test.each(['live', 'dry-run'] as const)('a budget that is used up refuses a %s send', async (mode) => {
  const ledger = await openLedger(database, sandbox, { limits: { perAccount: 0 }, mode });
  const { sendId } = await ledger.answer({ number, mode });
  expect(await ledger.dispatcher.advance(sendId)).toBe('denied');
  expect(await ledger.state(sendId)).toBe('DENIED gate:budget_account');
  expect(posts()).toBe(0);
});

test('a send waits while another one holds what it needs, and is denied once that is spent', async () => {
  const ledger = await openLedger(database, sandbox, { limits: { perAccount: 1 } });
  const [first, second] = [await ledger.answer(), await ledger.answer()];
  await ledger.hangIn('RESERVED', first.sendId);
  expect(await ledger.dispatcher.advance(second.sendId)).toBe('held');
  expect(await ledger.state(second.sendId)).toBe('HELD gate:budget_account');
  await ledger.makeDue(first.sendId);
  expect(await ledger.dispatcher.advance(first.sendId)).toBe('replanned');
  await ledger.makeDue(second.sendId);
  expect(await ledger.dispatcher.advance(second.sendId)).toBe('sent');
  await ledger.makeDue(first.sendId);
  expect(await ledger.dispatcher.advance(first.sendId)).toBe('denied');
  expect(await ledger.state(first.sendId)).toBe('DENIED gate:budget_account');
});

test('two workers keep within the cap when a text costs much more than they thought', async () => {
  const limits = { dailyMicros: 500_000 };
  const ledger = await openLedger(database, sandbox, { limits });
  /** The sandbox, but each text costs 35 cents. */
  const send: LedgerWorld['deps']['messages']['send'] = async (...asked) => {
    const { data, ...answer } = await ledger.deps.messages.send(...asked);
    const messages = data.messages?.map((each) => ({ ...each, unitPrice: 0.35, price: 0.35 }));
    return { ...answer, data: { ...data, billing: { ...data.billing, totalPrice: 0.35 }, messages } as Sent };
  };
  const dear = () => openLedger(database, sandbox, { messages: { send } });
  const workers = await Promise.all([dear(), dear()]);
  for (let at = 0; at < 4; at += 1) await ledger.answer();
  await until(async () => {
    await Promise.all(workers.map(({ dispatcher }) => dispatcher.drain()));
    const left = `select count(*)::int from ops.sends where state in ('PLANNED', 'HELD', 'RESERVED')`;
    return (await database.value(left)) === 0;
  });
  expect(posts()).toBe(1);
  expect(await books()).toBe('1 sends, 0 reserved, 350000 spent');
});

test('a send that was reserved at a price that has risen since is reserved again', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer({ number });
  const dearer = 'update ops.send_control set highest_unit_micros = 70000, highest_unit_at = now()';
  const late = ledger.meanwhile(() => database.query(dearer));
  expect(await late.advance(sendId)).toBe('replanned');
  expect(posts()).toBe(0);
  expect(await books()).toBe(unsent);
  expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
});

test('after the kill switch nothing leaves, also what is reserved already; a resume lets it out', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer({ number });
  const paused = ledger.meanwhile(() => pauseSends(database.db, 'a test'));
  expect(await paused.advance(sendId)).toBe('paused');
  expect(posts()).toBe(0);
  expect(await ledger.dispatcher.drain()).toBe(0);
  expect(await readControl(database.db)).toMatchObject({ isPaused: true, reason: 'a test', by: 'operator' });
  await resumeSends(database.db);
  await ledger.dispatcher.drain();
  expect(await ledger.state(sendId)).toBe('SENT');
});

test.each([
  ['off', 'DENIED gate:rule_off'],
  ['dry-run', 'DENIED dry_run'],
])('a text that waits is not sent when its rule is %s once the thread is read', async (mode, state) => {
  const ledger = await openLedger(database, sandbox);
  await putInForce(database, { rules: [{ name: 'test', mode: 'live' }] });
  const { sendId } = await ledger.answer({ ruleVersion: '1' });
  const changing = ledger.meanwhile(() => putInForce(database, { rules: [{ name: 'test', mode }] }));
  expect(await changing.advance(sendId)).toBe('denied');
  expect(await ledger.state(sendId)).toBe(state);
  expect(posts()).toBe(0);
  expect(await books()).toBe(unsent);
});
