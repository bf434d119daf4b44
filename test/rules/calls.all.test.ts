import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { explain } from '../../src/rules/explain.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { simulate } from '../../src/rules/simulate/simulate.ts';
import type { CallEvent } from '../../src/sandbox/traffic/events.ts';
import { until } from '../world.ts';
import { options } from './refusal.ts';
import { createRulesWorld, type RulesWorld } from './rules-world.ts';

/* Which calls get a text, by the rules as they are shipped but for the wait, live. */

const shipped = (await readFile('config/rules.yaml', 'utf8')).replace('    after: 2m\n', '');
const sorry = 'Sorry that we missed your call. How can we help? You can answer right here.';
const thanks = 'We have your voicemail and will get back to you.';

const menu = { calledType: 'ivr', talkSeconds: 20 } as const;
const queue = { calledType: 'queue', status: 'cancel', ringSeconds: 15 } as const;
const user = { calledType: 'user', status: 'noanswer', ringSeconds: 15 } as const;
const mailbox = (talkSeconds: number) => ({ calledType: 'mailbox', talkSeconds }) as const;

const mobile = '19175550110';
let next = 0;
/** A caller whom nothing is known of. */
const caller = () => `12125550${100 + next++}`;

interface Case {
  readonly what: string;
  readonly call: CallEvent;
  readonly texts: readonly string[];
}

const missed = (more: Partial<CallEvent>): CallEvent => ({
  direction: 'inbound',
  status: 'missed',
  abandoned: true,
  group: 'Service',
  number: caller(),
  ...more,
});
const voicemail = (more: Partial<CallEvent>) => missed({ status: 'voicemail', ...more });
const queued = [menu, queue];
const shown = (fields: Record<string, unknown>) => missed({ legs: queued, shown: fields });

const cases = (): Case[] => [
  { what: 'heard the menu for 20 s', call: missed({ legs: [menu] }), texts: [] },
  { what: 'heard the menu for 90 s', call: missed({ legs: [{ ...menu, talkSeconds: 90 }] }), texts: [] },
  { what: 'heard the menu for 3 s', call: missed({ legs: [{ ...menu, talkSeconds: 3 }] }), texts: [] },
  { what: 'gave up in the queue', call: missed({ legs: queued }), texts: [sorry] },
  { what: 'rang at a user', call: missed({ legs: [menu, { ...queue, status: 'noanswer' }, user] }), texts: [sorry] },
  { what: 'dialled a user', call: missed({ legs: [user] }), texts: [sorry] },
  { what: 'hung up at the mailbox', call: voicemail({ legs: [menu, user, mailbox(1)] }), texts: [] },
  { what: 'left a message', call: voicemail({ legs: [menu, user, mailbox(30)], recorded: true }), texts: [thanks] },
  {
    what: 'was talked with',
    call: missed({ status: 'answered', legs: [menu, { ...user, status: 'answer', talkSeconds: 30 }] }),
    texts: [],
  },
  { what: 'called another user', call: missed({ direction: 'internal' }), texts: [] },
  { what: 'was called by us', call: missed({ direction: 'outbound' }), texts: [] },
  { what: 'hid the number', call: shown({ callerNumber: 'anonymous', callerIdExternal: '' }), texts: [] },
  { what: 'hid it as zeros', call: missed({ legs: queued, number: '0000000000' }), texts: [] },
  { what: 'hid it as RESTRICTED', call: missed({ legs: queued, number: '7378742833' }), texts: [] },
  { what: 'has an impossible number', call: missed({ legs: queued, number: '2121550123' }), texts: [] },
  {
    what: 'is of another country',
    call: shown({ callerNumber: '3612345678', callerIdExternal: '+36 1 234 5678' }),
    texts: [],
  },
  {
    what: 'is of another country, by a plus',
    call: shown({ callerNumber: '+3612345678', callerIdExternal: '' }),
    texts: [],
  },
  { what: 'is of another country, by 011', call: shown({ callerNumber: '0113612345678' }), texts: [] },
  { what: 'is a user at the mobile', call: missed({ legs: queued, number: mobile }), texts: [] },
  {
    what: 'is an extension',
    call: shown({ callerType: null, callerNumber: '101', callerIdExternal: mobile }),
    texts: [],
  },
  {
    what: 'is an extension that shows another number',
    call: shown({ callerType: null, callerNumber: '101', callerIdExternal: caller() }),
    texts: [],
  },
  { what: 'is one of our lines', call: missed({ legs: queued, number: '16465550101' }), texts: [] },
  { what: 'dialled a number that cannot text', call: shown({ dialledNumber: '16465559999' }), texts: [] },
  {
    what: 'went where no leg says',
    call: shown({ calledType: null, legs: [{ uniqueId: '1783385493.1' }] }),
    texts: [],
  },
  {
    what: 'went into a menu in other keys',
    call: shown({ calledType: 'user', legs: [{ type: 'IVR', status: 'ANSWERED', talkDuration: 20 }] }),
    texts: [],
  },
  {
    what: 'hung up at the mailbox, in other keys',
    call: voicemail({
      shown: {
        legs: [{ destinationType: 'phone' }, { destinationType: 'mailbox', talkDuration: 1 }],
        talkTimeSeconds: 21,
      },
    }),
    texts: [],
  },
  {
    what: 'went into a queue in other words',
    call: shown({
      legs: [
        { calledType: 'IVR', status: 'ANSWERED' },
        { calledType: 'HuntGroup', status: 'NO ANSWER' },
      ],
    }),
    texts: [sorry],
  },
];

