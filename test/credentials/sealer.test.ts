import { expect, test } from 'vitest';
import { createSealer } from '../../src/credentials/sealer.ts';

const key = 'a key of thirty-two letters or more';
const place = 'recording 1700000001.1 1700000001.2';
const sealer = createSealer(key);

test('what is sealed opens again, also in another process with the same key', () => {
  for (const link of ['', 'https://files.example/a', 'ünïcode ☎'])
    expect(createSealer(key).open(sealer.seal(link, place), place)).toBe(link);
});

test('nothing of the link shows, and it is never sealed the same way twice', () => {
  const [one, two] = [sealer.seal('a link', place), sealer.seal('a link', place)];
  expect(one).not.toBe(two);
  expect(Buffer.from(one, 'base64url').includes('a link')).toBe(false);
});

test('it opens neither with another key, nor for something else, nor when anything in it is changed', () => {
  const sealed = sealer.seal('a link', place);
  expect(createSealer(`another ${key}`).open(sealed, place)).toBeUndefined();
  expect(sealer.open(sealed, 'recording 1700000001.1 1700000001.3')).toBeUndefined();
  const bytes = Buffer.from(sealed, 'base64url');
  const changed = Array.from(bytes, (byte, at) => Buffer.from(bytes.with(at, byte ^ 1)));
  for (const each of [...changed, Buffer.alloc(0), bytes.subarray(0, 10), bytes.subarray(0, -1)])
    expect(sealer.open(each.toString('base64url'), place)).toBeUndefined();
});
