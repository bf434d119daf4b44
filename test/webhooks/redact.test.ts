import { expect, test } from 'vitest';
import { storableText } from '../../src/shared/storable.ts';
import { canonical, redactText } from '../../src/webhooks/redact.ts';
import { busyMs } from '../busy.ts';

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

test('removes a URL of any scheme that stands within a value', () => {
  const tree = {
    play: ' https://example.com/a ',
    at: 's3://bucket/key',
    note: 'see <https://example.com/a> or ftp://b.example/c',
  };
  expect(JSON.parse(canonical(tree))).toEqual({
    ...{ play: ' [redacted] ', at: '[redacted]', note: 'see <[redacted]> or [redacted]' },
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
  ['name=secret\r\n\r\nabc\r\n--x', 'name=secret\r\n\r\n[redacted]\r\n--x'],
  ['name="secret"; filename="a.txt"\r\nA: b\r\n\r\nabc', 'name="secret"; filename="a.txt"\r\nA: b\r\n\r\n[redacted]'],
  ['name=secret; filename=a.txt\n\nabc', 'name=secret; filename=a.txt\n\n[redacted]'],
  ['see https://example.com/a?b=c and http:\\/\\/example.com', 'see [redacted] and [redacted]'],
  ['callback%3Dhttps%3A%2F%2Fexample.com', 'callback%3D[redacted]'],
  ['my secret stays a word', 'my secret stays a word'],
])('redacts %j as %j', (text, kept) => {
  expect(redactText(text)).toBe(kept);
  expect(redactText(kept)).toBe(kept);
});

const mebibyte = 1_048_576;

test.each([
  ['backslashes after a quoted value began', `x url=\\"${'\\'.repeat(mebibyte)}`],
  ['backslashes that are no quote yet', `url=${'\\'.repeat(mebibyte)}x"`],
  ['escapes within a quoted value', `secret=\\"${'\\a'.repeat(mebibyte / 2)}`],
  ['escaped quotes after one another', `secret=\\"${'\\\\"'.repeat(mebibyte / 3)}`],
  ['many values that run to the end', `token:\\"a\\`.repeat(mebibyte / 10)],
  ['backslashes in the head of a part', `"secret"\r\n${'\\'.repeat(mebibyte)}\r\n\r\nabc`],
  ['blanks in the head of a part', `"secret"\r\n${`" ${' '.repeat(98)}`.repeat(mebibyte / 100)}\r\n\r\nabc`],
  ['a scheme and nothing after it', `token=bearer${' '.repeat(mebibyte)}"`],
  ['half a separator', `token${'\\"%5d '.repeat(mebibyte / 6)}`],
  ['unquoted names', 'secret\n'.repeat(mebibyte / 7)],
  ['names with much after them', 'secret;'.repeat(mebibyte / 7)],
  ['parts without an end', '"secret"\n'.repeat(mebibyte / 9)],
  ['addresses without an end', 'https%3a%2f'.repeat(mebibyte / 11)],
])('takes time in proportion to a mebibyte of %s', (_fact, text) => {
  expect(busyMs(() => redactText(text))).toBeLessThan(2_000);
});

test('removes a value quoted in a text to where its quotes end', () => {
  const deep = JSON.stringify({ raw: JSON.stringify({ secret: 'hu"sh', x: 'kept' }) }).slice(0, -2);
  expect(redactText(deep)).toBe(String.raw`{"raw":"{\"secret\":\"[redacted]\",\"x\":\"kept\"}`);
});

test('a secret is found however often its JSON was quoted', () => {
  let text = JSON.stringify({ secret: 'hush', kept: 1 });
  for (let depth = 0; depth < 6; depth += 1) {
    expect(redactText(text), `quoted ${depth} times`).not.toContain('hush');
    text = JSON.stringify({ payload: text });
  }
});
