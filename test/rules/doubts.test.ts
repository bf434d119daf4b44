import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sampleFacts } from '../../src/rules/facts/declared.ts';
import { celFacts } from '../../src/rules/facts/values.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { temporaryFolder } from '../at-end.ts';
import { runInProcess } from '../cli/in-process.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { options, refusalOf } from './refusal.ts';

const ruleOn = (on: string, condition: string) =>
  `rules:\n  - name: a\n    on: ${on}\n    if: >-\n      ${condition}\n    do: [{ reopen: true }]\n`;
const columnOf = (condition: string, part: string) => condition.indexOf(part) + 7;

test.each([
  ['contact.number == "+1 (845) 555-0100"', '"+1', 'digits alone'],
  ['"8455550100" == line.number', '"8455', 'with the country code'],
  ['contact.number in ["18455550100", "845-555-0101"]', '"845-', 'digits alone'],
  ['contact.number == "5556001"', '"555', 'with the country code'],
  ['hours.weekday == "Monday"', '"Monday"', 'Did you mean "monday"?'],
  ['hours.weekday in ["saturday", "Sunday"]', '"Sunday"', 'Did you mean "sunday"?'],
  ['hours.time >= "9:00"', '"9:00"', 'HH:MM'],
  ['hours.date == "12/25/2026"', '"12', 'YYYY-MM-DD'],
  ['thread.last_direction == "inbound"', '"inbound"', 'There is: in, out.'],
  ['message.plain == "Thank you!"', '"Thank', 'lower case'],
  ['"VIP" in contact.tags', '"VIP"', 'lower case'],
  ['contact.language == "Spanish"', '"Spanish"', 'a code such as "es"'],
  ['line.can_text || hours.weekday != "Friday"', '"Friday"', 'Did you mean "friday"?'],
])('a comparison with what a fact never is, is refused: %s', (condition, part, remedy) => {
  const { problems } = refusalOf(ruleOn('message_received', condition));
  expect(problems).toMatchObject([
    { line: 5, column: columnOf(condition, part), remedy: expect.stringContaining(remedy) },
  ]);
});

test.each([
  'contact.number == "18455550100" || contact.number.startsWith("1845") || contact.number.matches("^1(845|718)")',
  'contact.number in ["18455550100", "442079460000"]',
  'hours.weekday == "monday" || hours.weekday.contains("day") || hours.weekday.matches("^(sat|sun)")',
  'hours.time >= "09:00" && hours.time < "24:00" && hours.date == "2026-12-25"',
  'thread.last_direction == "" || thread.last_direction != "out"',
  'message.plain == "중지" || message.media_count > 0 || thread.inbound_count == 0',
])('a comparison with what it can be is taken: %s', (condition) => {
  expect(parseRules(ruleOn('message_received', condition), options).rules).toHaveLength(1);
});

const [all, withoutOptional] = sampleFacts('message_received').map(celFacts);

test.each([
  'contact.name == "VIP"',
  'contact.name != "VIP"',
  '!(contact.name == "VIP")',
  '!(contact.name == "VIP" && line.number != "")',
  '!thread.is_resolved',
  'thread.is_resolved ? true : true',
  'line.number == "" || contact.name != "VIP"',
  'now - thread.last_human_reply_at > duration("0s") || !(contact.name.contains("x"))',
  '["x"].exists(each, each != contact.name)',
  '!["x"].all(each, each == contact.name)',
  'has(contact.name) && contact.name == "Pat Example"',
])('a condition that needs a missing fact is false, also where it is negated: %s', (condition) => {
  const [rule] = parseRules(ruleOn('message_received', condition), options).rules;
  expect(rule?.condition?.test(withoutOptional ?? {})).toBe(false);
});

test.each(['!has(contact.name) || contact.name == "x"', 'contact.name == "x" || line.number != ""'])(
  'a fact that is missing does not matter where the rest decides: %s',
  (condition) => {
    const [rule] = parseRules(ruleOn('message_received', condition), options).rules;
    expect([all, withoutOptional].map((facts) => rule?.condition?.test(facts ?? {}))).toEqual([
      !condition.startsWith('!'),
      true,
    ]);
  },
);