// What is decided does not depend on the queue; `event-processor.test.ts` runs rules on both.
describe('the shipped rules, live', async () => {
  const world: RulesWorld = await createRulesWorld(shipped, 'live', 'redis');
  const { sandbox, query, value } = world;
  afterAll(() => world.close());

  /** Resolves when the rules have judged a call, and nothing is under way because of it. */
  async function judged(callId: string): Promise<void> {
    const isJudged = `select exists (select from warehouse.calls where call_id = $1)
      and not exists (select from ops.rule_events where key = $1)
      and not exists (select from ops.sends where state in ('PLANNED', 'HELD', 'RESERVED', 'DISPATCHED'))`;
    await world.settled();
    await until(
      async () => (await value(isJudged, callId)) === true,
      async () => JSON.stringify(await query('select kind, key, noted_at, due_at from ops.rule_events')),
    );
  }

  /** What was charged from the given send on: recipients and texts. */
  async function charges(from: number): Promise<{ to: string; text: string }[]> {
    const charged = sandbox
      .sends(100_000)
      .slice(from)
      .filter(({ charge }) => charge !== null);
    const rows = await query<{ number: string; body: string }>(
      `select number, body from ops.sends where state = 'SENT' order by dispatched_at offset $1`,
      from,
    );
    expect(rows.map(({ number }) => number)).toEqual(charged.flatMap(({ charge }) => charge?.to));
    return rows.map(({ number, body }) => ({ to: number, text: body }));
  }

  test.each(cases())('whoever $what gets $texts', async ({ call, texts }) => {
    const from = sandbox.sends(100_000).length;
    const { id } = await sandbox.emit.call(call);
    await judged(id);
    expect(await charges(from)).toEqual(texts.map((text) => ({ to: call.number, text })));
  });

  const runsOf = (callId: string) =>
    query<{ rule: string; reason: string; facts: object }>(
      `select rule, reason, facts from ops.rule_runs where trigger_key = $1 order by run_id`,
      callId,
    );

  /** What the rule decided, and the facts of each clause that kept a missed call from its text. */
  async function explained(callId: string): Promise<object | undefined> {
    const { rules = [] } =
      (await explain(world.context.database.db, parseRules(shipped, options), { callId }, 'live')) ?? {};
    return rules.find((each) => each.rule === 'missed-call-text-back');
  }

  test('legs that come late are waited for', async () => {
    const from = sandbox.sends(100_000).length;
    const call = missed({ legs: queued, legsAfterMs: 3_000 });
    const { id } = await sandbox.emit.call(call);
    await world.settled();
    expect(await runsOf(id)).toEqual([]);
    await judged(id);
    expect(await charges(from)).toEqual([{ to: call.number, text: sorry }]);
  });

  test('a call whose legs never come is judged after a minute, and gets no text', async () => {
    const from = sandbox.sends(100_000).length;
    const { id } = await sandbox.emit.call(missed({ legs: queued, legsAfterMs: 3_600_000 }));
    await world.settled();
    expect(await query('select kind from ops.rule_events where key = $1', id)).toEqual([
      { kind: 'call_ended' },
      { kind: 'call_missed' },
    ]);
    await query(`update ops.rule_events set noted_at = noted_at - interval '1 minute'`);
    await judged(id);
    expect(await runsOf(id)).toEqual([]);
    expect(await explained(id)).toMatchObject({ outcome: 'no_call_back' });
    expect(await charges(from)).toEqual([]);
  });

  test('a missed call that becomes a voicemail gets one text', async () => {
    const from = sandbox.sends(100_000).length;
    const call = missed({ legs: [menu, user, mailbox(30)] });
    const { id } = await sandbox.emit.call(call);
    await judged(id);
    await sandbox.emit.call({ callId: id, status: 'voicemail', recorded: true });
    await until(async () => (await runsOf(id)).length === 2);
    await judged(id);
    expect(await runsOf(id)).toMatchObject([
      { rule: 'missed-call-text-back', reason: 'matched' },
      { rule: 'voicemail-acknowledgement', reason: 'matched' },
    ]);
    expect(await charges(from)).toEqual([{ to: call.number, text: sorry }]);
    expect(await world.actions('voicemail-acknowledgement')).toContainEqual({
      kind: 'reply',
      state: 'skipped',
      reason: 'it was answered before',
    });
  });

  test.each<[string, CallEvent]>([
    ['they called again and were answered', { direction: 'inbound', group: 'Service' }],
    ['we called them and talked', { direction: 'outbound' }],
  ])('a webhook that comes minutes late, after %s, brings no text', async (_what, talk) => {
    const from = sandbox.sends(100_000).length;
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
    const number = caller();
    const first = await sandbox.emit.call(missed({ legs: queued, number, startTime: ago(270), announce: false }));
    // Both are announced together, and the talk is read second.
    const second = await sandbox.emit.call({
      ...talk,
      status: 'answered',
      transfers: 0,
      durationSeconds: 60,
      number,
      startTime: ago(120),
      announce: false,
    });
    await world.deliver('AccountEndedCalls', [{ callId: first.id }, { callId: second.id }]);
    await judged(first.id);
    expect(await runsOf(first.id)).toEqual([]);
    expect(await explained(first.id)).toMatchObject({
      outcome: 'condition_false',
      falseClauses: [{ facts: { 'contact.talked_since': true } }],
    });
    expect(await charges(from)).toEqual([]);
  });

  test('a text that waits is dropped once we have talked', async () => {
    const from = sandbox.sends(100_000).length;
    await query(`update ops.send_control set is_paused = true, paused_by = 'operator'`);
    const call = missed({ legs: queued });
    const { id } = await sandbox.emit.call(call);
    await until(async () => (await value('select count(*)::integer from ops.sends where trigger_id = $1', id)) === 1);
    // It ends later than the call, so that the simulation below does not know of it yet.
    const startTime = new Date(Date.now() + 2_000).toISOString();
    const talk = { direction: 'outbound', status: 'answered', startTime, durationSeconds: 20 } as const;
    await sandbox.emit.call({ ...talk, number: call.number });
    await world.settled();
    await query('update ops.send_control set is_paused = false');
    await judged(id);
    expect(await query('select state, reason from ops.sends where trigger_id = $1', id)).toEqual([
      { state: 'DENIED', reason: 'gate:talked' },
    ]);
    expect(await charges(from)).toEqual([]);
  });

  test('the simulation of the past comes to the same texts', async () => {
    const { db } = world.context.database;
    const span = { from: new Date(Date.now() - 3_600_000), to: new Date(Date.now() + 60_000) };
    const set = parseRules(shipped, options);
    const report = await simulate(db, { set, ...span });
    const sent = await query<{ rule: string; messages: number }>(
      `select rule, count(*)::integer as messages from ops.sends where state = 'SENT' group by rule order by rule`,
    );
    const simulated = report.rules
      .filter(({ messages }) => messages > 0)
      .map(({ rule, messages }) => ({ rule, messages }));
    // Of the missed call that became a voicemail, the past knows the voicemail alone; and it knows nothing of a pause.
    const changes: Record<string, number> = { 'missed-call-text-back': 0, 'voicemail-acknowledgement': 1 };
    expect(simulated).toEqual(sent.map(({ rule, messages }) => ({ rule, messages: messages + (changes[rule] ?? 0) })));
  });

  test('a rule on calls can name the line that texts', async () => {
    await world.rules(`
rules:
  - name: named-line
    on: call_missed
    do: [{ reply: { from: +1 (646) 555-0101, text: Sorry. } }]
    limits: { quiet_hours: none }
`);
    const from = sandbox.sends(100_000).length;
    const call = shown({ dialledNumber: '16465559999' });
    const { id } = await sandbox.emit.call(call);
    await judged(id);
    expect(await charges(from)).toEqual([{ to: call.number, text: 'Sorry.' }]);
    expect(sandbox.sends(100_000).at(-1)?.charge?.from).toBe('16465550101');
  });

  test('the file says which calls need a call-back, for rules and reports alike', async () => {
    await world.rules(`
missed: { reached: [menu], at_least: 1m }
rules:
  - { name: menu, on: call_missed, if: call.reached == "menu", do: [{ comment: Missed. }] }
`);
    const long = await sandbox.emit.call(missed({ legs: [{ ...menu, talkSeconds: 90 }] }));
    const short = await sandbox.emit.call(missed({ legs: [menu] }));
    const inQueue = await sandbox.emit.call(missed({ legs: [menu, { ...queue, ringSeconds: 90 }] }));
    const ids = [long.id, short.id, inQueue.id];
    for (const id of ids) await judged(id);
    const triggered = `select trigger_key as id from ops.rule_runs where rule = 'menu' and trigger_key = any($1)`;
    await until(async () => (await query(triggered, ids)).length === 1);
    expect(await query(triggered, ids)).toEqual([{ id: long.id }]);
    await until(
      async () => (await query('select from reporting.missed_calls where call_id = any($1)', ids)).length === 3,
    );
    expect(
      await query('select call_id as id from reporting.missed_calls where call_id = any($1) and needs_call_back', ids),
    ).toEqual([{ id: long.id }]);
  });
});
