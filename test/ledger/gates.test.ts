import { beforeEach, describe, expect, test } from 'vitest';
import type { Messages, Sent } from '../../src/api-client/client.ts';
import { query } from '../../src/db/database.ts';
import { pauseSends, readControl, recordUnitPrice, resumeSends } from '../../src/ledger/control.ts';
import { accountLimits, defaultAccountLimits, type RuleLimits } from '../../src/ledger/limits.ts';
import { countWaiting, decideOptOut, listWaiting } from '../../src/ledger/opt-outs.ts';
import type { SendPlan } from '../../src/ledger/send.ts';
import type { SmsEvent } from '../../src/sandbox/traffic/events.ts';
import { superuserUrlOf } from '../stores/databases.ts';
import { openDatabase, waitingForLocks } from '../world/database.ts';
import { until } from '../world.ts';
import { openLedgerStores } from './ledger-stores.ts';
import { type LedgerWorld, openLedger, putInForce } from './ledger-world.ts';

const { ask, clear, database, posts, sandbox } = await openLedgerStores();
beforeEach(clear);

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
const number = '12125550188';

/** A user's own number, as the mirror holds it: nothing ends its validity. */
const ownDid = '16465550999';
await database.query(
  `insert into warehouse.user_endpoints (user_id, kind, endpoint) values (1, 'number', $1) on conflict do nothing`,
  ownDid,
);

const block = (line: string, blocked: string) =>
  ask('POST', `/api/public/v1/sms/lines/${line}/blocked`, { number: blocked });

interface Refusal {
  readonly name: string;
  readonly before?: readonly SmsEvent[];
  readonly plan?: Partial<SendPlan>;
  readonly trigger?: SmsEvent;
  readonly countries?: readonly string[];
  readonly state: string;
}

test.each<Refusal>([
  { name: 'a number that wrote STOP', before: [{ text: 'STOP', sentAt: ago(600) }], state: 'DENIED gate:opted_out' },
  {
    name: 'a number that may have opted out within a longer text',
    before: [{ text: `Who is this? ${'We have lived here for years. '.repeat(8)}Stop texting me`, sentAt: ago(600) }],
    state: 'DENIED gate:opt_out_unsure',
  },
  {
    name: 'a text that may be an opt-out',
    trigger: { text: 'Please don’t text me after 9pm' },
    state: 'DENIED gate:opt_out_unsure',
  },
  { name: 'a number of one of our users', plan: { number: ownDid }, state: 'DENIED gate:own_number' },
  { name: 'a short code', plan: { number: '72345' }, state: 'DENIED gate:short_code' },
  {
    name: 'a thread in which a person wrote',
    before: [{ direction: 'out', text: 'Hi', sentBy: 1, sentAt: ago(60) }],
    state: 'DENIED gate:human_wrote',
  },
  {
    name: 'a machine that says the same again',
    before: [
      { text: 'We got your text', sentAt: ago(90) },
      { text: 'We got your text', sentAt: ago(50) },
    ],
    trigger: { text: 'we got your text!' },
    state: 'DENIED gate:loop_identical',
  },
  { name: 'the echo of our own words', trigger: { text: 'What we said' }, state: 'DENIED gate:loop_echo' },
  {
    name: 'a number whose zone nobody knows',
    plan: { number: '999123456789', limits: {} },
    countries: ['999'],
    state: 'DENIED gate:unknown_zone',
  },
  { name: 'a number abroad', plan: { number: '447700900123' }, state: 'DENIED gate:country' },
  {
    name: 'a premium-rate number, although its country is listed',
    plan: { number: '19005550123' },
    countries: ['1'],
    state: 'DENIED gate:costly_number',
  },
  { name: 'a trigger that is too old', plan: { limits: { maxAgeSeconds: -1 } }, state: 'EXPIRED gate:too_old' },
])('refuses $name', async ({ before = [], plan = {}, trigger = {}, countries, state }) => {
  const ledger = await openLedger(database, sandbox, { limits: countries ? { countries } : {} });
  const [user] = await ask<{ id: number }[]>('GET', '/api/public/v1/users');
  const earlier = await ledger.answer({ number, text: 'What we said' }, { sentAt: ago(3_600) });
  await database.query(
    `update ops.sends set state = 'SENT', dispatched_at = now() - interval '1 hour', settled_at = now() where send_id = $1`,
    earlier.sendId,
  );
  for (const event of before) {
    await sandbox.emit.sms({
      line: earlier.line,
      number,
      announce: false,
      ...event,
      ...(event.sentBy && { sentBy: user?.id ?? 0 }),
    });
  }
  const { sendId } = await ledger.answer({ number, ...plan }, trigger);
  await ledger.dispatcher.advance(sendId);
  expect(await ledger.state(sendId)).toBe(state);
  expect(posts()).toBe(0);
});

