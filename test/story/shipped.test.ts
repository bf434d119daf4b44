import { readFile } from 'node:fs/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { drainBehindMirror } from '../../src/reporting/rollups.ts';
import type { CallEvent } from '../../src/sandbox/traffic/events.ts';
import { createStoryWorld, line } from './world.ts';

/* The rules as they are shipped: who is texted, what is resolved, reopened and assigned. */

const world = await createStoryWorld();
const { sandbox, query } = world;
const number = '12125550144';
const mobile = '19175550110';
const shipped = await readFile('config/rules.yaml', 'utf8');
beforeEach(() => world.rules(shipped));

const sorry = 'Sorry that we missed your call. How can we help? You can answer right here.';
const thanks = 'We have your voicemail and will get back to you.';
const answer = { direction: 'out', sentBy: 4156 } as const;

const menu = { calledType: 'ivr', talkSeconds: 20 } as const;
const queue = { calledType: 'queue', status: 'cancel', ringSeconds: 15 } as const;
const user = { calledType: 'user', status: 'noanswer', ringSeconds: 15 } as const;
const mailbox = (talkSeconds: number) => ({ calledType: 'mailbox', talkSeconds }) as const;
const queued = [menu, queue];
const missed: CallEvent = {
  direction: 'inbound',
  status: 'missed',
  abandoned: true,
  group: 'Service',
  number,
  legs: queued,
};
const voicemail: CallEvent = { ...missed, status: 'voicemail', legs: [menu, user, mailbox(30)], recorded: true };
const talk = { direction: 'outbound', status: 'answered', number, durationSeconds: 20, recorded: false } as const;
const shown = (fields: Record<string, unknown>): CallEvent => ({ ...missed, shown: fields });

test.each<[who: string, call: CallEvent, text?: string]>([
  ['heard the menu for 20 s', { ...missed, legs: [menu] }],
  ['heard the menu for 90 s', { ...missed, legs: [{ ...menu, talkSeconds: 90 }] }],
  ['heard the menu for 3 s', { ...missed, legs: [{ ...menu, talkSeconds: 3 }] }],
  ['gave up in the queue', missed, sorry],
  ['rang at a user', { ...missed, legs: [menu, { ...queue, status: 'noanswer' }, user] }, sorry],
  ['dialled a user', { ...missed, legs: [user] }, sorry],
  ['hung up at the mailbox', { ...voicemail, legs: [menu, user, mailbox(1)], recorded: undefined }],
  ['left a message', voicemail, thanks],
  ['was talked with', { ...missed, status: 'answered', legs: [menu, { ...user, status: 'answer', talkSeconds: 30 }] }],
  ['called another user', { ...missed, direction: 'internal', legs: undefined }],
  ['was called by us', { ...missed, direction: 'outbound', legs: undefined }],
  ['hid the number', shown({ callerNumber: 'anonymous', callerIdExternal: '' })],
  ['hid it as zeros', { ...missed, number: '0000000000' }],
  ['hid it as RESTRICTED', { ...missed, number: '7378742833' }],
  ['has an impossible number', { ...missed, number: '2121550123' }],
  ['is of another country', shown({ callerNumber: '3612345678', callerIdExternal: '+36 1 234 5678' })],
  ['is of another country, by a plus', shown({ callerNumber: '+3612345678', callerIdExternal: '' })],
  ['is of another country, by 011', shown({ callerNumber: '0113612345678' })],
  ['is a user at the mobile', { ...missed, number: mobile }],
  ['is an extension', shown({ callerType: null, callerNumber: '101', callerIdExternal: mobile })],
  ['is an extension with another number', shown({ callerType: null, callerNumber: '101', callerIdExternal: number })],
  ['is one of our lines', { ...missed, number: '16465550101' }],
  ['dialled a number that cannot text', shown({ dialledNumber: '16465559999' })],
  ['went where no leg says', shown({ calledType: null, legs: [{ uniqueId: '1783385493.1' }] })],
  [
    'went into a menu in other keys',
    shown({ calledType: 'user', legs: [{ type: 'IVR', status: 'ANSWERED', talkDuration: 20 }] }),
  ],
  [
    'hung up at the mailbox, in other keys',
    {
      ...{ ...voicemail, legs: undefined, recorded: undefined },
      shown: {
        legs: [{ destinationType: 'phone' }, { destinationType: 'mailbox', talkDuration: 1 }],
        talkTimeSeconds: 21,
      },
    },
  ],
  [
    'went into a queue in other words',
    shown({
      legs: [
        { calledType: 'IVR', status: 'ANSWERED' },
        { calledType: 'HuntGroup', status: 'NO ANSWER' },
      ],
    }),
    sorry,
  ],
])('whoever %s gets the text of the call, or none', async (_who, call, text) => {
  await sandbox.emit.call(call);
  await world.pass('3m');
  expect(await world.texts()).toEqual(text === undefined ? [] : [`${call.number}: ${text}`]);
});

