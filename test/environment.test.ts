import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ofAnAccount } from './account-variables.ts';
import { temporaryFolder } from './at-end.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

test('a test, and a process that it starts, has nothing of the account that the shell names', async () => {
  expect(ofAnAccount.filter((name) => process.env[name] !== undefined)).toEqual([]);
  const cwd = await temporaryFolder();
  const doctor = await run(process.execPath, [join(root, 'src/trunkline.cjs'), 'doctor'], { cwd }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  expect(`${doctor.stdout}${doctor.stderr}`).toContain('DATABASE_URL is missing');
});

test('whatever starts tests clears the environment first, and nothing hands on the whole of it', async () => {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: object };
  const starts = Object.values(scripts).flatMap((script: string) => /^node (test\S+)/.exec(script)?.[1] ?? []);
  expect(starts.length).toBeGreaterThan(4);
  for (const file of [...starts, 'test/vitest.config.ts'])
    expect(await readFile(join(root, file), 'utf8'), file).toMatch(/^import '\.\.?\/environment\.ts';\n/);
  const files = (await readdir(join(root, 'test'), { recursive: true })).filter((file) => /\.[cm]?[jt]s$/.test(file));
  const texts = await Promise.all(
    files.map(async (file) => ({ file, text: await readFile(join(root, 'test', file), 'utf8') })),
  );
  const whole = /\.{3}process\.env\b|env: process\.env\b(?!\.)/;
  expect(texts.filter(({ text }) => whole.test(text)).map(({ file }) => file)).toEqual([]);
});