describe('after an unsure text', () => {
  const by = 'a test';
  const otherLine = '15559990007';
  /** Plans and advances a reply to a new text, and returns its state. */
  async function reply(ledger: LedgerWorld, line: string, rule: string, text = 'When do you open?') {
    const { sendId } = await ledger.answer({ number, line, rule }, { text, line });
    await ledger.dispatcher.advance(sendId);
    return ledger.state(sendId);
  }
  async function unsure(sentAt = ago(60)) {
    const ledger = await openLedger(database, sandbox);
    const { line } = await ledger.answer({ number }, { text: 'not interested', sentAt });
    return { ledger, line };
  }

  test('none of their next texts is answered, until a person clears it', async () => {
    const { ledger, line } = await unsure();
    expect(await reply(ledger, line, 'next')).toBe('DENIED gate:opt_out_unsure');
    expect(await listWaiting(database.db, 10)).toMatchObject([
      { number, lines: [line], textCount: 1, text: 'not interested' },
    ]);
    expect(await decideOptOut(database.db, number, 'clear', { by })).toBe('done');
    expect(await listWaiting(database.db, 10)).toEqual([]);
    expect(await reply(ledger, line, 'cleared')).toBe('SENT');
    expect(await decideOptOut(database.db, number, 'clear', { by })).toBe('not_waiting');
  });

  test('nothing leaves from another line', async () => {
    const { ledger, line } = await unsure();
    await database.query('update warehouse.sms_messages set line = $1 where line = $2', otherLine, line);
    await database.query('update warehouse.sms_conversations set line = $1 where line = $2', otherLine, line);
    expect(await reply(ledger, line, 'elsewhere')).toBe('DENIED gate:opt_out_unsure');
  });

  test('a START ends it', async () => {
    const { ledger, line } = await unsure();
    expect(await reply(ledger, line, 'started', 'START')).toBe('SENT');
    expect(await countWaiting(database.db)).toBe(0);
  });

  test('a confirmed one is an opt-out on every line, until a START or until it is cleared', async () => {
    const { ledger, line } = await unsure();
    expect(await decideOptOut(database.db, number, 'confirm', { by })).toBe('done');
    expect(await countWaiting(database.db)).toBe(0);
    expect(await reply(ledger, line, 'confirmed')).toBe('DENIED gate:opted_out');
    expect(await database.query('select decision, source, decided_by from ops.opt_outs')).toEqual([
      { decision: 'opt_out', source: 'person', decided_by: by },
    ]);
    expect(await decideOptOut(database.db, number, 'clear', { by })).toBe('done');
    expect(await reply(ledger, line, 'mistaken')).toBe('SENT');
    await decideOptOut(database.db, number, 'confirm', { by });
    await database.query(`update ops.opt_outs set decided_at = decided_at - interval '1 minute'`);
    expect(await reply(ledger, line, 'started', 'Start')).toBe('SENT');
  });

  test('a text that came after the decision waits for another one', async () => {
    const { ledger, line } = await unsure();
    await decideOptOut(database.db, number, 'clear', { by });
    expect(await reply(ledger, line, 'again', 'I said stop texting')).toBe('DENIED gate:opt_out_unsure');
    expect(await listWaiting(database.db, 10)).toMatchObject([{ textCount: 1, text: 'I said stop texting' }]);
  });

  test('a person who has not seen the newest text decides nothing', async () => {
    const { ledger, line } = await unsure();
    const [shown] = await listWaiting(database.db, 10);
    if (!shown) throw new Error('nobody waits');
    await reply(ledger, line, 'again', 'leave me alone');
    expect(await decideOptOut(database.db, number, 'clear', { by, seenAt: shown.seenAt })).toBe('newer_text');
    const [newer] = await listWaiting(database.db, 10);
    if (!newer) throw new Error('nobody waits');
    expect(await decideOptOut(database.db, number, 'clear', { by, seenAt: newer.seenAt })).toBe('done');
  });

  test('a decision does not end a STOP', async () => {
    const { ledger, line } = await unsure();
    expect(await reply(ledger, line, 'stop', 'STOP')).toBe('DENIED gate:opted_out');
    expect(await countWaiting(database.db), 'who opted out needs no decision').toBe(0);
    expect(await decideOptOut(database.db, number, 'clear', { by })).toBe('not_waiting');
    expect(await reply(ledger, line, 'later')).toBe('DENIED gate:opted_out');
  });
});