describe('a missed call', () => {
  test('whose legs come late is waited for', async () => {
    await sandbox.emit.call({ ...missed, legsAfterMs: 30_000 });
    await world.pass('3m');
    expect(await world.texts()).toEqual([`${number}: ${sorry}`]);
  });

  test('whose legs never come is judged nevertheless, and gets no text', async () => {
    const { id } = await sandbox.emit.call({ ...missed, legsAfterMs: 3_600_000 });
    await world.pass('5m');
    const { out } = await world.trunkline('rules', 'explain', id);
    expect(out).toContain('missed-call-text-back: the call needs no call-back');
    expect(await world.texts()).toEqual([]);
  });

  test('that becomes a voicemail gets one text', async () => {
    const { id: callId } = await sandbox.emit.call({ ...missed, legs: [menu, user, mailbox(30)] });
    await world.pass('3m');
    await sandbox.emit.call({ callId, status: 'voicemail', recorded: true });
    await world.pass('1m');
    expect(await world.effects()).toEqual([
      'missed-call-text-back reply done SENT',
      'voicemail-acknowledgement reply skipped it was answered before',
    ]);
    expect(await world.texts()).toEqual([`${number}: ${sorry}`]);
  });

  test.each<[string, CallEvent]>([
    ['they called again and were answered', { direction: 'inbound', group: 'Service' }],
    ['we called them and talked', { direction: 'outbound' }],
  ])('that is told of late, after %s, brings no text', async (_what, more) => {
    await world.pass('10m');
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
    const first = await sandbox.emit.call({ ...missed, startTime: ago(270), announce: false });
    const answered = { ...talk, durationSeconds: 60, transfers: 0, startTime: ago(120), announce: false, ...more };
    const second = await sandbox.emit.call(answered);
    await world.deliver('AccountEndedCalls', [{ callId: first.id }, { callId: second.id }]);
    await world.pass('3m');
    expect(await world.texts()).toEqual([]);
    expect((await world.trunkline('rules', 'explain', first.id)).out).toContain('contact.talked_since = true');
  });

  test('whose text waits gets none once we have talked', async () => {
    await query(`update ops.send_control set is_paused = true, paused_by = 'operator'`);
    await sandbox.emit.call(missed);
    await world.pass('3m');
    await sandbox.emit.call(talk);
    await world.pass('1m');
    await query('update ops.send_control set is_paused = false');
    await world.pass('1m');
    expect(await world.effects()).toEqual(['missed-call-text-back reply skipped DENIED gate:talked']);
  });

  test('is texted by the line that the rule names', async () => {
    const reply = '{ from: +1 (646) 555-0101, text: Sorry. }';
    await world.rules(`rules: [{ name: named-line, on: call_missed, do: [{ reply: ${reply} }] }]`);
    await sandbox.emit.call(shown({ dialledNumber: '16465559999' }));
    await world.quiet();
    expect(await world.texts()).toEqual([`${number}: Sorry.`]);
    expect(sandbox.sends().at(-1)?.charge?.from).toBe('16465550101');
  });

  test('is what the file says, for rules and reports alike', async () => {
    await world.rules(`
missed: { reached: [menu], at_least: 1m }
rules: [{ name: menu, on: call_missed, if: call.reached == "menu", do: [{ comment: Missed. }] }]`);
    const long = await sandbox.emit.call({ ...missed, legs: [{ ...menu, talkSeconds: 90 }] });
    await sandbox.emit.call({ ...missed, legs: [menu] });
    await sandbox.emit.call({ ...missed, legs: [menu, { ...queue, ringSeconds: 90 }] });
    await world.pass('1m');
    expect(await query('select trigger_key as id from ops.rule_runs')).toEqual([{ id: long.id }]);
    await drainBehindMirror(world.context.database.db, new AbortController().signal);
    const counted = 'select call_id as id from reporting.missed_calls where needs_call_back';
    expect(await query(counted)).toEqual([{ id: long.id }]);
  });
});

