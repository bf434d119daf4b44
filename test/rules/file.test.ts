import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defaultRuleLimits } from '../../src/ledger/limits.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { durationOf, rulesSchema } from '../../src/rules/file/schema.ts';
import { triggerKinds } from '../../src/rules/triggers.ts';
import { options, refusalOf } from './refusal.ts';

/**
 * Each mistake with its caret, and below it parts of the message and the remedy, without their backquotes: in a whole file, or in lines that
 * stand in a rule on texts instead of its own. A line that begins with a blank goes on with what is above it.
 */
const mistakes = `
rules:
  - name: caf�
             ^ not UTF-8 | Save the file
ruels: []
^ ruels is not a key | Did you mean "rules"?
onn: call_missed
^ onn is not a key | Did you mean "on"?
on: mesage_received
    ^ no "mesage_received" | Did you mean "message_received"?
do: [{ replly: hi }]
       ^ replly is not a key | Did you mean "reply"?
do: [{ reply: hi, comment: ho }]
     ^ one thing | items of their own
do: [{ resolve: { coment: hi } }]
                  ^ coment is not a key | Did you mean "comment"?
do: [{ reply: 5 }]
              ^ not a text | quotes
on: call_missed
do: [{ reply: { from: "16465550100" } }]
              ^ text is missing | Add text
on: call_missed
do: [{ reply: { text: hi, form: 1 } }]
                          ^ form is not a key | "from"
on: call_missed
do: [{ reply: { text: hi, from: main } }]
                                ^ not a line | "16465550100"
on: call_missed
do: [{ reply: { text: hi, from: [1] } }]
                                ^ not a text | quotes
do: [{ reply: { text: hi, from: "16465550100" } }]
                                ^ own thread | Remove from
do: [{ resolve: 7 }]
                ^ not true | Write resolve: true, or
rules:
  - { name: one, on: call_missed, do: [resolve] }
                                       ^ no keys | resolve: true
rules:
  - { name: one, on: call_missed, do: { reopen: true } }
                                      ^ not a list | dash
do: [{ assign: { user: 5 } }]
               ^ no user | right after assign:
do: [{ comment: { text: hi } }]
                ^ not a text | Write comment: "…"
do: [{ reply: { text: hi, approve: "yes" } }]
                                   ^ not true | approve: true, or
limits: { max_age: 600 }
                   ^ not a duration | 10m
rules:
  - on: call_missed
    ^ name is missing | Add name.
    do: [{ reopen: true }]
on: call_missed
do: []
    ^ nothing to do | at least one
on: thread_idle
    ^ needs for | for: 48h
on: call_missed
for: 48h
     ^ belongs to thread_idle | Remove it
on: thread_idle
for: 2 days
     ^ not a duration | 48h or 7d
rules:
  - name: one
    on: call_missed
    do:
      - reply: a
      - reply: b
        ^ one reply | second rule
rules:
  - { name: one, on: call_missed, do: [{ reopen: true }] }
  - { name: one, on: call_missed, do: [{ reopen: true }] }
            ^ two rules called one | line 2
business_hours: { monday: 17:00-09:00 }
                          ^ ends before it begins | midnight
business_hours: { holidays: [2026-02-30] }
                             ^ not a date | 2026-12-25
if: 'message.txt == "a"'
             ^ no fact message.txt | Did you mean "text"?
if: has(thread.is_resolve)
               ^ no fact thread.is_resolve | Did you mean "is_resolved"?
if: contct.is_new
    ^ no fact called contct | Did you mean "contact"?
if: 'call.status == "missed"'
     ^ There is no call on | call_missed
if: message.text == 1
    ^ string == int | one type
if: thread.is_resolved == null
    ^ bool == null | has(
if: message.text
    ^ a string, not true or false | Compare
if: 'hours.date == "2027-01-01" && now - message.sent_at > duration("2 days")'
     ^ fails on sample facts | "48h"
if: 'message.plain.matches("(?=a)")'
     ^ fails on sample facts | RE2
if: message.id >
                ^ EOF | CEL writes
if: 'sze(message.text) > 1'
     ^ sze | Functions are size
rules:
  - name: one
    on: message_received
    if: >-
      message.id > 3 &&
      message.txt == "a"
              ^ no fact message.txt | "text"
    do: [{ reopen: true }]
rules:
  - name: one
    on: message_received
    do:
      - reply: |
          Hello
          {{ contact.nam }}
                     ^ no fact contact.nam | "name"
do: [{ reply: '{% if contact.is_new and contact.nme %}x{% endif %}' }]
                                                ^ no fact contact.nme | "name"
do: [{ reply: '{{ message.text | upcas }}' }]
               ^ filter: upcas | Filters are
do: [{ reply: '{% include "x" %}' }]
               ^ include | a tag {%
do: [{ reply: '{{ message.text' }]
               ^ not closed | is written {{
rules:
  - name: one
    on: call_missed
    do:
      - reply: Hi {{ now | date: "%H" }}
               ^ not valid YAML | in quotes, or after >-
rules:
  - name: one
          ^ not valid YAML | indent keys like those
      on: call_missed
rules:
\t- name: one
^ not valid YAML | spaces
rules:
  - name: "one
          ^ closing | quote
    on: call_missed
rules:
  - name: one
    on: call_missed
    on: call_missed
    ^ not valid YAML | remove one
if: 'message.plain = "hi"'
                   ^ = | CEL writes ==
if: 'hours.is_open and line.can_text'
                   ^ Unexpected | && for and
limits: { quiet_hours: 21-8 }
                       ^ not quiet hours | "21:00-08:00"
limits: { quiet_hours: "00:00-24:00" }
                       ^ at the same time | mode: off
limits: { per_thread: 1 per 900d }
                      ^ longer than a year | 366d
budgets: { daily_dollars: $5 }
                          ^ expected number | config/rules.yaml
budgets: { daily_dollars: 1e9 }
                          ^ more than | every budget has
budgets: { per_thread: -1 }
                       ^ below 0 | 0
do: [{ assign: agent }]
               ^ has no call | nobody
`;

