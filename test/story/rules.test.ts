import { beforeEach, describe, expect, test } from 'vitest';
import { markDirty, priorities } from '../../src/inbox/targets.ts';
import { processEvents } from '../../src/rules/event-processor.ts';
import { explain } from '../../src/rules/explain.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { simulate } from '../../src/rules/simulate/simulate.ts';
import type { FaultInput } from '../../src/sandbox/faults/spec.ts';
import type { CallEvent } from '../../src/sandbox/traffic/events.ts';
import { proxyPage } from '../sandbox/presets.ts';
import { createStoryWorld, line } from './world.ts';

/* What rules do about what happens: on a Tuesday at 15:00 UTC, when it is 10:00 where the texts go. */

const world = await createStoryWorld();
const { sandbox, query, value, context } = world;
const { db } = context.database;
const [number, other] = ['12125550144', '12125550145'] as const;
const otherLine = '16465550101';

/** `in`: a text of theirs; `out`: one of ours; `unseen`: one that no webhook tells of; `pass`: so long; or what a function does. */
type Event = `${'in' | 'out' | 'unseen in' | 'unseen out' | 'pass'} ${string}` | (() => unknown);

async function play(...events: readonly Event[]): Promise<void> {
  for (const event of events) {
    if (typeof event === 'function') {
      await event();
      await world.quiet();
      continue;
    }
    const [, unseen, what, words = ''] = /^(unseen )?(\w+) (.*)$/s.exec(event) ?? [];
    if (what === 'pass') await world.pass(words);
    else await world.text(number, words, { direction: what === 'in' ? 'in' : 'out', announce: !unseen });
  }
}

const faults =
  (...given: FaultInput[]) =>
  () =>
    sandbox.faults(...given);
const fails = (operation: string, status = 503) => faults({ kind: 'answer', status, operation });
/** Both before anything is read. */
const together = (...texts: string[]) => {
  return async () => {
    const sentAt = new Date().toISOString();
    for (const text of texts) await sandbox.emit.sms({ line, number, text, sentAt });
  };
};
const rang: CallEvent['legs'] = [{ calledType: 'user', status: 'noanswer', ringSeconds: 20 }];
const missed: CallEvent = { direction: 'inbound', status: 'missed', group: 'Service', number, legs: rang };
const calls = (call: CallEvent = missed) => {
  return () => sandbox.emit.call(call);
};
const talks = calls({ direction: 'outbound', status: 'answered', number, durationSeconds: 30 });
const rules = (text: string) => () => world.rules(`rules:\n${text}`);

interface Row {
  readonly what: string;
  readonly rules: string;
  readonly happens: readonly Event[];
  /** A line a step: rule, step, state, reason. */
  readonly done: readonly string[];
  /** What the service carried out. */
  readonly asked?: string;
  readonly decisions?: readonly string[];
  readonly notes?: readonly string[];
}

const close = `
- { name: close, on: message_received, if: message.plain == "close", do: [{ resolve: { comment: Closed. } }, { comment: A note. }] }`;
const silence = `
- { name: silence, on: thread_idle, for: 48h, if: thread.last_direction == "out", do: [{ resolve: true }] }
- { name: farewell, on: thread_idle, for: 48h, if: thread.last_direction == "in", do: [{ reply: We close this for now. }, { resolve: true }] }`;
const unlessAsked = `
- { name: unless-asked, on: thread_idle, for: 2h, if: thread.last_direction == "out" && !message.text.contains("?"), do: [{ comment: Silent. }] }`;
const again = `
- { name: close, on: message_received, if: message.plain.startsWith("open again"), do: [{ resolve: true }] }
- { name: open, on: message_received, if: message.plain.startsWith("open again"), do: [{ reopen: true }] }`;
const assigns = `
- { name: take, on: message_received, if: message.plain == "mine", do: [{ assign: 4156 }] }
- { name: leave, on: message_received, if: message.plain == "nobody", do: [{ assign: nobody }] }`;
const thanks = `
- { name: thanks, on: message_received, if: message.plain == "thanks", do: [{ resolve: true }] }`;
const greeting = `
- name: greeting
  on: message_received
  if: message.plain.startsWith("hello")
  do: [{ reply: 'Hello, {{ message.text }}' }]
  limits: { per_thread: 1 per 12h }`;