test('sends nothing that still waits when a newer text may be an opt-out', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line } = await ledger.answer({ number }, { sentAt: ago(60) });
  await sandbox.emit.sms({ line, number, text: 'not interested', announce: false, sentAt: ago(30) });
  await ledger.mirror(line, number);
  await ledger.dispatcher.advance(sendId);
  expect(await ledger.state(sendId)).toBe('DENIED gate:opt_out_unsure');
});

test('refuses a sender whom the line has blocked, since that would be charged and not delivered', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line } = await ledger.answer({ number });
  await block(line, number);
  await ledger.dispatcher.advance(sendId);
  expect(await ledger.state(sendId)).toBe('DENIED gate:blocked');
});

test('believes the service that a number is not blocked, whatever an older text says', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line } = await ledger.answer({ number });
  await block(line, number);
  await sandbox.emit.sms({ line, number, direction: 'out', text: 'Hi', announce: false, sentAt: ago(3_600) });
  await ledger.mirror(line, number);
  expect(await database.value(`select is_blocked from warehouse.sms_messages where direction = 'out'`)).toBe(true);
  // A dry run asks nothing, and goes by the older text.
  const trial = await ledger.answer({ number, rule: 'trial', mode: 'dry-run' });
  await ledger.dispatcher.advance(trial.sendId);
  expect(await ledger.state(trial.sendId)).toBe('DENIED gate:blocked');
  await database.query('update ops.sends set trigger_id = $2 where send_id = $1', sendId, trial.triggerId);

  // An answer that says neither way lets nothing out, and denies nothing.
  sandbox.faults({ kind: 'answer', status: 503, times: 1, operation: 'getBlockedSender' });
  expect(await ledger.dispatcher.advance(sendId)).toBe('replanned');
  // Somebody lifts the block in the portal.
  const unblocked = await openLedger(database, sandbox, { isBlocked: async () => false });
  await ledger.makeDue(sendId);
  expect(await unblocked.dispatcher.advance(sendId)).toBe('sent');
});

test('refuses a line of the account itself', async () => {
  const ledger = await openLedger(database, sandbox);
  const own = await ledger.answer({ number });
  await database.query(
    `insert into warehouse.sms_lines (line, content_hash, source, fetch_seq, fetched_at) values ($1, '', 'test', 1, now())`,
    number,
  );
  await ledger.dispatcher.advance(own.sendId);
  expect(await ledger.state(own.sendId)).toBe('DENIED gate:own_number');
});

test('an erased number leaves the ledger, and what waited for it is denied', async () => {
  const ledger = await openLedger(database, sandbox);
  const sent = await ledger.answer({ number });
  await ledger.dispatcher.advance(sent.sendId);
  const waiting = await ledger.answer(
    { number, rule: 'other' },
    { text: 'More', sentAt: new Date(Date.now() + 9_000).toISOString() },
  );
  await database.query('select ops.erase_sends($1)', number);
  expect(await ledger.state(waiting.sendId)).toBe('DENIED gate:erased');
  expect(await database.query(`select from ops.sends where number = $1 or body <> ''`, number)).toEqual([]);
  expect(await database.query(`select from ops.send_budgets where scope like '%' || $1`, number)).toEqual([]);
  expect(await database.value(`select spent_micros::int from ops.send_budgets where scope = 'account'`)).toBe(10_000);
});

