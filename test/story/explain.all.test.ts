import { beforeEach, expect, test } from 'vitest';
import { type Explanation, explain } from '../../src/rules/explain.ts';
import { declarationOf, declaredFacts } from '../../src/rules/facts/declared.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { options } from '../rules/refusal.ts';
import { createStoryWorld, line } from './world.ts';

const rules = `
rules:
  - name: asks-hours
    on: message_received
    if: message.plain.contains("open") && thread.inbound_count > 5 && message.media_count == 0
    do: [{ comment: Asked. }]
  - name: greets
    on: message_received
    if: has(thread.last_human_reply_at) || message.plain == "hello"
    do: [{ reply: Hello. }]
    limits: { per_thread: 1 per 24h, quiet_hours: none }
    stop: true
  - name: after
    on: message_received
    do: [{ comment: The rest. }]
  - name: calls
    on: call_missed
    do: [{ comment: Missed. }]
  - name: silent
    on: thread_idle
    for: 48h
    do: [{ comment: Silent. }]
  - name: asleep
    on: message_received
    after: 90s
    mode: off
    do: [{ comment: Off. }]
`;
const set = parseRules(rules, options);
const world = await createStoryWorld();
const { sandbox, context } = world;
beforeEach(() => world.rules(rules));
const command = (...args: string[]) => world.trunkline('rules', ...args);

async function explained(number: string): Promise<Explanation> {
  const explanation = await explain(context.database.db, set, { line, number }, 'live');
  if (!explanation) throw new Error('the text is not mirrored');
  return explanation;
}
const of = ({ rules: each }: Explanation, name: string) => each.find(({ rule }) => rule === name);

test('each rule is told with the clause that was false, its gate, and what happened', async () => {
  const number = '12125550171';
  const { id: messageId } = await sandbox.emit.sms({ line, number, text: 'Are you open?' });
  await world.quiet();
  const first = await explained(number);
  expect(first.message).toMatchObject({ messageId: String(messageId), line, number, text: 'Are you open?' });
  expect(of(first, 'asks-hours')).toMatchObject({
    outcome: 'condition_false',
    falseClauses: [{ clause: 'thread.inbound_count > 5', facts: { 'thread.inbound_count': 1 } }],
    past: undefined,
  });
  expect(of(first, 'greets')?.falseClauses).toEqual([
    {
      clause: 'has(thread.last_human_reply_at) || message.plain == "hello"',
      facts: { 'thread.last_human_reply_at': undefined, 'message.plain': 'are you open' },
    },
  ]);
  expect(of(first, 'after')).toMatchObject({
    outcome: 'matched',
    past: { reason: 'matched', actions: [{ kind: 'comment', state: 'done' }] },
  });
  expect(of(first, 'calls')?.outcome).toBe('other_trigger');
  expect(of(first, 'silent')?.outcome).toBe('not_due');
  expect(of(first, 'asleep')?.outcome).toBe('off');

  await world.text(number, 'Hello!');
  const second = await explained(number);
  expect(of(second, 'greets')).toMatchObject({
    outcome: 'matched',
    reply: 'sent',
    past: { actions: [{ kind: 'reply', state: 'done', sendState: 'SENT' }] },
  });
  expect(of(second, 'after')).toMatchObject({ outcome: 'stopped:greets', past: { reason: 'stopped:greets' } });
  expect(await explain(context.database.db, set, { messageId: String(messageId) }, 'live')).toMatchObject({
    message: { text: 'Are you open?' },
  });
  expect(await explain(context.database.db, set, { line, number: '12125550179' }, 'live')).toBeUndefined();
});

test('a reply that a gate refuses is told with the gate', async () => {
  const number = '447700900171';
  await world.text(number, 'Hello');
  const greets = of(await explained(number), 'greets');
  expect(greets).toMatchObject({ outcome: 'matched', reply: 'gate:country' });
  expect(greets?.past?.actions).toMatchObject([{ sendState: 'DENIED', sendReason: 'gate:country' }]);
});

