import { appendFile, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findRunning } from '../../src/local/data-folder.ts';
import { temporaryFolder } from '../at-end.ts';
import { runInProcess } from '../cli/in-process.ts';
import { createPart, type Part } from '../faults/deployment/part.ts';
import { freePort } from '../faults/deployment/ports.ts';
import { openForSuite } from '../faults/deployment/suite.ts';

/** Runs a command beside the one that `start` is. */
const trunkline = (args: readonly string[], env: Readonly<Record<string, string>>) => runInProcess(env, ...args);

const opened = openForSuite<{ folder: string; part: Part }>(async (onOpen) => {
  const folder = await temporaryFolder(onOpen);
  const rulesFile = join(folder, 'rules.yaml');
  await writeFile(rulesFile, 'rules:\n  - name: reopens\n    on: message_received\n    do: [{ reopen: true }]\n');
  const chosen = { TIME_ZONE: 'America/New_York', RULES_FILE: rulesFile, RULES_MODE: 'off' };
  const part = createPart(
    {
      name: 'start',
      args: ['start', '--json'],
      env: { DATA_DIR: folder, PORT: String(await freePort()), ...chosen },
      readyWords: '"databaseUrl"',
    },
    onOpen,
  );
  await part.start();
  return { folder, part };
});

describe('beside a running start', () => {
  let env: Record<string, string> = {};
  beforeAll(() => {
    env = { DATA_DIR: opened().folder };
  });

  test('the note of it is for its owner alone', async () => {
    const { mode } = await stat(join(opened().folder, 'running.json'));
    expect(mode & 0o777).toBe(0o600);
  });

  test('status needs no DATABASE_URL, and says once whose it uses', async () => {
    const { code, out, err } = await trunkline(['status', '--json'], env);
    // Beside a loaded machine the mirror may lag, and the code says so.
    const { verdict } = JSON.parse(out) as { verdict: { level: string } };
    expect(code).toBe(verdict.level === 'ok' ? 0 : 1);
    expect(err.trim()).toBe('Using the Postgres and the sandbox of the running `npx trunkline start`.');
  });

  test('subscriptions are listed, ours among them', async () => {
    const { code, out } = await trunkline(['subscriptions', 'list', '--json'], env);
    expect(code).toBe(0);
    expect((JSON.parse(out) as { ours: boolean }[]).filter(({ ours }) => ours).length).toBeGreaterThan(0);
  });

  test('doctor examines all of it', async () => {
    const { out } = await trunkline(['doctor', '--json'], env);
    const findings = JSON.parse(out) as { subject: string; level: string }[];
    expect(new Set(findings.map(({ subject }) => subject))).toContain('API');
    expect(findings.filter(({ level }) => level === 'problem')).toEqual([]);
  });

  test('rules are judged by the file and the zone that are in force there', async () => {
    const file = join(opened().folder, 'rules.yaml');
    const { out, err } = await trunkline(['rules', 'simulate'], env);
    expect(out).toContain('Simulated with version 1, which is in force, in the time zone America/New_York.');
    expect(err).toContain('the TIME_ZONE, the RULES_FILE and the RULES_MODE of the running `npx trunkline start`.');
    const { out: own } = await trunkline(['rules', 'simulate', '--json'], { ...env, TIME_ZONE: 'Asia/Tokyo' });
    expect(JSON.parse(own)).toMatchObject({ version: 1, timeZone: 'Asia/Tokyo', rules: [{ rule: 'reopens' }] });
    const list = async () => (await trunkline(['rules', 'list'], env)).out;
    expect(await list()).toContain('Version 1 is in force');
    await appendFile(file, '  - name: resolves\n    on: call_missed\n    do: [{ resolve: true }]\n');
    expect(await list()).not.toContain('resolves');
    expect((await trunkline(['rules', 'apply', file], env)).code).toBe(0);
    expect(await list()).toContain('Version 2 is in force');
    expect(await list()).toContain('resolves');
  });

  test('rollups are made again in the zone that is in force there', async () => {
    const { out } = await trunkline(['reporting', 'rebuild'], env);
    expect(out).toMatch(/^Rebuilt \d+ days in America\/New_York and the turns of \d+ conversations\.\n$/);
    const changed = await trunkline(['reporting', 'rebuild', '--json'], { ...env, TIME_ZONE: 'Asia/Tokyo' });
    expect(JSON.parse(changed.out)).toMatchObject({ days: expect.any(Number), timeZone: 'Asia/Tokyo' });
    const part = await trunkline(['reporting', 'rebuild', '--from', '2026-01-01', '--json'], env);
    expect(JSON.parse(part.out)).toMatchObject({ timeZone: 'Asia/Tokyo' });
  });

  test('a database that is named is another one', async () => {
    const { code, err } = await trunkline(['status'], { ...env, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    expect(code).toBe(1);
    expect(err).not.toContain('running');
  });

  test('events are listed, shown, replayed and parsed again', async () => {
    const { databaseUrl: _, publicUrl, webhookSecret } = (await findRunning(opened().folder)) ?? {};
    const body = JSON.stringify({ callId: '1700000001.5', callerNumber: '18455550123' });
    const sent = await fetch(`${publicUrl}/hooks/${webhookSecret}/AccountEndedCalls`, { method: 'POST', body });
    expect(sent.status).toBe(202);
    const list = await trunkline(['events', 'list', '--json'], env);
    const found = (JSON.parse(list.out) as { id: string; targets: string[] }[]).find(
      ({ targets }) => targets[0] === 'call 1700000001.5',
    );
    const id = found?.id ?? '';
    expect(list.out).not.toContain('18455550123');
    expect((await trunkline(['events', 'show', id], env)).out).toContain('"callerNumber": "18455550123"');
    expect(JSON.parse((await trunkline(['events', 'replay', id, '--json'], env)).out)).toEqual({
      deliveries: 1,
      targets: 1,
    });
    expect((await trunkline(['events', 'reparse'], env)).code).toBe(0);
  });

  test('links are stored sealed, and printed by a command', async () => {
    const { databaseUrl = '' } = (await findRunning(opened().folder)) ?? {};
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    onTestFinished(() => client.end());
    const recorded = async () =>
      (await client.query(`select owner as id, link from secrets.links where kind = 'recording' limit 1`)).rows[0];
    await expect.poll(recorded).toBeDefined();
    const { id, link } = await recorded();
    expect(link).toMatch(/^[\w-]+$/);
    const printed = await trunkline(['links', 'recordings', id, '--json'], env);
    expect(JSON.parse(printed.out)).toContainEqual({
      id: expect.any(String),
      at: expect.any(String),
      url: expect.stringMatching(/^https?:/),
    });
    expect((await trunkline(['links', 'recordings', id], env)).out).toMatch(
      /^\d{4}-\S+ [\d:]+-0[45]:00 {2}[\d.]+ {2}https?:/,
    );
    const wrong = await trunkline(['links', 'recordings', id], {
      ...env,
      ENCRYPTION_KEY: 'k'.repeat(32),
      API_KEY: 'x',
    });
    expect(wrong).toMatchObject({ code: 1, out: '', err: expect.stringContaining(`resync recordings ${id}`) });
    expect(await trunkline(['links', 'recordings', '1700000000.1'], env)).toMatchObject({
      code: 1,
      err: expect.stringContaining('No link is stored for recordings 1700000000.1.'),
    });
    expect((await trunkline(['links', 'recordings', 'nonsense'], env)).code).toBe(2);
  });

  test('a person is erased after a look', async () => {
    const number = '+1 (555) 010-7777';
    const preview = await trunkline(['erase', number, '--dry-run', '--json'], env);
    const remaining = expect.arrayContaining(['What this does not erase:']);
    expect(JSON.parse(preview.out)).toEqual({ number: '…7777', removed: {}, isDone: false, remaining });
    const refused = await trunkline(['erase', number, '--json'], env);
    expect([refused.code, JSON.parse(refused.out).error.message]).toEqual([
      2,
      expect.stringContaining('--yes confirms'),
    ]);
    expect(refused.err).toContain('Nothing was done, since there is no terminal to ask on: --yes confirms');
    const done = await trunkline(['erase', number, '--yes'], env);
    expect([done.code, done.out.trim()]).toEqual([
      0,
      expect.stringMatching(
        /^Nothing of …7777 was left to delete; it will not be stored again\.\n+What this does not erase:\n- the service/,
      ),
    ]);
    expect((await trunkline(['erase', 'nobody'], env)).code).toBe(2);
    const again = await trunkline(['resync', 'thread', '18005550100/15550107777'], env);
    expect([again.code, again.out]).toEqual([1, '']);
    expect(again.err).toContain('…7777 is not read: one of its participants was erased');
  });
});

describe('when it ended', () => {
  test('the note is gone, and DATABASE_URL is asked for', async () => {
    const { folder, part } = opened();
    const note = await readFile(join(folder, 'running.json'), 'utf8');
    part.signal('SIGTERM');
    expect(await part.ended()).toEqual({ code: 0, signal: null });
    await expect(stat(join(folder, 'running.json'))).rejects.toThrow('ENOENT');
    const { code, err } = await trunkline(['status'], { DATA_DIR: folder });
    expect(code).toBe(2);
    expect(err).toContain('DATABASE_URL is missing');

    // As a kill leaves it.
    await writeFile(join(folder, 'running.json'), note);
    expect(await findRunning(folder)).toBeUndefined();
    await writeFile(join(folder, 'running.json'), 'half of a no');
    expect(await findRunning(folder)).toBeUndefined();
  });
});