test('quiet hours hold a send until the window opens, and do not make it too old', async () => {
  const ledger = await openLedger(database, sandbox);
  const always = { from: '00:00', to: '23:59' };
  const { sendId } = await ledger.answer({ number, limits: { quietHours: always, maxAgeSeconds: 60 } });
  expect(await ledger.dispatcher.advance(sendId)).toBe('held');
  expect(
    await database.query(
      `select extract(timezone_hour from due_at)::int as z, due_at > now() as later, expires_at - due_at = interval '1 minute' as fresh,
      to_char(due_at at time zone 'America/New_York', 'HH24:MI') as local from ops.sends where send_id = $1`,
      sendId,
    ),
  ).toMatchObject([{ later: true, fresh: true, local: '23:59' }]);
  expect(posts()).toBe(0);
});

test.each([
  { limits: { perThread: 0 }, reason: 'gate:budget_thread' },
  { limits: { perAccount: 0 }, reason: 'gate:budget_account' },
  { limits: { dailyMicros: 49_999 }, reason: 'gate:budget_money' },
])('a budget that is used up refuses: $reason', async ({ limits, reason }) => {
  const ledger = await openLedger(database, sandbox, { limits });
  const { sendId } = await ledger.answer({ number });
  await ledger.dispatcher.advance(sendId);
  expect(await ledger.state(sendId)).toBe(`DENIED ${reason}`);
  const dry = await openLedger(database, sandbox, { limits, mode: 'dry-run' });
  const other = await ledger.answer({ number: '12125550189', mode: 'dry-run' });
  await dry.dispatcher.advance(other.sendId);
  expect(await ledger.state(other.sendId)).toBe(`DENIED ${reason}`);
});

test('no limit can be switched off, whatever stands in its place', () => {
  for (const value of [Number.POSITIVE_INFINITY, Number.NaN, -1, 1.5, null, undefined, '9']) {
    const given = {
      perThread: value,
      perAccount: value,
      dailyMicros: value,
      unitMicros: value,
    } as never;
    expect(accountLimits(given)).toEqual(defaultAccountLimits);
  }
  expect(accountLimits({ perThread: 1e9, dailyMicros: 1e12 })).toMatchObject({
    perThread: 10,
    dailyMicros: 1_000_000_000,
  });
});

/** The sandbox, but each text of one segment costs so many micro-dollars. */
const charging = (own: LedgerWorld, next: () => number): Messages => ({
  async send(...asked) {
    const answer = await own.deps.messages.send(...asked);
    const totalPrice = next() / 1e6;
    const messages = answer.data.messages?.map((each) => ({ ...each, unitPrice: totalPrice, price: totalPrice }));
    return { ...answer, data: { ...answer.data, billing: { ...answer.data.billing, totalPrice }, messages } as Sent };
  },
});

describe('a price that rises', () => {
  test('by less than tenfold passes the cap with no text, not even with a lone one', async () => {
    const limits = { dailyMicros: 30_000_000 };
    const prices = [11_000_000, 20_000_000];
    const priced = await openLedger(database, sandbox, { limits });
    const messages = charging(priced, () => prices.shift() ?? 0);
    const ledger = await openLedger(database, sandbox, { limits, messages });
    const [first, second] = [await ledger.answer(), await ledger.answer()];
    expect(await ledger.dispatcher.advance(first.sendId)).toBe('sent');
    await ledger.dispatcher.advance(second.sendId);
    expect(await ledger.state(second.sendId)).toBe('DENIED gate:budget_money');
  });

  test('and was wrong is forgotten after a day', async () => {
    const ledger = await openLedger(database, sandbox);
    await ledger.deps.db.transaction().execute((tx) => recordUnitPrice(tx, 11_000_000));
    const [first, second, third] = [await ledger.answer(), await ledger.answer(), await ledger.answer()];
    await ledger.dispatcher.advance(first.sendId);
    expect(await ledger.state(first.sendId)).toBe('DENIED gate:budget_money');
    await database.query(`update ops.send_control set highest_unit_at = now() - interval '24 hours'`);
    expect(await ledger.dispatcher.advance(second.sendId)).toBe('sent');
    expect(await readControl(database.db)).toMatchObject({ highestUnitMicros: 10_000 });
    expect(await ledger.dispatcher.advance(third.sendId)).toBe('sent');
  });
});

