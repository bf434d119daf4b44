import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseRules } from '../../src/rules/file/parse.ts';
import { runInProcess } from '../cli/in-process.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { options, refusalOf } from './refusal.ts';

const ruleOn = (on: string, condition: string) =>
  `rules:\n  - name: a\n    on: ${on}\n    if: >-\n      ${condition}\n    do: [{ reopen: true }]\n`;
const columnOf = (condition: string, part: string) => condition.indexOf(part) + 7;

test.each([
  ['contact.number == "+1 (845) 555-0100"', '"+1', 'Write "18455550100".'],
  ['"8455550100" == thread.line', '"8455', 'Write "18455550100".'],
  ['contact.number in ["18455550100", "845-555-0101"]', '"845-', 'Write "18455550101".'],
  ['contact.number.startsWith("+1845")', '"+1', 'Write "1845".'],
  ['contact.number.matches("^\\\\+1845")', '"^', 'Write digits, such as "^1845".'],
  ['hours.weekday == "Monday"', '"Monday"', 'Did you mean "monday"?'],
  ['hours.weekday.startsWith("Mon")', '"Mon"', 'Did you mean "monday"?'],
  ['hours.weekday in ["saturday", "Sunday"]', '"Sunday"', 'Did you mean "sunday"?'],
  ['hours.time >= "9:00"', '"9:00"', 'Write "09:00".'],
  ['hours.date == "12/25/2026"', '"12', 'Write "2026-11-01".'],
  ['thread.last_direction == "inbound"', '"inbound"', 'There is: in, out.'],
  ['message.plain.contains("Thank you!")', '"Thank', 'Write "thank you", or use message.text.'],
  ['message.plain == "ok "', '"ok ', 'Write "ok", or use message.text.'],
  ['message.plain.endsWith("café")', '"café"', 'Write "cafe", or use message.text.'],
  ['message.plain.contains("👍")', '"👍"', 'Use message.text.'],
  ['message.plain.matches("^(Thanks|ty)$")', '"^', 'in lower case'],
  ['message.plain.matches("don\'t")', '"don', 'in lower case'],
  ['message.text.lowerAscii() == "Yes"', '"Yes"', 'Write "yes".'],
  ['message.media_count < 0', '0', 'Compare with 0 or more.'],
  ['thread.message_count == -1', '-1', 'Compare with 0 or more.'],
  ['line.can_text || hours.weekday != "Friday"', '"Friday"', 'Did you mean "friday"?'],
])('a comparison that can never hold is refused: %s', (condition, part, remedy) => {
  const { problems } = refusalOf(ruleOn('message_received', condition));
  expect(problems).toMatchObject([
    { line: 5, column: columnOf(condition, part), remedy: expect.stringContaining(remedy) },
  ]);
});

test('every one of them is told', () => {
  const condition = 'call.direction == "Inbound" || call.status in ["answered", "missed"] || contact.number == "+44"';
  const { problems } = refusalOf(ruleOn('call_missed', condition));
  expect(problems.map(({ column }) => column)).toEqual(
    ['"Inbound"', '"answered"', '"+44"'].map((part) => columnOf(condition, part)),
  );
  expect(problems[1]?.message).toContain('call.status is always "missed" on call_missed');
});

test.each([
  'contact.number == "18455550100" || contact.number.startsWith("1845") || contact.number.matches("^1(845|718)")',
  'contact.number in ["18455550100", "442079460000"]',
  'hours.weekday == "monday" || hours.weekday.contains("day") || hours.weekday.matches("^(sat|sun)")',
  'hours.time >= "09:00" && hours.time < "24:00" && hours.date == "2026-12-25"',
  'thread.last_direction == "" || thread.last_direction != "out"',
  'message.plain.contains("thank you") || message.plain.contains(" ok ") || message.plain.startsWith("שלום")',
  'message.plain.matches("(?i)THANKS") || message.plain.matches("\\\\bstop[^A-Z!]? ?\\\\p{L}+\\\\S")',
  'message.plain.matches("don\'?t{0,2}") || message.text.contains("Thank you!") || message.text.matches("Hi!")',
  'message.plain.contains("중지") || message.media_count > 0 || thread.inbound_count == 0',
])('a comparison that can hold is taken: %s', (condition) => {
  expect(parseRules(ruleOn('message_received', condition), options).rules).toHaveLength(1);
});

const assigned = 'thread.assigned_user_id';
const lastReply = 'thread.last_human_reply_at';

