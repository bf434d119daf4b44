import { expect, test } from 'vitest';
import { createSealer } from '../../src/credentials/sealer.ts';

const place = 'recording 1700000001.1 1700000001.2';
const sealer = createSealer('a key of thirty-two letters or more');

test('what is sealed opens again, also in another process with the same key', () => {
  const other = createSealer('a key of thirty-two letters or more');
  for (const link of ['', 'https://files.example/a', 'ünïcode ☎'])
    expect(other.open(sealer.seal(link, place), place)).toBe(link);
});

test('nothing of the link shows, and it is never sealed the same way twice', () => {
  const [one, two] = [sealer.seal('a link', place), sealer.seal('a link', place)];
  expect(one).not.toBe(two);
  expect(Buffer.from(one, 'base64url').includes('a link')).toBe(false);
});

test('it opens neither with another key nor for something else', () => {
  const sealed = sealer.seal('a link', place);
  expect(createSealer('another key of thirty-two letters or more').open(sealed, place)).toBeUndefined();
  expect(sealer.open(sealed, 'recording 1700000001.1 1700000001.3')).toBeUndefined();
});

test('whatever is changed in it, it does not open', () => {
  const sealed = Buffer.from(sealer.seal('a link', place), 'base64url');
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] as number) ^ 1;
    expect(sealer.open(changed.toString('base64url'), place), `byte ${at}`).toBeUndefined();
  }
  for (const short of ['', sealed.subarray(0, 10).toString('base64url'), sealed.subarray(0, -1).toString('base64url')])
    expect(sealer.open(short, place)).toBeUndefined();
});
