import { afterAll, describe, expect, test } from 'vitest';
import { type Explanation, explain } from '../../src/rules/explain.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { backends } from '../stores/backends.ts';
import { until } from '../world.ts';
import { options } from './refusal.ts';
import { createRulesWorld, type RulesWorld } from './rules-world.ts';

const rules = `
rules:
  - { name: text-in, on: message_received, if: 'message.plain.startsWith("hello")', do: [{ comment: 'A text: {{ message.text }}' }] }
  - { name: silent, on: thread_idle, for: 1s, if: 'thread.last_direction == "out"', do: [{ resolve: { comment: Silent. } }] }
  - { name: missed, on: call_missed, do: [{ comment: Missed. }] }
  - { name: ended, on: call_ended, if: 'call.direction == "inbound"', do: [{ comment: Ended. }] }
  - { name: voicemail, on: voicemail_left, do: [{ comment: Voicemail. }] }
  - { name: transcribed, on: transcript_ready, do: [{ comment: '{{ transcript.summary | default: "none" }}' }] }
  - { name: urgent, on: action_required, if: transcript.is_urgent, do: [{ assign: line }] }
`;

const worlds = new Map<string, RulesWorld>();
for (const backend of backends) worlds.set(backend, await createRulesWorld(rules, 'live', backend));
afterAll(async () => {
  for (const world of worlds.values()) await world.close();
});

describe.each(backends)('on %s', (backend) => {
  const world = worlds.get(backend) as RulesWorld;
  const { sandbox, value, query } = world;

  test('a text that comes in is a trigger, once it is mirrored', async () => {
    const { number } = await sandbox.emit.sms({ number: '15552220001', text: 'Hello, are you open?' });
    await sandbox.emit.sms({ number: '15552220001', direction: 'out', text: 'hello yourself' });
    await world.rulesSettled();
    await until(async () => (await world.runs('text-in')).length === 1);
    expect(await world.runs('text-in')).toMatchObject([{ is_matched: true, reason: 'matched', mode: 'live' }]);
    expect(await world.actions('text-in')).toEqual([{ kind: 'comment', state: 'done', reason: null }]);
    expect(
      await query(
        `select e.axis, e.actor from warehouse.sms_conversation_events e
         join warehouse.sms_conversations using (conversation_id) where number = $1 and axis = 'comment'`,
        number,
      ),
    ).toEqual([{ axis: 'comment', actor: 'rule text-in' }]);
  });

  test('silence is a trigger, by the mirror and not by a timer', async () => {
    await sandbox.emit.sms({ number: '15552220002', direction: 'out', text: 'See you' });
    await world.settled();
    await until(
      async () =>
        (await value(`select is_resolved from warehouse.sms_conversations where number = '15552220002'`)) === true,
    );
    expect((await world.runs('silent')).filter(({ is_matched }) => is_matched).length).toBeGreaterThan(0);
  });

  test('the explanation of a thread tells what silence after our own text did', async () => {
    const number = '15552220006';
    const { line } = await sandbox.emit.sms({ number, text: 'Until then' });
    await sandbox.emit.sms({ number, line, direction: 'out', text: 'See you' });
    const isResolved = () => value('select is_resolved from warehouse.sms_conversations where number = $1', number);
    await until(async () => (await isResolved()) === true);
    await world.rulesSettled();
    const { rules: explained } = (await explain(
      world.context.database.db,
      parseRules(rules, options),
      { line, number },
      'live',
    )) as Explanation;
    expect(explained.find(({ rule }) => rule === 'silent')).toMatchObject({
      outcome: 'matched',
      past: { reason: 'matched', actions: [{ kind: 'resolve', state: 'done' }] },
    });
  });

  test('calls are triggers when they have ended: missed, with a voicemail, or answered', async () => {
    await sandbox.emit.call({
      ...{ direction: 'inbound', status: 'missed', number: '15552220003' },
      legs: [{ calledType: 'user', status: 'noanswer', ringSeconds: 20 }],
    });
    await sandbox.emit.call({ direction: 'inbound', status: 'voicemail', number: '15552220004', durationSeconds: 20 });
    await world.settled();
    await until(async () => (await world.runs('missed')).length + (await world.runs('voicemail')).length === 2);
    expect(await world.runs('ended')).toHaveLength(2);
    expect((await world.runs('missed'))[0]).toMatchObject({ trigger_kind: 'call_missed', is_matched: true });
  });

  test('a transcript is a trigger, and so is what it asks for', async () => {
    const { id } = await sandbox.emit.call({
      direction: 'inbound',
      status: 'answered',
      recorded: true,
      durationSeconds: 120,
      transfers: 0,
      recordingAfterMs: 0,
      transcriptAfterMs: null,
      number: '15552220005',
    });
    await sandbox.emit.transcript({
      callId: id,
      actionRequired: true,
      urgentActionRequired: true,
      shortSummary: 'A leak',
    });
    await world.settled();
    await until(async () => (await world.runs('urgent')).length === 1);
    await world.rulesSettled();
    expect(await world.runs('transcribed')).toMatchObject([{ is_matched: true }]);
    expect(await world.runs('urgent')).toMatchObject([{ is_matched: true, facts: { 'transcript.is_urgent': true } }]);
  });

  test('nothing that anybody wrote is kept of what rules were told', async () => {
    const kept = JSON.stringify(await query('select * from ops.rule_runs'));
    expect(kept).not.toContain('are you open');
    expect(JSON.stringify(await query('select * from ops.rule_actions'))).not.toContain('are you open');
    expect(world.logged()).not.toContain('are you open');
  });
});