test.each([
  [`${assigned} != 4156 && message.plain == "hi"`, assigned],
  [`message.plain == "hi" && ${assigned} != 4156`, assigned],
  ['message.plain == "hi" && !thread.is_resolved', 'thread.is_resolved'],
  [`message.plain.contains("price") && now - ${lastReply} > duration("30m")`, lastReply],
  [`message.plain != "" && ${assigned} == 1`, assigned],
  [`!(message.plain == "hi" && (${assigned} == 1))`, assigned],
  [`message.plain == "hi" ? ${assigned} == 1 : false`, assigned],
  [`message.plain == "hi" && (has(${assigned}) ? true : ${assigned} == 1)`, `${assigned} == 1`],
  [`message.plain == "hi" && (has(${assigned}) || ${assigned} == 1)`, `${assigned} == 1`],
  [`message.plain == "hi" && !has(${assigned}) && ${assigned} == 1`, `${assigned} == 1`],
  [`(message.plain == "hi" || has(${assigned})) && message.id > 9 && ${assigned} == 1`, `${assigned} == 1`],
  [`message.plain == "hi" && has(${lastReply}) && ${assigned} == 1`, assigned],
  [`line.user_ids.exists(user, user == ${assigned})`, assigned],
  [`message.plain == "hi" && string(contact.name).contains("Pat")`, 'contact.name'],
])('a fact that can be missing is told of where no has() guards it: %s', (condition, part) => {
  const { warnings } = parseRules(ruleOn('message_received', condition), options);
  const [path = ''] = part.split(' ');
  expect(warnings).toMatchObject([
    {
      line: 5,
      column: columnOf(condition, part) + path.indexOf('.') + 1,
      message: `${path} can be missing: the rule then fails and does nothing.`,
      remedy: `Check first: has(${path}) && …`,
    },
  ]);
});

test.each([`${assigned} == 1`, `message.plain != "" || ${assigned} == 1`, `!(${assigned} == 1)`])(
  'and is refused where it fails whenever the fact is missing: %s',
  (condition) => {
    expect(refusalOf(ruleOn('message_received', condition)).message).toContain(`${assigned} can be missing.`);
  },
);

test('each of them is told once', () => {
  const condition = `${assigned} > 1 && ${assigned} < 9 && message.plain == "hi" && !thread.is_resolved`;
  const { warnings } = parseRules(ruleOn('message_received', condition), options);
  expect(warnings.map(({ column }) => column)).toEqual(
    ['assigned', 'is_resolved'].map((part) => columnOf(condition, part)),
  );
});

test.each([
  `has(${assigned}) && ${assigned} == 1`,
  `${assigned} == 1 && has(${assigned})`,
  `!has(${assigned}) || ${assigned} == 1`,
  `${assigned} == 1 || !has(${assigned})`,
  `has(${assigned}) ? ${assigned} == 1 : false`,
  `!has(${assigned}) ? message.plain == "hi" : ${assigned} == 1`,
  `has(${assigned}) == true && ${assigned} == 1`,
  `message.plain == "hi" && message.id > 3 && (has(${assigned}) && (${assigned} == 1 || ${assigned} == 2))`,
  `!(has(${assigned}) && ${assigned} == 1) && message.plain == "hi"`,
  `!(!has(${assigned}) || message.plain == "hi") && ${assigned} == 1`,
  `has(${assigned}) && has(${lastReply}) && (now - ${lastReply} > duration("1h") || ${assigned} == 1)`,
  `(has(${assigned}) || has(contact.name)) && (has(${assigned}) ? ${assigned} == 1 : contact.name == "Pat")`,
  `(!thread.exists || has(${assigned})) && thread.exists && ${assigned} == 1`,
  `has(${assigned}) && line.user_ids.exists(user, user == ${assigned})`,
  `line.user_ids.exists(user, has(${assigned}) && user == ${assigned})`,
  'hours.is_open && hours.closes_at - now > duration("1h")',
])('a fact that has() guards is taken: %s', (condition) => {
  expect(parseRules(ruleOn('message_received', condition), options).warnings).toEqual([]);
});

