import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defaultRuleLimits } from '../../src/ledger/limits.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { durationOf, rulesSchema } from '../../src/rules/file/schema.ts';
import { triggerKinds } from '../../src/rules/triggers.ts';
import { options, refusalOf } from './refusal.ts';

/** A rule on texts with one line changed; `if` stands in line 4, the step in line 5. */
const rule = (condition: string, step = 'reopen: true', on = 'message_received') =>
  `rules:\n  - name: one\n    on: ${on}\n    if: ${condition}\n    do: [{ ${step} }]\n`;

/** A rule with limits; they begin in column 15 of line 4. */
const limited = (limits: string) =>
  `rules:\n  - name: one\n    on: message_received\n    limits: { ${limits} }\n    do: [{ reply: hi }]\n`;

// The caret stands under the first character of what is quoted here.
const mistakes: readonly (readonly [
  what: string,
  text: string,
  at: [line: number, column: number],
  message: string,
  remedy: string,
])[] = [
  ['a file in another encoding', 'rules:\n  - name: caf\ufffd\n', [2, 14], 'not UTF-8', 'Save the file'],
  ['a misspelt key of the file', 'ruels: []\n', [1, 1], '`ruels` is not a key', 'Did you mean "rules"?'],
  [
    'a misspelt key of a rule',
    'rules:\n  - name: one\n    onn: call_missed\n    on: call_missed\n    do: [{ reopen: true }]\n',
    [3, 5],
    '`onn` is not a key',
    'Did you mean "on"?',
  ],
  [
    'a misspelt trigger',
    rule('"true"', undefined, 'mesage_received'),
    [3, 9],
    'no "mesage_received"',
    'Did you mean "message_received"?',
  ],
  ['a misspelt step', rule('"true"', 'replly: hi'), [5, 12], '`replly` is not a key', 'Did you mean "reply"?'],
  ['two things in one step', rule('"true"', 'reply: hi, comment: ho'), [5, 10], 'one thing', 'items of their own'],
  [
    'a key misspelt within a step',
    rule('"true"', 'resolve: { coment: hi }'),
    [5, 23],
    '`coment` is not a key',
    'Did you mean "comment"?',
  ],
  ['a number for a text', rule('"true"', 'reply: 5'), [5, 19], 'not a text', 'quotes'],
  [
    'a reply without a text',
    rule('"true"', 'reply: { from: "16465550100" }', 'call_missed'),
    [5, 19],
    '`text` is missing',
    'Add text',
  ],
  [
    'a misspelt key of a reply',
    rule('"true"', 'reply: { text: hi, form: 1 }', 'call_missed'),
    [5, 31],
    '`form` is not a key',
    '"from"',
  ],
  [
    'a reply from no number',
    rule('"true"', 'reply: { text: hi, from: main }', 'call_missed'),
    [5, 37],
    'not a line',
    '"16465550100"',
  ],
  [
    'a reply from a list',
    rule('"true"', 'reply: { text: hi, from: [1] }', 'call_missed'),
    [5, 37],
    'not a text',
    'quotes',
  ],
  [
    'a text that is answered elsewhere',
    rule('"true"', 'reply: { text: hi, from: "16465550100" }'),
    [5, 37],
    'own thread',
    'Remove from',
  ],
  ['a step that is no step', rule('"true"', 'resolve: 7'), [5, 21], 'not `true`', 'Write resolve: true, or'],
  [
    'a step without a value',
    'rules:\n  - { name: one, on: call_missed, do: [resolve] }\n',
    [2, 40],
    'no keys',
    'resolve: true',
  ],
  [
    'a step without a dash',
    'rules:\n  - { name: one, on: call_missed, do: { reopen: true } }\n',
    [2, 39],
    'not a list',
    'dash',
  ],
  ['a user with a key', rule('"true"', 'assign: { user: 5 }'), [5, 20], 'no user', 'right after `assign:`'],
  ['a note with a key', rule('"true"', 'comment: { text: hi }'), [5, 21], 'not a text', 'Write comment: "…"'],
  [
    'an approval in words',
    rule('"true"', 'reply: { text: hi, approve: "yes" }'),
    [5, 40],
    'not `true`',
    'approve: true, or',
  ],
  ['a duration without a unit', limited('max_age: 600'), [4, 24], 'not a duration', '10m'],
  [
    'a rule without a name',
    'rules:\n  - on: call_missed\n    do: [{ reopen: true }]\n',
    [2, 5],
    '`name` is missing',
    'Add name.',
  ],
  [
    'nothing to do',
    'rules:\n  - name: one\n    on: call_missed\n    do: []\n',
    [4, 9],
    'nothing to do',
    'at least one',
  ],
  ['a silence without a length', rule('"true"', undefined, 'thread_idle'), [3, 9], 'needs `for`', 'for: 48h'],
  [
    'a length without a silence',
    'rules:\n  - name: one\n    on: call_missed\n    for: 48h\n    do: [{ reopen: true }]\n',
    [4, 10],
    'belongs to thread_idle',
    'Remove it',
  ],
  [
    'a length that is none',
    'rules:\n  - name: one\n    on: thread_idle\n    for: 2 days\n    do: [{ reopen: true }]\n',
    [4, 10],
    'not a duration',
    '48h or 7d',
  ],
  [
    'two replies',
    'rules:\n  - name: one\n    on: call_missed\n    do:\n      - reply: a\n      - reply: b\n',
    [6, 9],
    'one reply',
    'second rule',
  ],
  [
    'two rules of one name',
    `${rule('"true"')}  - name: one\n    on: call_missed\n    do: [{ reopen: true }]\n`,
    [6, 11],
    'two rules called one',
    'line 2',
  ],
  [
    'an opening that ends before it begins',
    'business_hours: { monday: 17:00-09:00 }\nrules: []\n',
    [1, 27],
    'ends before it begins',
    'midnight',
  ],
  [
    'a day that is none',
    'business_hours: { holidays: [2026-02-30] }\nrules: []\n',
    [1, 30],
    'not a date',
    '2026-12-25',
  ],
  ['a fact that is none', rule('\'message.txt == "a"\''), [4, 18], 'no fact message.txt', 'Did you mean "text"?'],
  [
    'a fact within has',
    rule('has(thread.is_resolve)'),
    [4, 20],
    'no fact thread.is_resolve',
    'Did you mean "is_resolved"?',
  ],
  ['a group that is none', rule('contct.is_new'), [4, 9], 'no fact called contct', 'Did you mean "contact"?'],
  ['a group of another trigger', rule('\'call.status == "missed"\''), [4, 10], 'There is no `call` on', 'call_missed'],
  ['types that do not go together', rule('message.text == 1'), [4, 9], 'string == int', 'one type'],
  ['a comparison with null', rule('thread.is_resolved == null'), [4, 9], 'bool == null', 'has('],
  ['a text for a condition', rule('message.text'), [4, 9], 'a string, not true or false', 'Compare'],
  [
    'a length of time that is none, behind a clause that is false',
    rule('\'hours.date == "2027-01-01" && now - message.sent_at > duration("2 days")\''),
    [4, 10],
    'fails on sample facts',
    '"48h"',
  ],
  ['a pattern that RE2 has not', rule('\'message.plain.matches("(?=a)")\''), [4, 10], 'fails on sample facts', 'RE2'],
  ['an expression that ends early', rule('message.id >'), [4, 21], 'EOF', 'CEL writes'],
  ['a function that is none', rule("'sze(message.text) > 1'"), [4, 10], 'sze', 'Functions are size'],
  [
    'a place in the second line of a folded text',
    'rules:\n  - name: one\n    on: message_received\n    if: >-\n      message.id > 3 &&\n      message.txt == "a"\n    do: [{ reopen: true }]\n',
    [6, 15],
    'no fact message.txt',
    '"text"',
  ],
  [
    'a place in the second line of a literal text',
    'rules:\n  - name: one\n    on: message_received\n    do:\n      - reply: |\n          Hello\n          {{ contact.nam }}\n',
    [7, 22],
    'no fact contact.nam',
    '"name"',
  ],
  [
    'a name in a template, where nothing reaches it',
    rule('"true"', "reply: '{% if contact.is_new and contact.nme %}x{% endif %}'"),
    [5, 53],
    'no fact contact.nme',
    '"name"',
  ],
  [
    'a filter that is none',
    rule('"true"', "reply: '{{ message.text | upcas }}'"),
    [5, 20],
    'filter: upcas',
    'Filters are',
  ],
  ['another file', rule('"true"', 'reply: \'{% include "x" %}\''), [5, 20], 'include', 'a tag {%'],
  ['a template that does not end', rule('"true"', "reply: '{{ message.text'"), [5, 20], 'not closed', 'is written {{'],
  ['a text that is too long', rule('"true"', `reply: '${'é'.repeat(1_001)}'`), [5, 20], '2002 bytes', '2000'],
  [
    'a text with a colon and no quotes',
    'rules:\n  - name: one\n    on: call_missed\n    do:\n      - reply: Hi {{ now | date: "%H" }}\n',
    [5, 16],
    'not valid YAML',
    'in quotes, or after `>-`',
  ],
  [
    'a key that stands deeper than its neighbours',
    'rules:\n  - name: one\n      on: call_missed\n',
    [2, 11],
    'not valid YAML',
    'indent keys like those',
  ],
  ['tabs', 'rules:\n\t- name: one\n', [2, 1], 'not valid YAML', 'spaces'],
  ['a quote that is not closed', 'rules:\n  - name: "one\n    on: call_missed\n', [2, 11], 'closing', 'quote'],
  ['a key that stands there twice', `${rule('"true"')}    on: call_missed\n`, [6, 5], 'not valid YAML', 'remove one'],
  ['an empty file', '', [1, 1], '`rules` is missing', 'Add rules'],
  ['a single equals sign', rule('\'message.plain = "hi"\''), [4, 24], '=', 'CEL writes =='],
  ['a word for an operator', rule("'hours.is_open and line.can_text'"), [4, 24], 'Unexpected', '&& for and'],
  ['quiet hours that are none', limited('quiet_hours: 21-8'), [4, 28], 'not quiet hours', '"21:00-08:00"'],
  ['quiet hours of a whole day', limited('quiet_hours: "00:00-24:00"'), [4, 28], 'at the same time', 'mode: off'],
  ['an allowance that looks back for years', limited('per_thread: 1 per 900d'), [4, 27], 'longer than a year', '366d'],
  [
    'an amount with its sign',
    'budgets: { daily_dollars: $5 }\nrules: []\n',
    [1, 27],
    'expected number',
    'config/rules.yaml',
  ],
  ['no budget at all', 'budgets: { daily_dollars: 1e9 }\nrules: []\n', [1, 27], 'more than', 'every budget has'],
  ['less than nothing', 'budgets: { per_thread: -1 }\nrules: []\n', [1, 24], 'below 0', '0'],
  ['an agent where there was no call', rule('"true"', 'assign: agent'), [5, 20], 'has no call', 'nobody'],
];

describe('a mistake has its line, column, caret and remedy', () => {
  test.each(mistakes)('%s', (_what, text, [line, column], message, remedy) => {
    const error = refusalOf(text.replaceAll('if: "true"', 'if: message.id > 0'));
    const problem = error.problems.find((each) => each.line === line && each.column === column);
    expect(problem, error.message).toBeDefined();
    expect(problem?.message).toContain(message);
    expect(problem?.remedy).toContain(remedy);
    const shown = error.message.split('\n');
    const at = shown.findIndex((each) => each.startsWith(`rules.yaml:${line}:${column}: `));
    const source = text.replaceAll('if: "true"', 'if: message.id > 0').split('\n')[line - 1];
    if (source === undefined) return;
    const caret = shown[at + 2]?.replaceAll('\t', ' ').indexOf('^') ?? -1;
    expect(source).toContain(shown[at + 1]?.slice(8));
    if (source.length > 160) return;
    expect(caret - 8).toBe(column - 1);
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
