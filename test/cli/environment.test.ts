import { resolve } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { commandSettings } from '../../src/cli/environment.ts';
import { announceRunning, type Running } from '../../src/local/data-folder.ts';
import { temporaryFolder } from '../at-end.ts';

const databaseUrl = 'postgres://somebody@db.example/mirror';
const usual: Running = {
  databaseUrl,
  isSandbox: false,
  webhookSecret: 's',
  statusUrl: 'http://127.0.0.1:3000/',
  adminToken: 't',
};
const chosen = { timeZone: 'America/New_York', rulesFile: '/etc/trunkline/rules.yaml', rulesMode: 'live' };

const folder = await temporaryFolder();
let forget: (() => Promise<void>) | undefined;
afterEach(() => forget?.());

/** What a command takes for granted beside a `start` that was given so much. */
async function beside(
  running: Partial<Running>,
  environment: Readonly<Record<string, string>> = {},
  isLikeDaemon = true,
) {
  forget = await announceRunning(folder, { ...usual, ...running });
  const options = { needed: ['DATABASE_URL'], isLikeDaemon } as const;
  const { timeZone, rulesFile, rulesMode } = await commandSettings(options, { DATA_DIR: folder, ...environment });
  return { timeZone, rulesFile, rulesMode };
}

const own = { timeZone: 'UTC', rulesFile: 'config/rules.yaml', rulesMode: 'dry-run' };

test.each([{}, { DATABASE_URL: databaseUrl }])(
  'a command that judges, does so as the running start: %j',
  async (given) => {
    expect(await beside(chosen, given)).toEqual(chosen);
  },
);

test('what the environment gives stays', async () => {
  const given = { TIME_ZONE: 'Asia/Tokyo', RULES_MODE: 'off' };
  expect(await beside(chosen, given)).toEqual({ ...chosen, timeZone: 'Asia/Tokyo', rulesMode: 'off' });
});

test('a start with another database is another one', async () => {
  expect(await beside(chosen, { DATABASE_URL: 'postgres://somebody@db.example/another' })).toEqual(own);
});

test('a process that acts goes by its own environment alone', async () => {
  expect(await beside(chosen, {}, false)).toEqual(own);
});

test('a start that was given nothing of it changes nothing', async () => {
  const rulesFile = resolve('config/rules.yaml');
  expect(await beside({ rulesFile, rulesMode: 'dry-run' })).toEqual(own);
});

test('the note of an older release tells of nothing that is judged by, and of the database all the same', async () => {
  forget = await announceRunning(folder, usual);
  const settings = await commandSettings({ needed: ['DATABASE_URL'], isLikeDaemon: true }, { DATA_DIR: folder });
  expect(settings).toMatchObject({ ...own, databaseUrl });
});
