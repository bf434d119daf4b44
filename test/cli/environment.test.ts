import { afterEach, expect, test } from 'vitest';
import { commandSettings } from '../../src/cli/environment.ts';
import { announceRunning } from '../../src/local/data-folder.ts';
import { temporaryFolder } from '../at-end.ts';

const databaseUrl = 'postgres://somebody@db.example/mirror?sslmode=verify-full';
const chosen = {
  ...{ DATABASE_URL: databaseUrl, API_BASE_URL: 'https://api.example', API_KEY: 'of-one', REDIS_URL: 'redis://of-one' },
  ...{ TIME_ZONE: 'America/New_York', RULES_FILE: '/etc/trunkline/rules.yaml', RULES_MODE: 'live' },
};

const folder = await temporaryFolder();
let forget: (() => Promise<void>) | undefined;
afterEach(() => forget?.());

/** What a command takes for granted beside a `start` that was given so much, and what it says of it. */
async function beside(given: Readonly<Record<string, string>>) {
  const start = { statusUrl: 'http://127.0.0.1:3000/', adminToken: 't', isSandbox: false, environment: chosen };
  forget = await announceRunning(folder, start);
  const said: string[] = [];
  const environment = { DATA_DIR: folder, ...given };
  const settings = await commandSettings({}, environment, (note) => said.push(note));
  const { api, redisUrl, timeZone, rulesFile, rulesMode } = settings;
  return { databaseUrl: settings.databaseUrl, apiKey: api.key, redisUrl, timeZone, rulesFile, rulesMode, said };
}

const started = {
  ...{ databaseUrl, apiKey: 'of-one', redisUrl: 'redis://of-one' },
  ...{ timeZone: 'America/New_York', rulesFile: '/etc/trunkline/rules.yaml', rulesMode: 'live' },
  said: [expect.stringContaining('Using the settings of the running')],
};
const own = { timeZone: 'UTC', rulesFile: 'config/rules.yaml', rulesMode: 'dry-run', redisUrl: undefined, said: [] };

test.each([{}, { DATABASE_URL: databaseUrl }, { DATABASE_URL: '', TIME_ZONE: ' ' }, { API_KEY: 'of-one' }])(
  'a command beside a running start works as that does: %j',
  async (given) => {
    expect(await beside(given)).toEqual(started);
  },
);

test('what the environment gives stays', async () => {
  const given = { TIME_ZONE: 'Asia/Tokyo', RULES_MODE: 'off' };
  expect(await beside(given)).toEqual({ ...started, timeZone: 'Asia/Tokyo', rulesMode: 'off' });
});

test.each([
  [{ DATABASE_URL: 'postgres://somebody@db.example/another' }, 'postgres://somebody@db.example/another', undefined],
  [{ API_KEY: 'of-another' }, undefined, 'of-another'],
  [{ API_BASE_URL: 'https://another.example' }, undefined, undefined],
])('the database of one account is never combined with the API of another: %j', async (given, url, apiKey) => {
  expect(await beside(given)).toEqual({ ...own, databaseUrl: url, apiKey });
});

test.each([
  [{ API_KEY: 'of-another' }, 'has another API_BASE_URL or API_KEY, so its database'],
  [{ DATA_DIR: `${folder}/another` }, `runs with the data folder ${folder}/another; DATA_DIR names another one`],
])('a command that lacks a database says why none was found: %j', async (given, words) => {
  const said: string[] = [];
  const start = { statusUrl: 'http://127.0.0.1:3000/', adminToken: 't', isSandbox: false, environment: chosen };
  forget = await announceRunning(folder, start);
  const environment = { DATA_DIR: folder, ...given };
  const needs = { needed: ['DATABASE_URL'] } as const;
  await expect(commandSettings(needs, environment, (note) => said.push(note))).rejects.toThrow(
    'DATABASE_URL is missing',
  );
  expect(said).toEqual([expect.stringContaining(words)]);
});
