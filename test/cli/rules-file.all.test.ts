import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readRuleSet } from '../../src/rules/versions.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { temporaryFolder } from '../at-end.ts';
import { trunkline } from '../credentials/commands.ts';
import { migratedDatabase } from '../world/database.ts';
import { until } from '../world.ts';
import { runInProcess } from './in-process.ts';

/* A rules file that cannot be used costs its rules, not the mirror. */

const folder = await temporaryFolder();

const broken = 'rules:\n  - name: greet\n    on: message_recieved\n    do: [{ resolve: true }]\n';

test.each([
  { file: 'is missing', text: undefined, place: 'cannot be read (ENOENT). Set RULES_FILE, or create it.' },
  { file: 'has a mistake', text: broken, place: 'rules.yaml:3:9: ' },
])('a worker whose named rules file $file mirrors without rules, and says what to do', async ({ text, place }) => {
  const RULES_FILE = join(folder, 'rules.yaml');
  await rm(RULES_FILE, { force: true });
  if (text !== undefined) await writeFile(RULES_FILE, text);
  const database = await migratedDatabase();
  const sandbox = await createSandbox({ calls: 0, threads: 0 });
  onTestFinished(() => sandbox.close());
  const environment = { DATABASE_URL: database.url, RULES_FILE, RULES_MODE: 'live', TIME_ZONE: 'America/New_York' };
  const worker = trunkline({ ...environment, API_BASE_URL: sandbox.url, API_KEY: sandbox.apiKey }, 'worker');
  const { value } = database;
  await until(
    async () => Number(await value('select count(*) from warehouse.sms_lines')) > 0,
    () => worker.err() + worker.out(),
  );
  expect(worker.out() + worker.err()).toContain('no rules are in force. Mirroring goes on');
  expect(worker.out() + worker.err()).toContain(place);
  const { code, out } = await runInProcess(environment, 'status');
  expect(out).toContain('No rules are in force: the rules file has an error. Mirroring goes on.');
  expect(out).toContain('rules check` shows all errors');
  expect(code).toBe(1);
  const checked = await runInProcess({ RULES_FILE }, 'rules', 'check');
  expect(checked.code).toBe(1);
  await writeFile(RULES_FILE, 'rules: []\n');
  expect((await runInProcess(environment, 'rules', 'apply', RULES_FILE)).code).toBe(0);
  await until(() => worker.err().includes('The rules are in force'), worker.err);
  expect(worker.process.exitCode).toBeNull();
});

test('rules that speak of hours do not act until TIME_ZONE is chosen, and the zone of most users is proposed', async () => {
  const RULES_FILE = join(folder, 'hours.yaml');
  await writeFile(
    RULES_FILE,
    'rules:\n  - name: closed\n    on: message_received\n    if: "!hours.is_open"\n    do: [{ reply: We are closed. }]\n' +
      '  - name: opens\n    on: message_received\n    do: [{ reopen: true }]\n',
  );
  const database = await migratedDatabase();
  const environment = { DATABASE_URL: database.url, RULES_FILE };
  expect((await runInProcess(environment, 'rules', 'check')).code).toBe(0);
  await database.query(
    `insert into warehouse.users (user_id, time_zone, content_hash, source, fetch_seq, fetched_at)
     select id, zone, '', 'users.list', 1, now()
     from (values (1, 'Europe/London'), (2, 'America/Chicago'), (3, 'America/Chicago')) u (id, zone)`,
  );
  // Where rules may act, it is a warning. In a dry run nobody is told wrong hours, and the file is right.
  const live = await runInProcess({ ...environment, RULES_MODE: 'live' }, 'rules', 'check');
  expect(live.code).toBe(1);
  expect(live.err).toContain('hours.yaml:2:11: warning: TIME_ZONE is not set');
  const dry = await runInProcess(environment, 'rules', 'check');
  expect(dry.code).toBe(0);
  expect(dry.out).toContain('is valid: 2 rules');
  expect(dry.err).toContain('hours.yaml:2:11: notice: TIME_ZONE is not set');
  expect(dry.err).toContain('Set TIME_ZONE=America/Chicago');
  const { warnings, notices } = JSON.parse((await runInProcess(environment, 'rules', 'check', '--json')).out);
  expect([warnings.length, notices.length]).toEqual([0, 1]);
  const modes = async (zone: string) => {
    const set = await readRuleSet(database.db, zone || undefined);
    return set?.rules.map(({ mode, heldBack }) => [mode, heldBack]);
  };
  expect((await runInProcess(environment, 'rules', 'apply', RULES_FILE)).out).toContain('Version 1 is in force');
  expect(await modes('')).toEqual([
    ['dry-run', 'time_zone_unset'],
    ['live', undefined],
  ]);
  for (const chosen of ['America/Chicago', 'UTC']) {
    const checked = await runInProcess({ ...environment, RULES_MODE: 'live', TIME_ZONE: chosen }, 'rules', 'check');
    expect([checked.code, checked.err], chosen).toEqual([0, '']);
    expect(await modes(chosen)).toEqual([
      ['live', undefined],
      ['live', undefined],
    ]);
  }
});

test('what is stored of a version is the same wherever it is applied', async () => {
  const file = join(folder, 'same.yaml');
  const text =
    'rules:\n  - { name: closed, on: message_received, if: "!hours.is_open", do: [{ reply: We are closed. }] }\n' +
    '  - { name: waits, on: thread_idle, for: 30 business minutes, do: [{ reopen: true }] }\n';
  const database = await migratedDatabase();
  const elsewhere = [{}, { TIME_ZONE: 'Asia/Tokyo' }, { RULES_MODE: 'off' }];
  for (const [at, environment] of elsewhere.entries()) {
    const rules = (...words: string[]) =>
      runInProcess({ DATABASE_URL: database.url, ...environment }, 'rules', ...words);
    await writeFile(file, `${text}# ${at}\n`);
    expect((await rules('apply', file)).code).toBe(0);
  }
  const [one, ...others] = await database.query('select distinct rules, limits from ops.rule_versions');
  expect(others).toEqual([]);
  expect(one?.rules).toMatchObject([
    { name: 'closed', mode: 'live' },
    { name: 'waits', mode: 'live' },
  ]);
});

test('a simulation is of the version in force, of the file while none is, and says which', async () => {
  const RULES_FILE = join(folder, 'simulated.yaml');
  const rule = (name: string) => `rules: [{ name: ${name}, on: message_received, do: [{ reopen: true }] }]\n`;
  await writeFile(RULES_FILE, rule('of-the-file'));
  const database = await migratedDatabase();
  const rules = (...words: string[]) => runInProcess({ DATABASE_URL: database.url, RULES_FILE }, 'rules', ...words);
  const simulated = async (...words: string[]) => JSON.parse((await rules('simulate', '--json', ...words)).out);
  expect(await simulated()).toMatchObject({ file: RULES_FILE, rules: [{ rule: 'of-the-file' }] });
  await writeFile(`${RULES_FILE}.other`, rule('of-the-page'));
  await rules('apply', `${RULES_FILE}.other`);
  const { file, ...inForce } = await simulated();
  expect([file, inForce]).toMatchObject([undefined, { version: 1, rules: [{ rule: 'of-the-page' }] }]);
  expect((await rules('simulate')).out).toContain('Simulated with version 1, which is in force, in the time zone UTC.');
  expect(await simulated('--file', RULES_FILE)).toMatchObject({ file: RULES_FILE, rules: [{ rule: 'of-the-file' }] });
});