const delayed = `
- { name: missed, on: call_missed, after: 1h, if: '!contact.talked_since', do: [{ reply: Sorry that we missed your call. }] }
- name: nobody-answered
  on: message_received
  after: 1h
  if: thread.last_direction == "in" && !contact.talked_since && contact.is_new
  do: [{ comment: Nobody answered. }, { reopen: true }]`;
const everyCall = `
- { name: missed, on: call_missed, do: [{ comment: Missed. }] }
- { name: ended, on: call_ended, if: call.direction == "inbound", do: [{ comment: Ended. }] }
- { name: voicemail, on: voicemail_left, do: [{ comment: Voicemail. }] }`;

const rows: Row[] = [
  {
    what: 'a reply leaves before the resolve, whatever their order in the file',
    rules: '- { name: answer, on: message_received, do: [{ resolve: true }, { reply: An answer. }] }',
    happens: ['in Question?'],
    done: ['answer resolve done', 'answer reply done SENT'],
    asked: 'messages resolve',
  },
  {
    what: 'a resolve whose reply was refused is not done, and says why',
    rules:
      '- { name: answer, on: message_received, if: message.plain == "question", do: [{ resolve: true }, { reply: An answer. }] }',
    happens: ['in STOP', 'in Question?'],
    done: [
      'answer resolve skipped its reply was not sent: DENIED gate:opted_out',
      'answer reply skipped DENIED gate:opted_out',
    ],
    asked: '',
  },
  {
    what: 'a resolve whose answer is lost is repeated without its note, and a note is never repeated',
    rules: close,
    happens: [
      faults(
        { kind: 'reset', when: 'after', operation: 'resolveConversation', times: 1 },
        { kind: 'reset', when: 'after', operation: 'commentOnConversation', times: 1 },
      ),
      'in close',
      'pass 1m',
    ],
    done: [
      'close resolve done repeated without the note, which may have been posted',
      'close comment unclear the note may have been posted: network',
    ],
    asked: 'resolve resolve comments',
  },
  {
    what: 'a success that cannot be read proves nothing: a resolve is asked for again, and a note is not',
    rules: close,
    happens: [
      faults(
        { kind: 'answer', when: 'after', status: 200, body: '', operation: 'resolveConversation', times: 1 },
        { kind: 'answer', when: 'after', status: 201, body: '', operation: 'commentOnConversation' },
      ),
      'in close',
      'pass 1m',
    ],
    done: [
      'close resolve done repeated without the note, which may have been posted',
      'close comment unclear the note may have been posted: unreadable',
    ],
    asked: 'resolve resolve comments',
  },
  {
    what: 'nor does a proxy’s page that poses as one',
    rules: '- { name: spam, on: message_received, do: [{ assign: nobody }, { reopen: true }, { resolve: true }] }',
    happens: [faults({ ...proxyPage(200), operation: 'assignConversation', times: 1 }), 'in spam', 'pass 1m'],
    done: ['spam assign done', 'spam reopen done', 'spam resolve done'],
    asked: 'assign assign reopen resolve',
  },
  {
    what: 'a look at the thread that is cut off costs a resolve its turn, not its note',
    rules: close,
    happens: [
      fails('resolveConversation', 429),
      'in close',
      faults({ kind: 'reset', when: 'after', operation: `GET /sms/conversations/${line}/${number}`, times: 3 }),
      'pass 5m',
    ],
    done: ['close resolve done', 'close comment done'],
    asked: 'resolve comments',
  },
  {
    what: 'what is old makes no rule act',
    rules: close,
    happens: [
      'pass 1h',
      () => world.text(number, 'close', { sentAt: new Date(Date.now() - 11 * 60_000).toISOString() }),
    ],
    done: [],
    decisions: ['close too_old'],
  },
  {
    what: 'a silence that fell into an outage is met after it, once, also by another version',
    rules: silence,
    happens: ['out Bye', () => world.away('50h'), rules(silence), 'pass 49h'],
    done: ['silence resolve done'],
    asked: 'resolve',
  },
  {
    what: 'a silence that one of us has broken, of which no event told, is not resolved',
    rules: silence,
    happens: ['out Bye', 'pass 47h', 'unseen out Are you still coming?', 'pass 2h'],
    done: ['silence resolve skipped the thread is no longer idle'],
    asked: '',
  },
  {
    what: 'nor one that they have broken',
    rules: silence,
    happens: ['out It is ready for you.', 'pass 47h', 'unseen in It is broken, please help!', 'pass 2h'],
    done: ['silence resolve skipped the other party has written again'],
    asked: '',
  },
  {
    what: 'a rule’s own reply to a silence is nothing that keeps the thread open',
    rules: silence,
    happens: ['in Hm', 'pass 49h'],
    done: ['farewell reply done SENT', 'farewell resolve done'],
    asked: 'messages resolve',
  },
  {
    what: 'nor one without an id',
    rules: silence,
    happens: [faults({ kind: 'edit', path: 'data.id', operation: 'sendMessage' }), 'in Hm', 'pass 49h'],
    done: ['farewell reply done SENT', 'farewell resolve done'],
    asked: 'messages resolve',
  },
  {
    what: 'a question is the last text of theirs in an idle thread',
    rules: unlessAsked,
    happens: ['in What?', 'in Can you come at five?', 'out Bye?', 'pass 3h'],
    done: [],
  },
  {
    what: 'no question is the last text of theirs',
    rules: unlessAsked,
    happens: ['in What?', 'in Fine, thanks', 'out Bye?', 'pass 3h'],
    done: ['unless-asked comment done'],
  },
  {
    what: 'nor is one of ours',
    rules: unlessAsked,
    happens: ['out Bye?', 'pass 3h'],
    done: ['unless-asked comment done'],
  },
  {
    what: 'the third text since the last answer is told from others; a reply of a rule is no answer',
    rules: `
- { name: unanswered, on: message_received, if: thread.unanswered_count == 3, do: [{ comment: '{{ message.text }}' }] }
- { name: hours, on: message_received, if: message.plain == "hours", do: [{ reply: Nine to five. }] }`,
    happens: ['in one', 'in two', 'out Hello', 'in three', 'in hours', 'in five', 'in six'],
    done: ['hours reply done SENT', 'unanswered comment done'],
    notes: ['five'],
  },
  {
    what: 'steps of two rules are performed in the order of the file',
    rules: again,
    happens: ['in open again'],
    done: ['close resolve done', 'open reopen done'],
    asked: 'resolve reopen',
  },
  {
    what: 'a step waits for the retries of an earlier trigger',
    rules: assigns,
    happens: [fails('assignConversation'), 'in mine', 'in nobody', 'pass 1m', faults(), 'pass 5m'],
    done: ['take assign done', 'leave assign done'],
    asked: 'assign assign',
  },
  {
    what: 'a reply keeps its place among the steps of its trigger',
    rules: `
- { name: note, on: message_received, do: [{ comment: A note. }] }
- { name: answer, on: message_received, do: [{ reply: Hello }] }
- { name: tidy, on: message_received, do: [{ resolve: true }] }`,
    happens: [
      faults({ kind: 'answer', status: 429, operation: 'commentOnConversation', times: 3 }),
      'in Hello',
      'pass 5m',
    ],
    done: ['note comment done', 'answer reply done SENT', 'tidy resolve done'],
    asked: 'comments messages resolve',
  },
  {
    what: 'a step that waits for more than ten minutes lets later ones go, and is skipped where one decided the same',
    rules: again,
    happens: [fails('resolveConversation'), 'in open again', 'pass 14m', faults(), 'pass 2h'],
    done: [
      'close resolve skipped it waited for too long, and a later step of open decided meanwhile',
      'open reopen done',
    ],
    asked: 'reopen',
  },
  {
    what: 'of two texts in a row the newer one is answered, once, and a later one is within the limit',
    rules: greeting,
    happens: [together('hello', 'hello again'), 'in hello, hello'],
    done: ['greeting reply skipped DENIED superseded', 'greeting reply done SENT'],
    asked: 'messages',
    decisions: ['greeting matched', 'greeting matched', 'greeting limit:thread'],
  },
  {
    what: 'of two texts in a row the older one is answered where no rule answers the newer',
    rules: greeting,
    happens: [together('hello', 'just a moment')],
    done: ['greeting reply done SENT'],
    asked: 'messages',
  },
  {
    what: 'a call that is told of after a later one is within the same limit',
    rules: '- { name: missed, on: call_missed, do: [{ reply: Sorry. }], limits: { per_thread: 1 per 24h } }',
    happens: [
      'pass 10m',
      async () => {
        const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
        const earlier = await sandbox.emit.call({
          ...missed,
          startTime: ago(300),
          durationSeconds: 20,
          announce: false,
        });
        const later = await sandbox.emit.call({ ...missed, startTime: ago(30), durationSeconds: 20, announce: false });
        for (const { id: callId } of [later, earlier]) await world.deliver('AccountEndedCalls', { callId });
      },
    ],
    done: ['missed reply done SENT'],
    decisions: ['missed matched', 'missed limit:thread'],
  },
  {
    what: 'a limit by contact counts on every line',
    rules:
      '- { name: daily, on: message_received, do: [{ reply: Good evening. }], limits: { per_contact: 1 per 24h } }',
    happens: ['in Hello', () => world.text(number, 'Hello', { line: otherLine }), () => world.text(other, 'Hello')],
    done: ['daily reply done SENT', 'daily reply done SENT'],
    decisions: ['daily matched', 'daily limit:contact', 'daily matched'],
  },
  {
    what: 'but not where the newer one is STOP',
    rules: greeting,
    happens: [together('hello', 'STOP')],
    done: ['greeting reply skipped DENIED gate:opted_out'],
    asked: '',
  },
  {
    what: 'the newer one is answered also where the rule goes by the replies so far',
    rules: `
- { name: first, on: message_received, if: replies.count == 0, do: [{ reply: 'Good morning, {{ message.text }}' }] }`,
    happens: [together('good morning', 'good morning again')],
    done: ['first reply skipped DENIED superseded', 'first reply done SENT'],
    asked: 'messages',
  },
  {
    what: 'a text of the same second as the thanks keeps the thread open',
    rules: thanks,
    happens: [fails('resolveConversation'), together('thanks', 'But it still leaks, come back!'), faults(), 'pass 5m'],
    done: ['thanks resolve skipped the other party has written again'],
    asked: '',
  },
  {
    what: 'what waits of a rule that is turned off is not done',
    rules: thanks,
    happens: [
      fails('resolveConversation'),
      'in thanks',
      rules(thanks.replace('do:', 'mode: dry-run, do:')),
      faults(),
      'pass 5m',
    ],
    done: ['thanks resolve skipped the rule is not live any more'],
    asked: '',
  },
  {
    what: 'a missed call is evaluated after its hour, and answered',
    rules: delayed,
    happens: [calls(), 'pass 59m', () => expect(world.effects()).resolves.toEqual([]), 'pass 2m'],
    done: ['missed reply done SENT'],
    asked: 'messages',
  },
  {
    what: 'and is not, if somebody has talked with the caller',
    rules: delayed,
    happens: [calls(), 'pass 10m', talks, 'pass 55m'],
    done: [],
  },
  {
    what: 'a text that nobody answers is evaluated after its hour',
    rules: delayed,
    happens: ['in Hello?', 'pass 61m'],
    done: ['nobody-answered comment done', 'nobody-answered reopen done'],
  },
  {
    what: 'one that somebody answers does nothing',
    rules: delayed,
    happens: ['in Hello?', 'out Hi!', 'pass 61m'],
    done: [],
  },
  {
    what: 'a trigger is too old by the time of its delay, not of its event',
    rules: delayed,
    happens: [calls(), () => world.away('72m')],
    done: [],
    decisions: ['missed too_old'],
  },
  {
    what: 'the rules of then decide',
    rules: delayed,
    happens: ['in Hello?', rules(close), 'pass 61m'],
    done: [],
    decisions: ['nobody-answered rule_gone'],
  },
  {
    what: 'a reply does not wait for rules that are evaluated later on a newer text',
    rules: `
- { name: later, on: message_received, after: 1h, do: [{ reply: Still here? }] }
- { name: price, on: message_received, if: message.plain == "price", do: [{ reply: Ten dollars. }] }`,
    happens: [together('Price?', 'Thanks')],
    done: ['price reply done SENT'],
    asked: 'messages',
  },
  {
    what: 'a call that nobody answered is missed and has ended',
    rules: everyCall,
    happens: [calls()],
    done: ['ended comment done', 'missed comment done'],
  },
  {
    what: 'a voicemail is a trigger of its own',
    rules: everyCall,
    happens: [calls({ direction: 'inbound', status: 'voicemail', number, durationSeconds: 20 })],
    done: ['ended comment done', 'voicemail comment done'],
  },
  {
    what: 'an outbound text is no trigger',
    rules: '- { name: any, on: message_received, do: [{ comment: A text. }] }',
    happens: ['out Hello'],
    done: [],
  },
  {
    what: 'a renamed rule says nothing again in the same silence, and begins again with a new text',
    rules: '- { name: follow-up, on: thread_idle, for: 48h, do: [{ reply: Are you still there? }] }',
    happens: [
      'in Hm',
      'pass 49h',
      rules('- { name: nudge, on: thread_idle, for: 47h, do: [{ reply: Hello? }] }'),
      'pass 50h',
      'in Yes, I am',
      'pass 50h',
    ],
    done: ['follow-up reply done SENT', 'nudge reply done SENT'],
  },
  {
    what: 'a rule that is new acts on no silence of before',
    rules: '- { name: nudge, on: thread_idle, for: 48h, do: [{ reply: Hello? }] }',
    happens: [
      'in Hm',
      'pass 1h',
      rules('- { name: newcomer, on: thread_idle, for: 30m, do: [{ reply: Hello? }] }'),
      'pass 9h',
    ],
    done: [],
  },
];

