import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { settingsRows } from '../config/settings.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

/** What names an account, its stores or who is told; besides what libraries and libpq read by themselves. */
const ofAnAccount = [
  ...settingsRows().map(({ name }) => name),
  ...['TRUNKLINE_COMMAND', 'NODE_OPTIONS'],
  ...['PGHOST', 'PGPORT', 'PGUSER', 'PGPASSWORD', 'PGDATABASE', 'PGSERVICE', 'PGSERVICEFILE', 'PGPASSFILE'],
  ...['PGOPTIONS', 'PGSSLMODE', 'HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'CONFORMANCE_BASE_URL'],
];

test('a test, and a process that it starts, has nothing of the account that the shell names', async () => {
  expect(ofAnAccount.filter((name) => process.env[name] !== undefined)).toEqual([]);
  const cwd = await mkdtemp(join(tmpdir(), 'trunkline-environment-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const doctor = await run(process.execPath, [join(root, 'src/trunkline.cjs'), 'doctor'], { cwd }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  expect(`${doctor.stdout}${doctor.stderr}`).toContain('DATABASE_URL is missing');
});

test.each([
  ['npm test', ['test/run.ts']],
  [
    'vitest itself',
    ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', '--project=embedded'],
  ],
])('%s touches nothing that the shell names', async (_, args) => {
  let touched = 0;
  const trap = createServer((socket) => {
    touched += 1;
    socket.destroy();
  });
  trap.listen(0, '127.0.0.1');
  await once(trap, 'listening');
  onTestFinished(() => void trap.close());
  const { port } = trap.address() as AddressInfo;
  const url = (scheme: string) => `${scheme}://trap:trap@127.0.0.1:${port}/trap`;
  const env = {
    ...Object.fromEntries(ofAnAccount.map((name) => [name, url('http')])),
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    DATABASE_URL: url('postgres'),
    REDIS_URL: url('redis'),
    PGHOST: '127.0.0.1',
    PGPORT: String(port),
    // As a shell has it that loads an .env file into each Node process.
    NODE_OPTIONS: `--import=data:text/javascript,process.env.DATABASE_URL??='${url('postgres')}'`,
  };
  const words = [...args, 'test/environment.test.ts', '--testNamePattern', 'has nothing of the account'];
  const { stdout } = await run(process.execPath, words, { cwd: root, env });
  expect(stdout).toMatch(/1 passed/);
  expect(touched).toBe(0);
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
