import { describe, expect, test } from 'vitest';
import { createStoryWorld } from './world.ts';

/* What rules leave behind: rows of what they decided, counts of the rest; on trial, what they would have done. */

const world = await createStoryWorld();
const { query } = world;
const number = '12125550501';
const on = (name: string, text: string, steps: string, more = '') =>
  `- { name: ${name}, on: message_received, if: message.plain == "${text}", do: [${steps}]${more} }\n`;
const trial = ', mode: dry-run';

async function simulated(): Promise<{ rule: string; matched: number; unmatched: Record<string, number> }[]> {
  const from = new Date(Date.now() - 3_600_000).toISOString();
  return JSON.parse((await world.trunkline('rules', 'simulate', '--from', from, '--json')).out).rules;
}

describe('a rule on trial', () => {
  test('keeps by its stop the rules on trial from a trigger, and no live one', async () => {
    await world.rules(`rules:
${on('trial-stops', 'hello', '{ comment: A trial. }', `${trial}, stop: true`)}${on('trial-after', 'hello', '{ comment: No. }', trial)}
${on('live-after', 'hello', '{ reply: Hello. }', ', stop: true')}${on('live-last', 'hello', '{ comment: No. }')}`);
    await world.text(number, 'Hello');
    expect(await world.decisions()).toEqual([
      'trial-stops matched',
      'trial-after stopped:trial-stops',
      'live-after matched',
      'live-last stopped:live-after',
    ]);
    expect(await world.texts()).toEqual([`${number}: Hello.`]);
    // A simulation lets all rules meet as if they were live.
    const rules = await simulated();
    expect(rules.find(({ rule }) => rule === 'live-after')?.unmatched).toMatchObject({ 'stopped:trial-stops': 1 });
  });

  test('replies to its like, and not to a live rule', async () => {
    const once = (name: string, replies: number, step: string, more = '') =>
      on(
        name,
        `second" && replies.count == ${replies} && message.plain != "`,
        `{ ${step}: 'After {{ replies.count }}.' }`,
        more,
      );
    await world.rules(
      `rules:\n${on('trial-replies', 'first', '{ reply: A trial. }', trial)}${once('live-once', 0, 'reply')}${once('trial-once', 1, 'comment', trial)}`,
    );
    for (const text of ['First', 'Second']) await world.text(number, text);
    expect(await world.decisions()).toEqual(['trial-replies matched', 'live-once matched', 'trial-once matched']);
    expect(await world.texts()).toEqual([`${number}: After 0.`]);
    const rules = await simulated();
    expect(rules.map(({ matched }) => matched)).toEqual([1, 0, 1]);
  });

  test('uses up nothing of what it may do live', async () => {
    const promoted = on('promoted', 'hello', '{ reply: Once a day. }', ', limits: { per_thread: 1 per 24h }');
    await world.rules(`rules:\n${promoted.replace(' }\n', `${trial} }\n`)}`);
    for (const _ of [1, 2]) await world.text(number, 'hello');
    expect(await world.texts()).toEqual([]);
    await world.rules(`rules:\n${promoted}`);
    for (const _ of [1, 2]) await world.text(number, 'hello');
    expect(await world.texts()).toEqual([`${number}: Once a day.`]);
    const decided = ['matched', 'limit:thread', 'matched', 'limit:thread'];
    expect(await world.decisions()).toEqual(decided.map((reason) => `promoted ${reason}`));
  });
});

describe('of what rules decided', () => {
  const counts = () =>
    query<{ line: string }>(
      `select concat_ws(' ', rule, mode, evaluation_count, matched_count, condition_false_count, limited_count, '|',
         action_done_count, action_would_count, action_failed_count, '|', planned_count, sent_count) as line
       from reporting.rule_outcomes order by 1`,
    ).then((rows) => rows.map(({ line }) => line));

  test('matches and refusals keep a row, a false condition only a count', async () => {
    await world.rules(`rules:
${on('close', 'close', '{ comment: Closed. }, { resolve: {} }')}${on('tries', 'close', '{ comment: Tried. }', trial)}
${on('greets', 'hello', '{ reply: Hello. }', ', limits: { per_thread: 1 per 24h }')}`);
    for (const text of ['close', 'hello', 'Hello!', 'and now', 'and then']) await world.text(number, text);
    expect(await world.decisions()).toEqual([
      'close matched',
      'tries matched',
      'greets matched',
      'greets limit:thread',
    ]);
    await world.pass('30s');
    const once = [
      'close live 5 1 4 0 | 2 0 0 | 0 0',
      'greets live 5 1 3 1 | 0 0 0 | 1 1',
      'tries dry-run 5 1 4 0 | 0 1 0 | 0 0',
    ];
    expect(await counts()).toEqual(once);
    // The stored text says which clause was false.
    const { out } = await world.trunkline('rules', 'explain', `16465550100/${number}`);
    expect(out).toContain('false: message.plain == "close"\n    message.plain = "and then"');
    // A trigger that comes twice in one batch is acted on once, and both are counted where nothing matched.
    await query(
      `insert into ops.rule_events (kind, key, happened_at)
       select 'message_received', conversation_id || '/' || message_id, sent_at from warehouse.sms_messages, generate_series(1, 2)
       where direction = 'in' and body = 'close'`,
    );
    await world.pass('30s');
    expect(await counts()).toEqual([once[0], 'greets live 7 1 5 1 | 0 0 0 | 1 1', once[2]]);
  });

  test('an idle thread keeps its row in any case, since the mirror would give it again', async () => {
    await world.rules(
      'rules: [{ name: silent, on: thread_idle, for: 48h, if: thread.inbound_count > 100, do: [{ comment: Silent. }] }]',
    );
    await world.text(number, 'Still there?');
    await world.pass('50h');
    await world.pass('30s');
    expect(await world.decisions()).toEqual(['silent condition_false']);
    expect(await counts()).toEqual(['silent live 1 0 1 0 | 0 0 0 | 0 0']);
  });
});