test.each([
  ['!hours.is_open', '"!hours.is_open"'],
  ['!hours.is_open && line.can_text', '"!hours.is_open && line.can_text"'],
  ['!has(thread.is_resolved)', '"!has(thread.is_resolved)"'],
  ['!(message.plain == "a" || line.can_text)', `'!(message.plain == "a" || line.can_text)'`],
])('a condition that begins with ! and has no quotes is shown with quotes: %s', (condition, quoted) => {
  const text = `rules:\n  - name: a\n    on: message_received\n    if: ${condition}\n    do: [{ reopen: true }]\n`;
  const { problems } = refusalOf(text);
  expect(problems).toMatchObject([{ line: 4, column: 9, remedy: `Write if: ${quoted}` }]);
  expect(parseRules(text.replace(condition, quoted), options).rules[0]?.condition).toBeDefined();
});

test('also within braces, and beside another mistake', () => {
  const text =
    'rules:\n  - { name: a, on: message_received, if: !hours.is_open, do: [{ reopen: true }] }\n  - { name: b, onn: call_missed }\n';
  const { problems } = refusalOf(text);
  expect(problems[0]).toMatchObject({ line: 2, column: 42, remedy: 'Write if: "!hours.is_open"' });
  expect(problems.map(({ line }) => line)).toContain(3);
});

test('an empty condition is called one', () => {
  expect(refusalOf('rules:\n  - { name: a, on: call_missed, if: "", do: [{ reopen: true }] }\n').message).toContain(
    'The condition is empty.',
  );
});

const warningsOf = (rules: string) =>
  parseRules(`rules:\n${rules}`, options).warnings.map(({ line, column, message }) => `${line}:${column} ${message}`);

test('a part of a time in UTC is told with the local one', () => {
  const rule = (condition: string) =>
    `  - name: a\n    on: message_received\n    if: ${condition}\n    do: [{ reopen: true }]\n`;
  expect(warningsOf(rule('now.getHours() > 17 || message.sent_at.getDayOfWeek() == 0'))).toEqual([
    expect.stringMatching(/^4:13 getHours\(\) is in UTC/),
    expect.stringMatching(/^4:48 getDayOfWeek\(\) is in UTC/),
  ]);
  expect(parseRules(`rules:\n${rule('now.getHours() > 17')}`, options).warnings[0]?.remedy).toContain(
    'Write now.getHours("America/New_York")',
  );
  expect(warningsOf(rule('now.getHours("UTC") > 17 && (now - message.sent_at).getHours() < 3'))).toEqual([]);
});

/** What the command says of a file, on both streams, and its exit code. */
async function checked(text: string, databaseUrl: string): Promise<{ output: string; code: number }> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'rules.yaml'), text);
  const ran = await runInProcess({ DATABASE_URL: databaseUrl }, 'rules', 'check', join(folder, 'rules.yaml'));
  return { output: ran.out + ran.err, code: ran.code };
}

test('a user whom the directory does not know is told, and a warning ends the command with 1', async () => {
  const database = await factsDatabase();
  const assigning = (...users: string[]) =>
    `rules:\n${users.map((user, at) => `  - { name: r${at}, on: call_missed, do: [{ assign: ${user} }] }\n`).join('')}`;
  const before = await checked(assigning('nobody@example.com'), database.url);
  expect(before).toMatchObject({ code: 0, output: expect.stringContaining('is valid') });
  const pat = { user_id: 7, username: 'Pat', email: 'pat@example.com' };
  await database.insert('warehouse.users', { ...pat, first_name: 'Pat', last_name: 'Diaz' });
  const { output, code } = await checked(assigning('pat', 'PAT@example.com', '7', '8', 'sam'), database.url);
  expect(code).toBe(1);
  expect(output).toMatch(/rules\.yaml:5:\d+: warning: The account has no user with the id 8\./);
  expect(output).toMatch(/rules\.yaml:6:\d+: warning: The account has no user sam\./);
  expect(output).toContain('or the id, username or e-mail of a user: 7 (Pat Diaz).');
  expect(output).toContain('can be used, but see 2 warnings');
});

test('a line that the account does not have is told', async () => {
  const database = await factsDatabase();
  const from = (line: string) =>
    `rules:\n  - { name: r, on: call_missed, do: [{ reply: { from: ${line}, text: Sorry } }] }\n`;
  expect(await checked(from('6465550109'), database.url)).toMatchObject({ code: 0 });
  const read = { content_hash: 'h', source: 'test', fetch_seq: 1, fetched_at: '2026-01-01T00:00:00Z' };
  await database.insert('warehouse.sms_lines', { line: '16465550100', ...read });
  expect(await checked(from('(646) 555-0100'), database.url)).toMatchObject({ code: 0 });
  const { output, code } = await checked(from('6465550109'), database.url);
  expect(code).toBe(1);
  expect(output).toMatch(/rules\.yaml:2:\d+: warning: The account has no line 16465550109 that can text\./);
  expect(output).toContain('such as 16465550100');
});
