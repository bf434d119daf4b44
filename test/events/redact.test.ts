import { expect, test } from 'vitest';
import { canonical, redactText } from '../../src/events/redact.ts';
import { storableText } from '../../src/storable.ts';

test('removes what a secret key holds, whatever its type, and leaves what says nothing', () => {
  const tree = { secret: 5, Media: ['a'], 'access-token': { a: 1 }, url: '', media: null, hasMedia: false };
  expect(JSON.parse(canonical(tree))).toEqual({
    ...{ secret: '[redacted]', Media: '[redacted]', 'access-token': '[redacted]' },
    ...{ url: '', media: null, hasMedia: false },
  });
});

test('removes a URL under any key but keeps one that a person wrote', () => {
  const tree = { play: 'https://example.com/a', files: ['HTTP://example.com/b'], message: 'https://example.com/c' };
  expect(JSON.parse(canonical(tree))).toEqual({
    ...{ play: '[redacted]', files: ['[redacted]'], message: 'https://example.com/c' },
  });
});

test('removes what lies deeper than any delivery', () => {
  const tree = JSON.parse(`${'['.repeat(5_000)}"hush"${']'.repeat(5_000)}`) as object;
  expect(canonical(tree)).toBe(`${'['.repeat(65)}"[redacted]"${']'.repeat(65)}`);
});

test.each([
  ['"\\u0000"', '"\ufffd"'],
  ['"\\ud83d"', '"\ufffd"'],
  ['"\\ud83d\\ude00"', '"\ud83d\ude00"'],
  [String.raw`"\\u0000 \\ud83d \\\u0000"`, `${String.raw`"\\u0000 \\ud83d \\`}\ufffd"`],
])('writes %s as %s', (text, written) => {
  expect(canonical([JSON.parse(text)]).replaceAll('\\ufffd', '\ufffd')).toBe(`[${written}]`);
});

test('makes a raw text storable', () => {
  expect(storableText('a\0b\ud800c')).toBe('a\ufffdb\ufffdc');
});

test.each([
  ['{"secret":"a\\"b","x":1', '{"secret":"[redacted]","x":1'],
  ['{"token":123,"media":null,"x":1', '{"token":"[redacted]","media":null,"x":1'],
  ['api_key=abc&x=1', 'api_key=[redacted]&x=1'],
  ['authorization: Bearer abc def', 'authorization: [redacted] def'],
  ['<secret>abc</secret>', '<secret>[redacted]</secret>'],
  ['name="secret"\r\n\r\nabc\r\n--x', 'name="secret"\r\n\r\n[redacted]\r\n--x'],
  ['see https://example.com/a?b=c and http:\\/\\/example.com', 'see [redacted] and [redacted]'],
  ['callback%3Dhttps%3A%2F%2Fexample.com', 'callback%3D[redacted]'],
  ['my secret stays a word', 'my secret stays a word'],
])('redacts %j as %j', (text, kept) => {
  expect(redactText(text)).toBe(kept);
  expect(redactText(kept)).toBe(kept);
});
