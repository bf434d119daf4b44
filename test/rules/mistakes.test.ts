import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { refusalOf } from './refusal.ts';

test('mistakes of meaning come at once, in the order of the file', () => {
  const { problems } = refusalOf(
    'rules:\n  - name: a\n    on: message_received\n    if: message.txt\n    do: [{ reply: "{{ x }}" }]\n  - name: b\n    on: call_missed\n    if: nope\n    do: [{ comment: "{{ call.nope }}" }]\n  - name: a\n    on: call_missed\n    do: [{ reopen: true }]\n',
  );
  expect(problems.map(({ line }) => line)).toEqual([4, 5, 8, 9, 10]);
});

test('a missing pair of quotes is one mistake, though nothing below it can be read', async () => {
  const shipped = await readFile('config/rules.yaml', 'utf8');
  const unquoted = '  - name: greets\n    on: message_received\n    do:\n      - reply: Hi {{ now | date: "%H" }}\n';
  const text = shipped.replace(/^rules:\n/m, `rules:\n${unquoted}`);
  const line = text.split('\n').findIndex((each) => each.includes('reply: Hi {{')) + 1;
  expect(refusalOf(text).problems).toMatchObject([{ line, column: 16, remedy: expect.stringContaining('quotes') }]);
});

test('of what is no YAML, the first mistake is told: what follows is misread', () => {
  const text =
    'rules:\n  - name: a\n    if: one: two\n    on: call_missed\n    on: call_missed\n  - name: c\n    if: "open\n';
  expect(refusalOf(text).problems.map(({ line }) => line)).toEqual([3]);
});

test('mistakes of form hide none of meaning, nor does YAML in the rules above it', () => {
  const rules = [
    'rules:\n  - name: a\n    on: call_missed\n    if: nope\n    do: [{ assign: { user: 5 } }]\n    limits: { max_age: 5 }\n',
    '  - name: b\n    on: call_missed\n    do: [{ comment: "{{ x }}" }]\n',
    '  - name: a\n    on: call_missed\n    do: [{ reopen: true }]\n',
  ];
  const linesOf = (text: string) => refusalOf(text).problems.map(({ line }) => line);
  expect(linesOf(rules.join(''))).toEqual([4, 5, 6, 9, 10]);
  expect(linesOf(`${rules.join('')}    limits: { max_age: 5 }\n    if: one: two\n`)).toEqual([4, 5, 6, 9, 14]);
});

test('mistakes of form come at once, in the order of the file, none twice', () => {
  const rules = [
    '  - name: b\n    on: call_mised\n    do: [{ reopen: true }]\n',
    '  - name: a\n    onn: call_missed\n    on: call_missed\n    do: [{ reopen: true }]\n',
    '  - 7\n',
  ];
  const text = `business_hours: { monday: 9-5 }\nrules:\n${rules.join('')}budgets: { per_thread: -1 }\n`;
  const { problems } = refusalOf(text);
  expect(problems.map(({ line, column }) => `${line}:${column}`)).toEqual(['1:27', '4:9', '7:5', '10:5', '11:24']);
});

test.each(['rules: 5\nruels: []\n', 'rules: { name: one }\nruels: []\n', '- 7\n', '7\n'])(
  'a file that has no list of rules is refused for its form: %j',
  (text) => {
    expect(refusalOf(text).problems.length).toBeGreaterThan(0);
  },
);

test.each(['"2125550131.0"', '2.13E+9', '5556001', '"16465550100 x4"'])(
  'a line is refused that is no number: %s',
  (written) => {
    const problem = { line: 6, message: expect.stringContaining('This is not a line, but no phone number: ') };
    const text = `rules:\n  - name: a\n    on: call_missed\n    do:\n      - reply:\n          from: ${written}\n          text: hi\n`;
    expect(refusalOf(text).problems).toMatchObject([problem]);
  },
);

test('an alias that leads nowhere, or to too much, is a mistake in its line', () => {
  const tenfold = (name: string, of: string) => `${name}: &${name} [${Array(10).fill(of).join(', ')}]\n`;
  expect(refusalOf('rules: []\nbudgets: *limits\n').problems).toMatchObject([{ line: 2, column: 10 }]);
  const bomb = `${tenfold('a', 'x')}${tenfold('b', '*a')}${tenfold('c', '*b')}rules: *c\n`;
  expect(refusalOf(bomb).problems).toMatchObject([{ line: 2, message: expect.stringContaining('alias') }]);
});

test.each([
  ['notify: support', 'This step needs keys of its own.', 'Write notify: { to: support, text: … }.'],
  [
    'notify: { to: Support, text: hi }',
    'This is not the name of a target.',
    'Write one of the names in NOTIFY_TARGETS',
  ],
  ['webhook: { to: "https://x.example" }', 'This is not the name of a target.', 'Write one of the names'],
  ['webhook: { to: crm, facts: [contact.nam] }', 'There is no fact contact.nam.', 'Did you mean "name"?'],
  ['webhook: { to: crm, facts: [call] }', 'There is no `call` on message_received.', 'Rules on call_missed'],
])('a step that tells a target is refused for %s', (step, message, remedy) => {
  const { problems } = refusalOf(`rules: [{ name: a, on: message_received, do: [{ ${step} }] }]`);
  expect(problems).toMatchObject([{ message, remedy: expect.stringContaining(remedy) }]);
});