test('a simulation of the past comes to the texts that left', async () => {
  for (const call of [
    missed,
    { ...voicemail, number: '12125550145' },
    { ...missed, number: '12125550146', legs: [menu] },
  ]) {
    await sandbox.emit.call(call);
  }
  await world.text('12125550147', 'Thanks!');
  await world.pass('3m');
  expect(await world.texts()).toHaveLength(2);
  const { out } = await world.trunkline(
    'rules',
    'simulate',
    '--from',
    new Date(Date.now() - 3_600_000).toISOString(),
    '--json',
  );
  const { rules } = JSON.parse(out) as { rules: { rule: string; matched: number; messages: number }[] };
  expect(rules.filter(({ messages }) => messages > 0)).toMatchObject([
    { rule: 'missed-call-text-back', matched: 1, messages: 1 },
    { rule: 'voicemail-acknowledgement', matched: 1, messages: 1 },
  ]);
  expect(await query(`select distinct rule from ops.rule_runs where is_matched and mode = 'live'`)).toHaveLength(2);
});

test('whoever writes out of hours is answered once a night, and thanks for the answer end the thread', async () => {
  await world.pass('3h');
  await world.text(number, 'Are you open today?');
  const closed = 'We are closed right now and open again Wednesday at 9:00 AM.';
  expect(await world.texts()).toEqual([`${number}: Thank you for your message. ${closed}`]);
  await world.text(number, 'Hello?');
  await world.text(number, 'Thanks!');
  expect(await world.texts()).toHaveLength(1);
  expect(world.changes(number)).toEqual(['resolve']);
  expect(await query('select is_resolved from warehouse.sms_conversations')).toEqual([{ is_resolved: true }]);
});

describe('48 hours of silence', () => {
  test('after a person’s answer resolve the thread, a new text reopens it, and the next answer begins again', async () => {
    await world.text(number, 'It is ready for you.', answer);
    await world.pass('47h');
    expect(world.changes(number)).toEqual([]);
    await world.pass('2h');
    expect(world.changes(number)).toEqual(['resolve']);
    await world.text(number, 'It is broken again.');
    expect(world.changes(number)).toEqual(['resolve', 'reopen']);
    await world.text(number, 'Bring it in, please.', answer);
    await world.pass('49h');
    expect(world.changes(number)).toEqual(['resolve', 'reopen', 'resolve']);
  });

  test('leave a thread open that only rules have answered', async () => {
    await sandbox.emit.call(missed);
    await world.pass('49h');
    expect(await world.texts()).toHaveLength(1);
    expect(world.changes(number)).toEqual([]);
  });
});

test('an urgent transcript assigns the thread to whoever talked on the call, with a note, once each', async () => {
  const call = { ...missed, status: 'answered', legs: undefined, abandoned: undefined, recorded: true } as const;
  const { id: callId } = await sandbox.emit.call({ ...call, durationSeconds: 240, transcriptAfterMs: null });
  await world.pass('1m');
  await sandbox.emit.transcript({ callId, actionRequired: true, urgentActionRequired: true });
  await world.pass('1m');
  const [thread] = await query<{ assigned_user_id: number; agents: number[] }>(
    `select assigned_user_id, array(select user_id from warehouse.call_attributions where call_id = $1) as agents
     from warehouse.sms_conversations where line = $2 and number = $3`,
    ...[callId, line, number],
  );
  expect(thread?.agents).toContain(thread?.assigned_user_id);
  expect(world.changes(number).slice(0, 2)).toEqual(['assign', 'comments']);
  expect(world.notes(number)[0]).toMatch(/^Urgent, says the analysis of a call/);
});
