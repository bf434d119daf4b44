import { expect, test } from 'vitest';
import { parseRules } from '../../src/rules/file/parse.ts';
import { remarksOn } from '../../src/rules/file/remarks.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { options } from './refusal.ts';

const parsed = (rules: string) => parseRules(`rules:\n${rules}`, options);
const warningsOf = (condition: string) =>
  parsed(`  - { name: a, on: message_received, if: '${condition}', do: [{ reopen: true }] }\n`).warnings;

test.each([
  'message.plain.contains("Refund")',
  'message.plain.startsWith("REFUND")',
  'message.plain.endsWith("refund!")',
  `message.plain.contains("don''t")`,
  'message.plain.matches("^Refund")',
  String.raw`message.plain.matches("\\bRefund\\b")`,
  'message.text.lowerAscii().contains("Refund")',
  '!message.plain.contains("Refund") && message.media_count == 0',
])('%s is told to be never true', (condition) => {
  expect(warningsOf(condition)).toMatchObject([{ message: /is never true here/, remedy: /lower case/ }].map(matched));
});

test.each(['contact.number.startsWith("+1")', 'line.number.endsWith("555-0100")'])(
  '%s is told to be never true: a number is digits alone',
  (condition) => {
    expect(warningsOf(condition)).toMatchObject(
      [{ message: /is never true here/, remedy: /digits alone/ }].map(matched),
    );
  },
);

const matched = ({ message, remedy }: { message: RegExp; remedy: RegExp }) => ({
  message: expect.stringMatching(message),
  remedy: expect.stringMatching(remedy),
});

test.each([
  'message.plain.contains(" refund ")',
  'message.text.contains("Refund")',
  'message.plain.matches("(?i)Refund")',
  String.raw`message.plain.matches("\\Wrefund\\S+ \\pL \\p{Lu}")`,
  'message.plain.matches("^(refund|money back)$")',
  'contact.number.startsWith("1212")',
  String.raw`contact.number.matches("^1(212|646)\\d+$")`,
])('%s is not', (condition) => {
  expect(warningsOf(condition)).toEqual([]);
});

const replyWarnings = (text: string, condition = '') =>
  parsed(`  - { name: a, on: message_received, ${condition}do: [{ reply: ${JSON.stringify(text)} }] }\n`).warnings.map(
    ({ message }) => message,
  );
const gap = 'contact.name can be missing: the text has a gap then.';

test.each([
  ['Hello {{ contact.name }}', [gap]],
  ['Hello {{- contact.name | capitalize -}}!', [gap]],
  ['Hello {{ contact.name | default: "there" }}', []],
  ['Hello{% if contact.name %} {{ contact.name }}{% endif %}', []],
  ['Hello {{ contact.number }}', []],
])('of the reply %s the gap is told', (text, told) => {
  expect(replyWarnings(text)).toEqual(told);
});

test('a reply has no gap where the condition asks for the fact', () => {
  expect(replyWarnings('Hello {{ contact.name }}', 'if: has(contact.name), ')).toEqual([]);
});

const long = 'We are glad to help you with everything that you need to know of our opening hours, prices and rooms. ';

test.each([
  [`“${long}”`, ['“ ” makes 2 segments of what would be 1.']],
  [`${long}It’s us`, ['’ makes 2 segments of what would be 1.']],
  [`${long}👍`, ['👍 makes 2 segments of what would be 1.']],
  [long, []],
  ['“Short”', []],
  [`${'שלום לכם ותודה על הפנייה '.repeat(4)}`, []],
])('of the reply %s the segments are told', (text, told) => {
  expect(replyWarnings(text)).toEqual(told);
});

test('segments and price stand beside each reply, and lines are those of the account', async () => {
  await using facts = await factsDatabase();
  await facts.insert('warehouse.sms_lines', { ...provenance, line: '18455550100' });
  await facts.user(1, []);
  await facts.insert('warehouse.user_endpoints', { user_id: 1, kind: 'number', endpoint: '18455550109' });
  const set = parseRules(
    `offices:
  here: { lines: ["18455550109"] }
  west: { lines: ["13105550199"] }
rules:
  - { name: a, on: message_received, if: 'line.number in ["18455550100", "16465550199"]', do: [{ reply: '“${long}”' }] }
  - { name: b, on: call_missed, do: [{ reply: { from: "18455550109", text: Sorry. } }] }
`,
    options,
  );
  const settings = { rulesMode: 'live', hoursZone: 'UTC', notify: { targets: new Map() } } as never;
  const { warnings, replies } = await remarksOn(set, facts.db, settings);
  expect(replies).toMatchObject([
    { rule: 'a', line: 5, segments: 2, dollars: 0.1 },
    { rule: 'b', line: 6, segments: 1, dollars: 0.05 },
  ]);
  expect(warnings.map(({ line, message }) => `${line}: ${message}`)).toEqual([
    '5: “ ” makes 2 segments of what would be 1.',
    '3: The account has no line 13105550199.',
    '5: The account has no line 16465550199.',
    '6: The account has no line 18455550109 that can text.',
  ]);
});

const provenance = { content_hash: 'h', source: 'test', fetch_seq: 1, fetched_at: '2026-01-01T00:00:00Z' };