test.each(rows)('$what', async ({ rules: text, happens, done, asked, decisions, notes }) => {
  await world.rules(`rules:\n${text}`);
  await play(...happens);
  expect(await world.effects()).toEqual(done);
  if (asked !== undefined) expect(world.changes(number, '/sms/messages').join(' ')).toBe(asked);
  if (decisions) expect(await world.decisions()).toEqual(decisions);
  if (notes) expect(world.notes(number)).toEqual(notes);
});

test('an assignment is known from its answer, and a rule is the author of its note', async () => {
  await world.rules(
    'rules: [{ name: report, on: message_received, do: [{ assign: nobody }, { comment: "They wrote {{ message.text }}" }] }]',
  );
  await play('in Are you open, Xanadu?');
  const thread = 'select is_assignment_known, assigned_user_id, is_resolved from warehouse.sms_conversations';
  expect(await query(thread)).toEqual([{ is_assignment_known: true, assigned_user_id: null, is_resolved: false }]);
  const author = `select actor from warehouse.sms_conversation_events where axis = 'comment'`;
  expect(await query(author)).toEqual([{ actor: 'rule report' }]);
  // Nothing that anybody wrote is kept of what rules were told.
  const kept = await query('select r, a from ops.rule_runs r join ops.rule_actions a using (run_id)');
  expect(`${JSON.stringify(kept)} ${world.logged()}`).not.toContain('Xanadu');
});