test('a caller who never texted is explained by the call, with how far the caller came', async () => {
  const number = '12125550173';
  const { id } = await sandbox.emit.call({
    direction: 'inbound',
    status: 'missed',
    group: 'Service',
    number,
    legs: [{ calledType: 'ivr', talkSeconds: 20 }],
  });
  await world.quiet();
  const far = parseRules(
    `missed: { reached: [menu] }
rules:
  - { name: far, on: call_missed, if: 'call.reached in ["queue", "rang"]', do: [{ comment: Missed. }] }
  - { name: calls, on: call_missed, do: [{ comment: Missed. }] }
  - { name: texts, on: message_received, do: [{ comment: Text. }] }
  - { name: voicemails, on: voicemail_left, do: [{ comment: Voicemail. }] }
`,
    options,
  );
  for (const choice of [{ line, number }, { callId: id }]) {
    const explanation = (await explain(context.database.db, far, choice, 'live')) as Explanation;
    expect(explanation.message).toBeUndefined();
    expect(explanation.call).toMatchObject({ callId: id, line, number, status: 'missed' });
    expect(of(explanation, 'far')?.falseClauses).toEqual([
      { clause: 'call.reached in ["queue", "rang"]', facts: { 'call.reached': 'menu' } },
    ]);
    expect(of(explanation, 'calls')).toMatchObject({ outcome: 'matched', past: undefined });
    expect(of(explanation, 'texts')?.outcome).toBe('other_trigger');
    expect(of(explanation, 'voicemails')?.outcome).toBe('other_trigger');
  }
  const { code, out } = await command('explain', `${line}/${number}`);
  expect(code).toBe(0);
  expect(out).toMatch(new RegExp(`Call ${id} that ended .*: missed, reached menu, \\d+ s`));
  expect(out).toMatch(/calls: the call needs no call-back, by `missed` of the rules file\n/);
  expect(out).toMatch(/greets: waits for message_received, not for this call\n/);
  expect(await command('explain', '1783385492.000001')).toMatchObject({
    code: 1,
    err: expect.stringContaining('no ended call'),
  });
  // Since they texted too, both are explained.
  await world.text(number, 'Hello');
  const both = await explained(number);
  expect(of(both, 'calls')?.outcome).toBe('no_call_back');
  expect(of(both, 'greets')?.outcome).toBe('matched');
});

test('the command writes it for people, on one line each and without characters that turn the writing', async () => {
  const number = '12125550172';
  await world.text(number, 'Open?\u202e\u001b[31m\nnow');
  const { out } = await command('explain', `+1 (646) 555-0100/${number}`);
  expect(out).toContain(String.raw`"Open?\u202e\u001b[31m\nnow"`);
  expect(out).toMatch(
    /asks-hours: its condition is false\n {2}false: thread\.inbound_count > 5\n {4}thread\.inbound_count = 1\n/,
  );
  expect(out).toMatch(/calls: waits for call_missed, not for a text\n/);
  for (const wrong of ['nothing', '18455550100/2125550131.0']) {
    expect(await command('explain', wrong)).toMatchObject({
      code: 2,
      err: expect.stringContaining('<line>/<number>'),
    });
  }
  expect(await command('explain', '999999999999')).toMatchObject({ code: 1 });
});

test('the command says when a rule is due, and since when its trigger is too old', async () => {
  const number = '12125550174';
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  await sandbox.emit.sms({ line, number, text: 'Hello', sentAt: `${yesterday}T10:00:00Z` });
  await sandbox.emit.sms({ line, number: '12125550175', text: 'Hello' });
  await world.quiet();
  const { out: old } = await command('explain', `${line}/${number}`);
  expect(old).toContain(`it was due ${yesterday} 10:00:00Z, and by its max_age too old since ${yesterday} 10:10:00Z.`);
  const { out: fresh } = await command('explain', `${line}/12125550175`);
  expect(fresh).toMatch(/silent: the thread has not been idle for long enough yet: it is evaluated \d{4}-/);
});

test('a text is explained with what followed its silence, also by rules that are not in force any more', async () => {
  const number = '12125550176';
  await world.rules(`rules:
  - { name: late, on: thread_idle, for: 15m, if: thread.last_direction == "in", do: [{ reply: We are late. }] }
  - { name: former, on: message_received, do: [{ comment: Noted. }] }`);
  await world.text(number, 'Anybody?');
  await world.pass('16m');
  await world.rules('rules: [{ name: late, on: thread_idle, for: 15m, do: [{ reply: We are late. }] }]');
  const id = await world.value(
    `select message_id from warehouse.sms_messages where number = $1 and direction = 'in'`,
    number,
  );
  const { out } = await command('explain', String(id));
  expect(out).toMatch(/late: matches\n {2}It does: reply\.\n.*\n {2}In fact, .*: matched\n {4}reply: done \(SENT\)/);
  expect(out).toMatch(/former: decided before, .*\n {2}In fact, .*: matched\n {4}comment: done/);
});

test('every declared fact is printed with its type, its meaning and an example', async () => {
  const { out } = await command('facts', '--json');
  const printed = JSON.parse(out) as {
    fact: string;
    type: string;
    meaning: string;
    values?: string[];
    example?: unknown;
  }[];
  const declared = Object.entries(declaredFacts).flatMap(([group, facts]) =>
    Object.keys(facts).map((name) => `${group}.${name}`),
  );
  expect(printed.map(({ fact }) => fact)).toEqual(['now', ...declared]);
  for (const { fact, type, meaning, example } of printed.filter((each) => each.fact !== 'now')) {
    expect({ type, doc: meaning }).toMatchObject({ type: declarationOf(fact)?.type, doc: declarationOf(fact)?.doc });
    expect(example, fact).toBeDefined();
  }
  expect(printed.find(({ fact }) => fact === 'hours.weekday')?.values).toContain('monday');
  const { out: text } = await command('facts', 'voicemail_left');
  expect(text).not.toContain('message.text');
});
