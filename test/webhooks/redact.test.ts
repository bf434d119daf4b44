import { expect, test } from 'vitest';
import { storableText } from '../../src/shared/storable.ts';
import { canonical } from '../../src/webhooks/redact.ts';

test('removes what a secret key holds, whatever its type, and leaves what says nothing', () => {
  const tree = { secret: 5, Media: ['a'], 'access-token': { a: 1 }, url: '', media: null, hasMedia: false };
  expect(JSON.parse(canonical(tree))).toEqual({
    ...{ secret: '[redacted]', Media: '[redacted]', 'access-token': '[redacted]' },
    ...{ url: '', media: null, hasMedia: false },
  });
});

test('removes a URL under any key but keeps one that a person wrote', () => {
  const tree = { play: 'https://example.com/a', files: ['HTTP://example.com/b'], message: 'https://example.com/c' };
  const odd = {
    message: '{ :-) "token": 5',
    text: '[ok] https://example.com/d',
    content: { type: 'media', id: '7' },
    sms: 'https://example.com/e',
  };
  expect(JSON.parse(canonical(structuredClone(odd)))).toEqual(odd);
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

/** An object with a key made of each word. */
const keyed = (words: string, key: string) =>
  Object.fromEntries(words.split(' ').map((word) => [key.replace('*', word), 'HUSH']));

test.each<[string, object]>([
  ['JSON in a text of another key', { payload: JSON.stringify([{ u: 'HUSH' }]) }],
  ['broken JSON in a text', { a: '{"b":"HUSH",}' }],
  ['a link in words', { a: 'here: https://rec.example/x?t=HUSH, or (s3://b/HUSH)' }],
  ['keys of secrets', { auth: 'HUSH', jwt: 'HUSH', 'x-sig': 'HUSH', tokenValue: 'HUSH', oauth: { a: 'HUSH' } }],
  [
    'keys that end with a secret',
    keyed('url uri link href media attachment jwt sig hmac pwd passphrase session bearer otp', 'my*s'),
  ],
  ['keys that hold a secret anywhere', keyed('secret passwd password apikey accesskey privatekey', '*_of_mine')],
  ['more of them', keyed('authorization credential signature cookie token', '*_of_mine')],
])('removes from a tree %s', (_, tree) => {
  const kept = canonical(tree);
  expect(kept).not.toContain('HUSH');
  expect(canonical(JSON.parse(kept))).toBe(kept);
});