describe('many workers together', () => {
  /** Lets two workers take sends, several at a time, until none is left; answers with what was charged. */
  async function spend(dailyMicros: number, count: number, unitMicros: number): Promise<number> {
    const limits = { dailyMicros };
    const ledger = await openLedger(database, sandbox, { limits });
    const workers = await Promise.all(
      [1, 2].map(() => openLedger(database, sandbox, { limits, messages: charging(ledger, () => unitMicros) })),
    );
    for (let at = 0; at < count; at += 1) await ledger.answer({}, { sentAt: ago(at + 1) });
    await Promise.all(workers.map(({ dispatcher }) => dispatcher.drain()));
    const left = `select count(*)::int from ops.sends where state in ('PLANNED', 'HELD', 'RESERVED')`;
    await until(async () => {
      await Promise.all(workers.map(({ dispatcher }) => dispatcher.drain()));
      return (await database.value(left)) === 0;
    });
    expect((await database.query('select reserved_micros::int from ops.send_budgets'))[0]).toEqual({
      reserved_micros: 0,
    });
    return posts() * unitMicros;
  }

  test('keep within the cap when a text costs much more than they thought', async () => {
    expect(await spend(500_000, 12, 350_000)).toBe(350_000);
  });

  test('deny nothing for what others have only reserved', async () => {
    expect(await spend(220_000, 12, 10_000)).toBe(120_000);
    expect(await ledgerStates()).toEqual([{ state: 'SENT', count: 12 }]);
  });

  test('deny nothing for the number of sends that others are at', async () => {
    const limits = { perAccount: 1 };
    const ledger = await openLedger(database, sandbox, { limits });
    const [first, second] = [await ledger.answer(), await ledger.answer()];
    const hung = await openLedger(database, sandbox, { limits, readThread: () => new Promise(() => undefined) });
    void hung.dispatcher.advance(first.sendId);
    await expect.poll(() => ledger.state(first.sendId)).toBe('RESERVED');
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

  const ledgerStates = () =>
    database.query<{ state: string; count: number }>(
      `select concat_ws(' ', state, reason) as state, count(*)::int from ops.sends group by 1 order by 1`,
    );
});

test('a send that was reserved at a price that has risen since is reserved again', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer({ number });
  const late = await openLedger(database, sandbox, {
    readThread: async (thread) => {
      const isWhole = await ledger.deps.readThread(thread);
      await database.query('update ops.send_control set highest_unit_micros = 70000, highest_unit_at = now()');
      return isWhole;
    },
  });
  expect(await late.dispatcher.advance(sendId)).toBe('replanned');
  expect(posts()).toBe(0);
  expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
});

describe('a person who answers at once', () => {
  /** They answer each of our texts so many seconds after it; answers with what became of our replies. */
  async function exchange(seconds: number, replies: number, given: RuleLimits = {}): Promise<string[]> {
    const limits = { perThread: 10 };
    const ledger = await openLedger(database, sandbox, { limits });
    // The mirror keeps the moments that are written into it.
    const blind = await openLedger(database, sandbox, { limits, readThread: async () => true });
    const moment = (reply: number) => 600 - reply * 60;
    const states: string[] = [];
    for (let at = 0; at < replies; at += 1) {
      const own = { quietHours: 'none', maxAgeSeconds: 900, ...given } as const;
      const sentAt = ago(at === 0 ? 700 : moment(at - 1) - seconds);
      const { sendId } = await ledger.answer(
        { number, text: `Question ${at}`, limits: own },
        { text: `${at}`, sentAt },
      );
      await database.query(
        `update warehouse.sms_messages m set sent_at = date_trunc('second', now()) - (600 - 60 * (o.place - 1)) * interval '1 second'
         from (select message_id, row_number() over (order by message_id) as place from warehouse.sms_messages where direction = 'out') o
         where m.message_id = o.message_id`,
      );
      await blind.dispatcher.advance(sendId);
      states.push(await ledger.state(sendId));
    }
    return states;
  }

  test('once is answered, and every time is taken for a machine', async () => {
    expect(await exchange(2, 3)).toEqual(['SENT', 'SENT', 'DENIED gate:loop_too_fast']);
  });

  test('but not that fast is always answered', async () => {
    expect(await exchange(5, 4)).toEqual(Array(4).fill('SENT'));
  });
});

test('after the kill switch nothing leaves, also what is reserved already; a resume lets it out', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer({ number });
  const paused = await openLedger(database, sandbox, {
    readThread: async (thread) => {
      const isWhole = await ledger.deps.readThread(thread);
      await pauseSends(database.db, 'a test');
      return isWhole;
    },
  });
  expect(await paused.dispatcher.advance(sendId)).toBe('paused');
  expect(posts()).toBe(0);
  expect(await ledger.dispatcher.drain()).toBe(0);
  expect(await readControl(database.db)).toMatchObject({ isPaused: true, reason: 'a test', by: 'operator' });
  await resumeSends(database.db);
  await ledger.dispatcher.drain();
  expect(await ledger.state(sendId)).toBe('SENT');
});

