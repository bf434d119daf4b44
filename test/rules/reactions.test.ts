import { afterAll, expect, test } from 'vitest';
import { explain } from '../../src/rules/explain.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { until } from '../world.ts';
import { options } from './refusal.ts';
import { createRulesWorld } from './rules-world.ts';

const rules = `
rules:
  - { name: our-words, on: message_received, if: 'message.plain.contains("open")', do: [{ comment: Open. }] }
  - { name: any-text, on: message_received, do: [{ comment: A text. }] }
  - { name: reacted, on: message_received, if: message.is_reaction && thread.unanswered_count == 0, do: [{ comment: They reacted. }] }
  - { name: silent, on: thread_idle, for: 1s, if: 'thread.last_direction == "out"', do: [{ resolve: true }] }
`;
const world = await createRulesWorld(rules, 'live', 'postgres');
afterAll(() => world.close());
const { sandbox, query, value } = world;

test('a reaction is a trigger of the rules that ask for it alone, and does not end a silence', async () => {
  const number = '15552220041';
  const { line } = await sandbox.emit.sms({ number, text: 'Hello' });
  await sandbox.emit.sms({ number, line, direction: 'out', text: 'We are open now. Reply STOP to opt out' });
  await sandbox.emit.sms({ number, line, text: 'Emphasized “We are open now. Reply STOP to opt out”' });
  await world.rulesSettled();
  await until(async () => (await world.runs('reacted')).some(({ is_matched }) => is_matched));
  expect((await world.runs('any-text')).map(({ is_matched }) => is_matched)).toEqual([true]);
  expect(await world.runs('our-words')).toEqual([]);
  const isResolved = () => value('select is_resolved from warehouse.sms_conversations where number = $1', number);
  await until(async () => (await isResolved()) === true);
  expect(await query('select opt_out_verdict from warehouse.sms_messages where is_reaction')).toEqual([
    { opt_out_verdict: 'none' },
  ]);
  const { db } = world.context.database;
  const [reaction] = await query<{ id: string }>(
    'select message_id as id from warehouse.sms_messages where is_reaction',
  );
  const told = await explain(db, parseRules(rules, options), { messageId: reaction?.id ?? '' }, 'live');
  expect(told?.rules.map(({ rule, outcome }) => [rule, outcome])).toEqual([
    ['our-words', 'reaction'],
    ['any-text', 'reaction'],
    ['reacted', 'matched'],
    ['silent', 'other_trigger'],
  ]);
});
