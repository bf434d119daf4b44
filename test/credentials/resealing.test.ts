import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { countToReseal, reseal } from '../../src/credentials/resealing.ts';
import { createSealer, linkSealer, tokenSealer, WrongEncryptionKey } from '../../src/credentials/sealer.ts';
import { readTokens, storeLogin } from '../../src/credentials/tokens.ts';
import { diagnose } from '../../src/ops/doctor.ts';
import { createLog } from '../../src/shared/log.ts';
import { settingsFor } from '../ops/receiver.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db, query } = database;
afterAll(() => database[Symbol.asyncDispose]());

const [old, present, foreign] = ['old', 'present', 'foreign'].map(
  (name) => `the ${name} key of the tests, 32 letters`,
) as [string, string, string];
const before = { api: { key: 'an-api-key' }, encryptionKey: old };
const after = { api: { key: 'an-api-key' }, encryptionKey: present, encryptionKeyPrevious: old };
const never = new AbortController().signal;
const link = (name: string | number) => `https://media.example/${name}?signature=secret`;

beforeEach(async () => {
  await query(`truncate secrets.recording_urls, secrets.message_media, secrets.webhook_urls, secrets.oauth_tokens`);
});

async function keepRecording(uniqueId: string, url: string): Promise<void> {
  await query('insert into secrets.recording_urls (call_id, unique_id, url) values ($1, $2, $3)', '1.1', uniqueId, url);
}

const storedLinks = async () =>
  (await query<{ url: string }>('select url from secrets.recording_urls order by length(unique_id), unique_id')).map(
    ({ url }) => url,
  );

describe('a link', () => {
  const sealer = createSealer(present, old);

  test('is sealed the same way twice, and otherwise in another row', () => {
    const sealed = sealer.sealLink(link(1), 'recording_urls 1.1 1.1');
    expect(sealer.sealLink(link(1), 'recording_urls 1.1 1.1')).toBe(sealed);
    expect(sealer.sealLink(link(1), 'recording_urls 1.1 1.2')).not.toBe(sealed);
    expect(sealed).not.toContain('media.example');
    expect(sealer.openLink(sealed, 'recording_urls 1.1 1.1')).toBe(link(1));
  });

  test('opens with a previous key, and with no other key, in no other row, nor changed', () => {
    const sealed = createSealer(old).sealLink(link(1), 'row');
    expect(sealer.openLink(sealed, 'row')).toBe(link(1));
    for (const open of [
      () => createSealer(foreign).openLink(sealed, 'row'),
      () => sealer.openLink(sealed, 'another row'),
      () => sealer.openLink(sealed.slice(0, -2), 'row'),
      () => sealer.openLink(link(1), 'row'),
    ]) {
      expect(open).toThrow(WrongEncryptionKey);
    }
  });

  test('is sealed with a key of API_KEY where there is no other', () => {
    const ofApiKey = linkSealer({ api: { key: 'an-api-key' }, encryptionKey: undefined });
    const sealed = ofApiKey?.sealLink(link(1), 'row') ?? '';
    expect(linkSealer(before)?.openLink(sealed, 'row')).toBe(link(1));
    expect(linkSealer({ api: { key: undefined }, encryptionKey: undefined })).toBeUndefined();
  });
});

test('tokens of a previous key are used, and sealed with the present one', async () => {
  const tokens = { accessToken: 'an-access', refreshToken: 'a-refresh', scopes: [], expiresAt: Date.now() + 60_000 };
  await storeLogin(db, createSealer(old), { service: 'https://api.example', clientId: 'c', tokens });
  const both = tokenSealer(after) as NonNullable<ReturnType<typeof tokenSealer>>;
  expect(await readTokens(db, both)).toMatchObject({ accessToken: 'an-access', refreshToken: 'a-refresh' });
  expect(await countToReseal(db, after)).toBe(1);
  expect(await reseal(db, after, never)).toBe(1);
  expect(await countToReseal(db, after)).toBe(0);
  expect(await readTokens(db, createSealer(present))).toMatchObject({ accessToken: 'an-access', state: 'valid' });
  expect(await reseal(db, after, never)).toBe(0);
});

test('links of a previous key, of API_KEY and in clear are sealed with the present one, however many', async () => {
  const [ofOld, ofApiKey] = [linkSealer(before), linkSealer({ ...before, encryptionKey: undefined })];
  const row = (name: string | number) => `recording_urls 1.1 1.${name}`;
  const count = 1_203;
  await query(
    `insert into secrets.recording_urls (call_id, unique_id, url)
     select '1.1', '1.' || n, $1 || n || '?signature=secret' from generate_series(1, $2::int) n`,
    'https://media.example/',
    count - 2,
  );
  await keepRecording(`1.${count - 1}`, ofOld?.sealLink(link(count - 1), row(count - 1)) ?? '');
  await keepRecording(`1.${count}`, ofApiKey?.sealLink(link(count), row(count)) ?? '');
  await query(
    `insert into secrets.message_media (conversation_id, message_id, ordinal, url) values (1, 2, 3, $1)`,
    link('m'),
  );
  await query('insert into secrets.webhook_urls (subscription_id, url) values (7, $1)', link('w'));

  expect(await reseal(db, after, never)).toBe(count + 2);
  const alone = createSealer(present);
  const opened = (await storedLinks()).map((url, at) => alone.openLink(url, row(at + 1)));
  expect(opened).toEqual(Array.from({ length: count }, (_, at) => link(at + 1)));
  const [media] = await query<{ url: string }>('select url from secrets.message_media');
  expect(alone.openLink(media?.url ?? '', 'message_media 1 2 3')).toBe(link('m'));
  const [hook] = await query<{ url: string }>('select url from secrets.webhook_urls');
  expect(alone.openLink(hook?.url ?? '', 'webhook_urls 7')).toBe(link('w'));
});

test('a link that no key opens is left as it is, and keeps no other waiting', async () => {
  const lost = createSealer(foreign).sealLink(link(1), 'recording_urls 1.1 1.1');
  await keepRecording('1.1', lost);
  await keepRecording('1.2', link(2));
  expect(await reseal(db, after, never)).toBe(1);
  const [first, second] = await storedLinks();
  expect(first).toBe(lost);
  expect(createSealer(present).openLink(second ?? '', 'recording_urls 1.1 1.2')).toBe(link(2));
});

test('doctor says whether the previous key is still needed', async () => {
  const log = createLog('silent');
  const settings = settingsFor(database.url, { ENCRYPTION_KEY: present, ENCRYPTION_KEY_PREVIOUS: old });
  const sentences = async () => (await diagnose(settings, log)).map(({ sentence }) => sentence);
  await keepRecording('1.1', createSealer(old).sealLink(link(1), 'recording_urls 1.1 1.1'));
  expect(await sentences()).toContainEqual(expect.stringContaining('may need ENCRYPTION_KEY_PREVIOUS: 1.'));
  await reseal(db, settings, never);
  expect(await sentences()).toContain('No stored value needs ENCRYPTION_KEY_PREVIOUS any more: it can be removed.');
});