test('a resume that waits for a send, while that send waits for the switch, comes through', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer({ number });
  await pauseSends(database.db, 'a test');
  await using admin = openDatabase(superuserUrlOf(database.url));
  const { resuming } = await admin.db.transaction().execute(async (tx) => {
    // Of two that wait for each other, the resume is the one that is given up, and tried again.
    await query(tx, `set local deadlock_timeout = '1min'`, []);
    await query(tx, 'select from ops.sends where send_id = $1 for update', [sendId]);
    const resuming = resumeSends(database.db);
    await until(async () => (await database.value(waitingForLocks)) === 1);
    await recordUnitPrice(tx, 1);
    return { resuming };
  });
  await resuming;
  expect(await readControl(database.db)).toMatchObject({ isPaused: false, highestUnitMicros: 1 });
});

/* A group goes by the number of its first member: what the others say in it is not said by that one. */

const [first, second] = ['12125559001', '12125559002'];
const participants = [first, second];

/** Says words in the group, one after the other, and answers what the first member says to us alone. */
async function answerAfter(said: readonly { number: string; text: string }[]): Promise<string> {
  const ledger = await openLedger(database, sandbox);
  const line = String((await ledger.answer()).line);
  for (const [at, each] of said.entries()) {
    const sentAt = new Date(Date.now() - 60_000 + at * 10_000).toISOString();
    await sandbox.emit.sms({ line, participants, announce: false, sentAt, ...each });
  }
  await ledger.deps.readThread({ line, number: first, participants });
  const { sendId } = await ledger.answer({ number: first });
  await ledger.dispatcher.advance(sendId);
  return ledger.state(sendId);
}

test('a member of a group is not out because another one opted out in it', async () => {
  expect(await answerAfter([{ number: second, text: 'STOP' }])).toBe('SENT');
});

test('a member who opted out in a group stays out when another one opts in', async () => {
  const said = [
    { number: first, text: 'STOP' },
    { number: second, text: 'START' },
  ];
  expect(await answerAfter(said)).toBe('DENIED gate:opted_out');
});

type Listed = readonly { readonly name: string; readonly mode: string }[];

const load = (rules: Listed) => putInForce(database, { rules });

const inForce = (mode: string): Listed => [
  { name: 'other', mode: 'live' },
  { name: 'test', mode },
];

/** A text that a rule planned while it was live. */
async function planned(): Promise<{ ledger: LedgerWorld; sendId: string }> {
  const ledger = await openLedger(database, sandbox);
  await load(inForce('live'));
  const { sendId } = await ledger.answer({ ruleVersion: '1' });
  return { ledger, sendId };
}

const fates = [
  { now: 'off', rules: inForce('off'), state: 'DENIED gate:rule_off' },
  { now: 'gone', rules: [], state: 'DENIED gate:rule_off' },
  { now: 'on trial', rules: inForce('dry-run'), state: 'DENIED dry_run' },
] as const;

test.each(fates)(
  'a text that waits is not sent when its rule is $now once the thread is read',
  async ({ rules, state }) => {
    const { ledger, sendId } = await planned();
    const changing = await openLedger(database, sandbox, {
      readThread: async (thread) => {
        await load(rules);
        return ledger.deps.readThread(thread);
      },
    });
    expect(await changing.dispatcher.advance(sendId)).toBe('denied');
    expect(await ledger.state(sendId)).toBe(state);
    expect(posts()).toBe(0);
    const books = 'select distinct sends_count, reserved_micros::int from ops.send_budgets';
    expect(await database.query(books)).toEqual([{ sends_count: 0, reserved_micros: 0 }]);
  },
);

test('a text that no rule planned is sent, whatever rules are in force', async () => {
  const ledger = await openLedger(database, sandbox);
  const byHand = await ledger.answer();
  await load([]);
  expect(await ledger.dispatcher.advance(byHand.sendId)).toBe('sent');
});