test.each([
  ['!hours.is_open', '"!hours.is_open"'],
  ['!hours.is_open && thread.exists', '"!hours.is_open && thread.exists"'],
  ['!has(thread.is_resolved)', '"!has(thread.is_resolved)"'],
  ['!(message.plain == "a" || thread.exists)', `'!(message.plain == "a" || thread.exists)'`],
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

const rule = (name: string, rest: string) => `  - { name: ${name}, on: message_received, ${rest} }\n`;

test.each([
  [
    'an unconditional stop',
    rule('a', 'do: [{ reopen: true }], stop: true') + rule('b', 'if: thread.exists, do: [{ reopen: true }]'),
  ],
  [
    'a stop whose condition is always true',
    rule('a', 'if: "true", do: [{ reopen: true }], stop: true') + rule('b', 'do: [{ reopen: true }]'),
  ],
  [
    'a stop with a clause that is always true',
    rule('a', 'if: 1 == 1 && thread.exists, do: [{ reopen: true }], stop: true') +
      rule('b', 'if: thread.exists, do: [{ reopen: true }]'),
  ],
  [
    'a stop with a part of its condition',
    rule('a', 'if: thread.exists, do: [{ reopen: true }], stop: true') +
      rule('b', 'if: thread.exists && hours.is_open, do: [{ reopen: true }]'),
  ],
])('a rule behind %s is never evaluated', (_what, rules) => {
  expect(warningsOf(rules)).toEqual([expect.stringMatching(/^3:\d+ b is never evaluated/)]);
});

test.each([
  [
    'a stop with limits',
    rule('a', 'do: [{ reopen: true }], stop: true, limits: { per_thread: 1 per 1h }') +
      rule('b', 'do: [{ reopen: true }]'),
  ],
  [
    'a stop with another condition',
    rule('a', 'if: thread.exists, do: [{ reopen: true }], stop: true') + rule('b', 'do: [{ reopen: true }]'),
  ],
  [
    'a stop of a rule that is off',
    rule('a', 'do: [{ reopen: true }], stop: true, mode: off') + rule('b', 'do: [{ reopen: true }]'),
  ],
  [
    'a stop of a rule on trial',
    rule('a', 'do: [{ reopen: true }], stop: true, mode: dry-run') + rule('b', 'do: [{ reopen: true }]'),
  ],
  [
    'a stop on another trigger',
    rule('a', 'do: [{ reopen: true }], stop: true') +
      rule('b', 'do: [{ reopen: true }]').replace('message_received', 'call_missed'),
  ],
  [
    'replies under other conditions',
    rule('a', 'if: hours.is_open, do: [{ reply: Hi }]') + rule('b', 'if: "!hours.is_open", do: [{ reply: Ho }]'),
  ],
])('%s keeps no later rule from being tried', (_what, rules) => {
  expect(warningsOf(rules)).toEqual([]);
});

test('two replies to one trigger are told, where that is certain', () => {
  expect(
    warningsOf(
      rule('a', 'do: [{ reply: Hi }]') + rule('b', 'if: thread.exists, do: [{ reopen: true }, { reply: Ho }]'),
    ),
  ).toEqual([expect.stringMatching(/^3:\d+ Two replies to one trigger: when b matches, a above matches/)]);
});

/** What the command says of a file, on both streams, and its exit code. */
async function checked(text: string, databaseUrl: string): Promise<{ output: string; code: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-check-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'rules.yaml'), text);
  const ran = await runInProcess({ DATABASE_URL: databaseUrl }, 'rules', 'check', join(folder, 'rules.yaml'));
  return { output: ran.out + ran.err, code: ran.code };
}

test('a user whom the directory does not know is told, and a warning ends the command with 1', async () => {
  const database = await factsDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const assigning = (...users: string[]) =>
    `rules:\n${users.map((user, at) => `  - { name: r${at}, on: call_missed, do: [{ assign: ${user} }] }\n`).join('')}`;
  const before = await checked(assigning('nobody@example.com'), database.url);
  expect(before).toMatchObject({ code: 0, output: expect.stringContaining('is valid') });
  await database.insert('warehouse.users', { user_id: 7, username: 'Pat', email: 'pat@example.com' });
  const { output, code } = await checked(assigning('pat', 'PAT@example.com', '7', '8', 'sam'), database.url);
  expect(code).toBe(1);
  expect(output).toMatch(/rules\.yaml:5:\d+: warning: The account has no user with the id 8\./);
  expect(output).toMatch(/rules\.yaml:6:\d+: warning: The account has no user sam\./);
  expect(output).toContain('can be used, but see 2 warnings');
});

test('a line that the account does not have is told', async () => {
  const database = await factsDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
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