interface Mistake {
  readonly file: string[];
  readonly place: readonly [line: number, column: number];
  readonly told: readonly [message: string, remedy: string];
}

const isCaret = (line: string) => /^\s*\^ /.test(line);

function mistakeIn(block: readonly string[]): Mistake {
  const lines = [...block];
  const at = lines.findIndex(isCaret);
  const [caret = ''] = lines.splice(at, 1);
  const [message = '', remedy = ''] = caret.replace(/^\s*\^ /, '').split(' | ');
  const column = caret.indexOf('^') + 1;
  const told = [message, remedy] as const;
  if (/^r/.test(block[0] ?? '')) return { file: lines, place: [at, column], told };
  if (/^b/.test(block[0] ?? '')) return { file: [...lines, 'rules: []'], place: [at, column], told };
  const keys = ['on: message_received', 'if: message.id > 0', 'do: [{ reopen: true }]'];
  const keyOf = (line: string) => line.split(':')[0];
  const own = keys.filter((key) => !lines.some((line) => keyOf(line) === keyOf(key)));
  const rule = [...lines, ...own].map((line) => `    ${line}`);
  return { file: ['rules:', '  - name: one', ...rule], place: [2 + at, 4 + column], told };
}

describe('a mistake has its line, column, caret and remedy', () => {
  const blocks: string[][] = [];
  for (const line of mistakes.trim().split('\n')) {
    const before = blocks.at(-1);
    if (!before || (before.some(isCaret) && /^\S/.test(line))) blocks.push([line]);
    else before.push(line);
  }

  test.each([
    ...blocks.map(mistakeIn),
    { file: [''], place: [1, 1], told: ['rules is missing', 'Add rules'] } as const,
    {
      file: ['rules:', '  - name: one', '    on: call_missed', `    do: [{ reply: '${'é'.repeat(1_001)}' }]`],
      place: [4, 20],
      told: ['2002 bytes', '2000'],
    } as const,
  ])('$told.0: $told.1', ({ file, place: [line, column], told: [message, remedy] }) => {
    const error = refusalOf(`${file.join('\n')}\n`);
    const problem = error.problems.find((each) => each.line === line && each.column === column);
    expect(problem?.message.replaceAll('`', ''), error.message).toContain(message);
    expect(problem?.remedy.replaceAll('`', '')).toContain(remedy);
    const shown = error.message.split('\n');
    const at = shown.findIndex((each) => each.startsWith(`rules.yaml:${line}:${column}: `));
    const source = file[line - 1] ?? '';
    expect(source).toContain(shown[at + 1]?.slice(8));
    if (source.length > 160) return;
    expect((shown[at + 2]?.replaceAll('\t', ' ').indexOf('^') ?? -1) - 8).toBe(column - 1);
  });
});

test('of a long line, what stands around the mistake is shown', () => {
  const line = `    do: [{ comment: '${'x'.repeat(900)}' }, { replly: hi }, { comment: '${'y'.repeat(900)}' }]`;
  const { message } = refusalOf(`rules:\n  - name: one\n    on: call_missed\n${line}\n`);
  const [place, shown = '', caret = ''] = message.split('\n');
  expect(place).toContain('rules.yaml:4:929: ');
  expect(shown.length).toBeLessThan(180);
  expect(shown.slice(caret.indexOf('^'))).toMatch(/^replly: hi/);
});

