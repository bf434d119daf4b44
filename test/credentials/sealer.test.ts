import { expect, test } from 'vitest';
import { createSealer, WrongEncryptionKey } from '../../src/credentials/sealer.ts';

const purpose = 'oauth_tokens.access_token';
const sealer = createSealer('a key of thirty-two letters or more');

test('what is sealed opens again, also in another process with the same key', () => {
  const other = createSealer('a key of thirty-two letters or more');
  for (const secret of ['', 'a token', 'ünïcode ☎'])
    expect(other.open(sealer.seal(secret, purpose), purpose)).toBe(secret);
});

test('nothing of the secret shows, and it is never sealed the same way twice', () => {
  const [one, two] = [sealer.seal('a token', purpose), sealer.seal('a token', purpose)];
  expect(one.equals(two)).toBe(false);
  expect(one.includes('a token')).toBe(false);
});

test('another key is told in one sentence that says what to do', () => {
  const other = createSealer('another key of thirty-two letters or more');
  expect(() => other.open(sealer.seal('a token', purpose), purpose)).toThrow(WrongEncryptionKey);
  expect(() => other.open(sealer.seal('a token', purpose), purpose)).toThrow(/ENCRYPTION_KEY.*trunkline auth login/);
});

test('it does not open as something else', () => {
  expect(() => sealer.open(sealer.seal('a token', purpose), 'oauth_tokens.refresh_token')).toThrow(WrongEncryptionKey);
});

test('whatever is changed in it, it does not open', () => {
  const sealed = sealer.seal('a token', purpose);
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] as number) ^ 1;
    expect(() => sealer.open(changed, purpose), `byte ${at}`).toThrow(WrongEncryptionKey);
  }
  for (const short of [Buffer.alloc(0), sealed.subarray(0, 10), sealed.subarray(0, -1)]) {
    expect(() => sealer.open(short, purpose)).toThrow(WrongEncryptionKey);
  }
});