test('a trigger that comes again makes no rule act again, whatever the version', async () => {
  await world.rules(`rules:${close}`);
  await play('in close');
  await world.rules(`rules:${close}`);
  await query(
    'insert into ops.rule_events (kind, key, happened_at) select trigger_kind, trigger_key, trigger_at from ops.rule_runs, generate_series(1, 2)',
  );
  await world.quiet();
  expect(await world.decisions()).toEqual(['close matched']);
  expect(world.changes(number)).toEqual(['resolve', 'comments']);
});

test('an evaluation that ends halfway has not happened, and happens again once', async () => {
  await world.rules(`rules:${close}`);
  await query(
    `create function ops.fail() returns trigger language plpgsql as $$ begin raise 'of its own' using errcode = '22000'; end $$`,
  );
  await query('create trigger fail before insert on ops.rule_actions execute function ops.fail()');
  await sandbox.emit.sms({ line, number, text: 'close' });
  await world.quiet();
  expect(await world.decisions()).toEqual([]);
  await query('drop function ops.fail cascade');
  await query('update ops.rule_events set due_at = now()');
  const set = parseRules(`rules:${close}`, { file: 'rules.yaml', timeZone: 'UTC' });
  const evaluation = { db, log: context.log, mode: 'live', rules: async () => set } as const;
  await Promise.all(Array.from({ length: 3 }, () => processEvents(evaluation, new AbortController().signal)));
  await world.quiet();
  expect(await world.decisions()).toEqual(['close matched']);
  expect(world.changes(number)).toEqual(['resolve', 'comments']);
});