test('the shipped rules are good', async () => {
  const set = parseRules(await readFile('config/rules.yaml', 'utf8'), options);
  expect(set.rules.map(({ name }) => name)).toEqual([
    'thanks-resolves',
    'out-of-hours-reply',
    'missed-call-text-back',
    'voicemail-acknowledgement',
    'reopen-on-new-text',
    'resolve-after-silence',
    'urgent-call-assigns',
  ]);
});

test('the shipped text to missed callers waits two minutes, and leaves once a day to a person on whatever line', async () => {
  const { rules } = parseRules(await readFile('config/rules.yaml', 'utf8'), options);
  expect(rules.find(({ on }) => on === 'call_missed')).toMatchObject({
    afterSeconds: 120,
    limits: { thread: undefined, contact: { count: 1, seconds: 86_400 } },
  });
});

test.each(await readdir('config/cookbook/rules'))('the recipe %s is good', async (name) => {
  const { rules, warnings } = parseRules(await readFile(`config/cookbook/rules/${name}`, 'utf8'), options);
  expect([rules.length > 0, warnings]).toEqual([true, []]);
});

const documented = (await readFile('docs/rules.md', 'utf8')).matchAll(/```yaml\n( {2}- name: (\S+)\n[^`]+)```/g);
test.each([...documented].map(([, rule, name]) => [name, rule]))('the example %s of the docs is good', (_, rule) => {
  expect(parseRules(`rules:\n${rule}`, options).warnings).toEqual([]);
});

test('the docs name the defaults of limits', async () => {
  const { maxAgeSeconds, humanMinutes, quietHours } = defaultRuleLimits;
  const docs = (await readFile('docs/rules.md', 'utf8')).replace(/\s+/g, ' ');
  expect(docs).toContain(`older than ${durationOf(maxAgeSeconds)} (\`max_age\``);
  expect(docs).toContain(
    `wait from ${quietHours.from} to ${quietHours.to} in the recipient's local time (\`quiet_hours\`)`,
  );
  expect(docs).toContain(`for ${humanMinutes}m after a text by a user of yours (\`human_pause\`)`);
});

test('the schema for editors is generated from the one that rules are checked with', async () => {
  expect(JSON.parse(await readFile('config/rules.schema.json', 'utf8'))).toEqual(
    z.toJSONSchema(rulesSchema, { target: 'draft-7', io: 'input' }),
  );
});

test('until a time zone is chosen, rules that speak of hours are at most dry-run', () => {
  const rules = [
    'if: "!hours.is_open"\n    do: [{ reopen: true }]',
    "do: [{ comment: '{{ hours.opens_at }}' }]",
    'mode: off\n    if: hours.is_open\n    do: [{ reopen: true }]',
    'do: [{ reopen: true }]',
  ].map((rest, at) => `  - name: rule-${at}\n    on: message_received\n    ${rest}\n`);
  const modes = (timeZone: string | undefined) =>
    parseRules(`rules:\n${rules.join('')}`, { ...options, timeZone }).rules.map(
      ({ mode, heldBack }) => heldBack ?? mode,
    );
  expect(modes(undefined)).toEqual(['time_zone_unset', 'time_zone_unset', 'off', 'live']);
  expect(modes('UTC')).toEqual(['live', 'live', 'off', 'live']);
});

test('the version changes with the text', () => {
  const version = (text: string) => parseRules(text, options).version;
  expect(version('rules: []\n')).toBe(version('rules: []\n'));
  expect(version('rules: [] # other\n')).not.toBe(version('rules: []\n'));
});

test.each(triggerKinds)('a rule on %s can use every fact that it is given', (kind) => {
  const length = kind === 'thread_idle' ? '\n    for: 1h' : '';
  const text = `rules:\n  - name: one\n    on: ${kind}${length}\n    if: hours.is_open && thread.message_count >= 0 && now > timestamp("2020-01-01T00:00:00Z")\n    do: [{ comment: '{{ contact.number }} {{ now | date: "%H" }}' }]\n`;
  expect(parseRules(text, options).rules).toHaveLength(1);
});

test('an idle thread has no delay of its own', () => {
  const { problems } = refusalOf(
    'rules:\n  - { name: one, on: thread_idle, for: 1h, after: 5m, do: [{ reopen: true }] }\n  - { name: two, on: call_missed, after: 31d, do: [{ reopen: true }] }\n',
  );
  expect(problems.map(({ line, message }) => `${line} ${message}`)).toEqual([
    '2 An idle thread is late already.',
    '3 This is longer than a month.',
  ]);
});
