import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findRunning } from '../../src/local/data-folder.ts';
import { temporaryFolder } from '../at-end.ts';
import { runInProcess } from '../cli/in-process.ts';
import { createPart, type Part } from '../faults/deployment/part.ts';
import { freePort } from '../faults/deployment/ports.ts';
import { openForSuite } from '../faults/deployment/suite.ts';

/* What commands take over from a running start is in `cli/environment.test.ts`, what they do in `cli/commands.test.ts`. */

const opened = openForSuite<{ folder: string; part: Part }>(async (onOpen) => {
  const folder = await temporaryFolder(onOpen);
  const rulesFile = join(folder, 'rules.yaml');
  await writeFile(rulesFile, 'rules:\n  - name: reopens\n    on: message_received\n    do: [{ reopen: true }]\n');
  const chosen = { TIME_ZONE: 'America/New_York', RULES_FILE: rulesFile, RULES_MODE: 'off' };
  const env = { DATA_DIR: folder, PORT: String(await freePort()), ...chosen };
  const part = createPart({ name: 'start', args: ['start', '--json'], env, readyWords: '"databaseUrl"' }, onOpen);
  await part.start();
  return { folder, part };
});
const trunkline = (...args: string[]) => runInProcess({ DATA_DIR: opened().folder }, ...args);

test('the note of a start is for its owner alone', async () => {
  expect((await stat(join(opened().folder, 'running.json'))).mode & 0o777).toBe(0o600);
});

test('status needs no DATABASE_URL, and says once whose it uses', async () => {
  const { code, out, err } = await trunkline('status', '--json');
  // Beside a loaded machine the mirror may lag, and the code says so.
  expect(code).toBe(JSON.parse(out).verdict.level === 'ok' ? 0 : 1);
  const command = `DATA_DIR=${opened().folder} npx trunkline start`;
  expect(err).toBe(`Using the settings and the sandbox of the running \`${command}\`.\n`);
});

test('a fresh start has webhooks and no problem', async () => {
  const hooks = JSON.parse((await trunkline('subscriptions', 'list', '--json')).out) as { ours: boolean }[];
  expect(hooks.some(({ ours }) => ours)).toBe(true);
  const findings = JSON.parse((await trunkline('doctor', '--json')).out) as { subject: string; level: string }[];
  expect(findings.map(({ subject }) => subject)).toContain('API');
  expect(findings.filter(({ level }) => level === 'problem')).toEqual([]);
});

test('rules and days are judged in the file, the mode and the zone of the start', async () => {
  const { out } = await trunkline('rules', 'simulate');
  expect(out).toContain('Simulated with version 1, which is in force, in the time zone America/New_York.');
  expect((await trunkline('reporting', 'rebuild')).out).toMatch(/^Rebuilt \d+ days and the turns/);
});

test('when it ended, or was killed, the note is of nobody, and DATABASE_URL is asked for', async () => {
  const { folder, part } = opened();
  const file = join(folder, 'running.json');
  const note = await readFile(file, 'utf8');
  part.signal('SIGTERM');
  expect(await part.ended()).toEqual({ code: 0, signal: null });
  await expect(stat(file)).rejects.toThrow('ENOENT');
  expect(await trunkline('status')).toMatchObject({ code: 2, err: expect.stringContaining('DATABASE_URL is missing') });
  for (const left of [note, 'half of a no']) {
    await writeFile(file, left);
    expect(await findRunning(folder)).toBeUndefined();
  }
});
