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
  const odd = { message: '{ :-) "token": 5', text: '[ok] https://example.com/d', content: { type: 'media', id: '7' } };
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

test.each([
  ['{"secret":"a\\"b","x":1', '{"secret":"[redacted]\\"[redacted]","x":1'],
  ['{"token":123,"media":null,"x":1', '{"token":0,"media":null,"x":1'],
  ['api_key=abc&x=1', 'api_key=[redacted]&x=1'],
  ['authorization: Bearer abc def', 'authorization: [redacted]'],
  ['<secret>abc</secret>', '<secret>[redacted]</secret>'],
  ['name="secret"\r\n\r\nabc\r\n--x', 'name="secret"\r\n\r\n[redacted]\r\n[redacted]'],
  ['name=secret; filename=a.txt\n\nabc', 'name=secret; filename=[redacted]\n\n[redacted]'],
  ['see https://example.com/a?b=c and http:\\/\\/example.com', '[redacted]'],
  ['{"id":5,"callId":"1783385492.057900","from":"+1 (415) 555-0177","at":"2026-11-01T08:00:00Z"', undefined],
  ['<call id="7"><number>4155550177</number></call>', undefined],
  ['callId=1783385492.057900&status=ringing&type=AccountSMS&', undefined],
])('keeps of the unknown text %j the names, the numbers and the words of the service: %j', (text, kept = text) => {
  expect(redactText(text)).toBe(kept);
  expect(redactText(kept)).toBe(kept);
});

/** Each holds HUSH where no pattern of keys and addresses would find it. */
const hidden = [
  String.raw`"recording":"https:\/\/rec.example\/x?t=HUSH"`,
  String.raw`{"recording":"https:\/\/rec.example\/x?t=HUSH",}`,
  String.raw`{"a":"{\"b\":\"https:\\/\\/rec.example\\/x?t=HUSH\"",}`,
  String.raw`{"a":"https:\u002f\u002frec.example\u002fx?t=HUSH",}`,
  '{"a":"rec.example/x?t=HUSH",}',
  '{"a":"https%3A%2F%2Frec.example%2Fx%3Ft%3DHUSH",}',
  '{"a":"https%253A%252F%252Frec.example%252Fx%253Ft%253DHUSH",}',
  '{"a":"https:&#47;&#47;rec.example&#47;x?t=HUSH",}',
  '<a href="https:&#x2f;&#x2F;rec.example&sol;x?t=HUSH">',
  '{"auth":"HUSH",}',
  '{"jwt":"HUSH",}',
  '{"sig":"HUSH",}',
  '{"name":"token","value":"HUSH",}',
  "{'name':'token','value':'HUSH'}",
  'token is HUSH',
  '%7B%22secret%22%3A%22HUSH%22%7D%',
  'a;b;HUSH',
  'SFVTSA== HUSH==',
  '["token","HUSH",]',
];

test.each(hidden)('keeps no secret of %s', (text) => {
  expect(redactText(text)).not.toContain('HUSH');
});

const opaque = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJIVVNIIn0.HUSH';

test.each<[string, object]>([
  ['escaped slashes', { a: String.raw`https:\/\/rec.example\/x?t=HUSH` }],
  ['JSON in a text', { a: JSON.stringify({ sig: 'HUSH', b: JSON.stringify({ jwt: 'HUSH' }) }) }],
  ['JSON in the text of a person', { message: JSON.stringify({ token: 'HUSH' }), sms: ' {"sig":"HUSH"}' }],
  ['broken JSON in a text', { a: String.raw`{"b":"https:\/\/rec.example\/x?t=HUSH",}` }],
  ['JSON in a text of another key', { payload: JSON.stringify([{ u: 'rec.example/x?t=HUSH' }]) }],
  ['quoted JSON in a text', { a: JSON.stringify(JSON.stringify({ sig: 'HUSH' })) }],
  ['a link without a scheme', { a: 'rec.example/x?t=HUSH', b: '//rec.example/HUSH', c: '/rec/x/HUSH' }],
  ['a link in words', { a: 'here: rec.example/x?t=HUSH, or (www.example/HUSH)' }],
  ['an encoded link', { a: 'https%3A%2F%2Frec.example%2Fx%3Ft%3DHUSH', b: 'x=rec.example%252FHUSH' }],
  ['a link of entities', { a: 'https:&#47;&#47;rec.example&#47;x?t=HUSH', b: 'rec.example&sol;x&sol;HUSH' }],
  ['keys of secrets', { auth: 'HUSH', jwt: 'HUSH', 'x-sig': 'HUSH', tokenValue: 'HUSH', oauth: { a: 'HUSH' } }],
  [
    'a name and its value',
    {
      list: [
        { name: 'token', value: 'HUSH' },
        { Key: 'X-Api-Key', val: ['HUSH'] },
        { type: 'token', value: 'HUSH' },
      ],
    },
  ],
  ['a list of names and values', { headers: [['authorization', 'Bearer HUSH'], 'cookie', 'HUSH'] }],
  ['a header in a text', { a: 'Authorization: Bearer HUSH', b: 'token=HUSH&x=1', c: 'Bearer HUSH' }],
  ['a long token', { a: opaque, b: `was ${opaque}` }],
])('removes from a tree %s', (_, tree) => {
  const kept = canonical(tree);
  expect(kept).not.toContain('HUSH');
  expect(canonical(JSON.parse(kept))).toBe(kept);
});

test('keeps in a tree what identifies or describes something', () => {
  const tree = {
    recording: 'out-18455008085-18457511133-20261101-080000-1783385492.057900.mp3',
    eventId: '550e8400-e29b-41d4-a716-446655440000',
    at: '2026-11-01T08:00:00.000+00:00',
    agent: 'Mozilla/5.0 (X11; Linux) and/or text/plain',
    thread: '18457511133/18455008085',
    zone: 'America/New_York',
    day: '11/01/2026',
    note: 'Basic plan, 20% off & more: ok?',
  };
  expect(JSON.parse(canonical(structuredClone(tree)))).toEqual(tree);
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

test('a secret is found however often its JSON was quoted', () => {
  let text = JSON.stringify({ secret: 'hush', kept: 1 });
  for (let depth = 0; depth < 6; depth += 1) {
    expect(redactText(text), `quoted ${depth} times`).not.toContain('hush');
    text = JSON.stringify({ payload: text });
  }
});