test('business minutes go on when the business opens again', async () => {
  await world.rules(`
business_hours: { tuesday: "00:00-15:01", thursday: "00:00-24:00" }
rules: [{ name: business, on: thread_idle, for: 2 business minutes, do: [{ comment: Nobody answered. }] }]`);
  await play('in Hello?', 'pass 31h');
  expect(await world.decisions()).toEqual([]);
  await play('pass 3h');
  expect(await world.effects()).toEqual(['business comment done']);
  const at = (await value('select trigger_at from ops.rule_runs')) as Date;
  // The text came within the first seconds of 15:00 on Tuesday.
  expect(at.toISOString()).toMatch(/T00:0[01]:\d\d/);
  expect((await world.trunkline('rules', 'explain', `${line}/${number}`)).out).toContain('business: matches');
  const day = new Date(Date.now() - 3 * 86_400_000).toISOString();
  const { out } = await world.trunkline('rules', 'simulate', '--from', day, '--json');
  expect(JSON.parse(out).rules).toMatchObject([{ rule: 'business', matched: 1 }]);
});

test('a delay is explained, and a simulation evaluates after the same time', async () => {
  await world.rules(`rules:${delayed}`);
  const set = parseRules(`rules:${delayed}`, { file: 'rules.yaml', timeZone: 'UTC' });
  const from = new Date();
  const { id: callId } = await sandbox.emit.call({ ...missed, durationSeconds: 20 });
  await world.pass('10m');
  const explained = await explain(db, set, { callId }, 'live');
  expect(explained?.rules.find(({ on }) => on === 'call_missed')).toMatchObject({ outcome: 'not_due' });
  await world.pass('55m');
  const within = async (minutes: number) => {
    const { rules: reports } = await simulate(db, { set, from, to: new Date(from.getTime() + minutes * 60_000) });
    return reports.map(({ tried, matched }) => [tried, matched]);
  };
  expect(await within(59)).toEqual([
    [0, 0],
    [0, 0],
  ]);
  expect(await within(62)).toEqual([
    [1, 1],
    [0, 0],
  ]);
});

test('a transcript is a trigger, and so is what it asks for', async () => {
  await world.rules(`rules:
- { name: transcribed, on: transcript_ready, do: [{ comment: '{{ transcript.summary | default: "none" }}' }] }
- { name: urgent, on: action_required, if: transcript.is_urgent, do: [{ reopen: true }] }`);
  const call = { ...missed, status: 'answered', legs: undefined, durationSeconds: 120, transfers: 0 } as const;
  const { id: callId } = await sandbox.emit.call({
    ...{ ...call, recorded: true, recordingAfterMs: 0, transcriptAfterMs: null },
  });
  await sandbox.emit.transcript({ callId, actionRequired: true, urgentActionRequired: true, shortSummary: 'A leak' });
  await world.quiet();
  expect((await world.effects()).toSorted()).toEqual(['transcribed comment done', 'urgent reopen done']);
  expect(world.notes(number)).toEqual(['A leak']);
});

test.each(['sentAt', 'direction'])(
  'a text that is first shown without its %s is a trigger once it has one',
  async (field) => {
    await world.rules('rules: [{ name: text, on: message_received, do: [{ comment: A text. }] }]');
    await play(
      faults({ kind: 'edit', path: `data.messages.*.${field}`, operation: 'readThread' }),
      'in Are you open?',
      faults(),
    );
    expect(await world.decisions()).toEqual([]);
    for (const repeat of [1, 2]) await world.deliver('AccountSMS', { line, number, repeat });
    expect(await world.decisions()).toEqual(['text matched']);
  },
);

test('a reaction is a trigger of the rules that ask for it alone, and does not end a silence', async () => {
  await world.rules(`rules:
- { name: our-words, on: message_received, if: 'message.plain.contains("open")', do: [{ comment: Open. }] }
- { name: any-text, on: message_received, do: [{ comment: A text. }] }
- { name: reacted, on: message_received, if: message.is_reaction && thread.unanswered_count == 0, do: [{ comment: They reacted. }] }
- { name: silent, on: thread_idle, for: 1h, if: 'thread.last_direction == "out"', do: [{ resolve: true }] }`);
  await play('in Hello', 'out We are open now. Reply STOP to opt out', 'pass 50m');
  await play('in Emphasized “We are open now. Reply STOP to opt out”', 'pass 12m');
  expect(await world.effects()).toEqual(['any-text comment done', 'reacted comment done', 'silent resolve done']);
  const verdict = 'select opt_out_verdict from warehouse.sms_messages where is_reaction';
  expect(await query(verdict)).toEqual([{ opt_out_verdict: 'none' }]);
  const id = await value('select message_id from warehouse.sms_messages where is_reaction');
  expect((await world.trunkline('rules', 'explain', String(id))).out).toMatch(
    /our-words: .*reaction[\s\S]*any-text: .*reaction[\s\S]*reacted: matches/,
  );
});

describe('what a read of history is the first to see', () => {
  const readAsHistory = async () => {
    const target = { kind: 'thread', key: `${line}/${number}`, priority: priorities.history } as const;
    await markDirty(db, [target]);
    await world.quiet();
  };
  beforeEach(() => world.rules('rules: [{ name: text, on: message_received, do: [{ comment: A text. }] }]'));

  test('is a trigger, once, where its webhook comes later', async () => {
    await play(faults({ kind: 'delayed', ms: 30_000 }), 'in Are you open?');
    await readAsHistory();
    expect(await value('select count(*)::integer from ops.deliveries')).toBe(0);
    expect(await world.decisions()).toEqual(['text matched']);
    await play('pass 1m');
    expect(await value('select count(*)::integer from ops.deliveries')).toBe(1);
    expect(await world.decisions()).toEqual(['text matched']);
  });

  test('is none where it is old', async () => {
    await world.pass('1h');
    const sentAt = new Date(Date.now() - 11 * 60_000).toISOString();
    await world.text(number, 'Are you open?', { sentAt, announce: false });
    await readAsHistory();
    expect(await value('select count(*)::integer from warehouse.sms_messages')).toBe(1);
    expect(await world.decisions()).toEqual([]);
  });
});
