import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
const launcher = join(root, manifest.bin.trunkline);

const versionLine = new RegExp(`^${manifest.version} \\(commit [0-9a-f]{12}, schema \\d{4}_\\w+\\)\n?$`);

/** Flags that make this Node pass for an older one, with or without what Node 22.15 brought. */
const as = (version: string, { hasExecve }: { hasExecve: boolean }) => [
  `--import=data:text/javascript,${encodeURIComponent(
    `Object.defineProperty(process.versions, 'node', { value: '${version}' });
     if (!${hasExecve}) process.execve = undefined;`,
  )}`,
];
const olderNodes = [
  ['20.1.0', { hasExecve: false }],
  ['22.21.0', { hasExecve: true }],
] as const;

const run = (args: readonly string[]) =>
  promisify(execFile)(process.execPath, args, { cwd: tmpdir() }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code: code as number, stdout, stderr }),
  );

test('production is installed with Node 24', () => {
  expect(manifest.dependencies.node).toMatch(/^\^24\./);
});

test.each<[string, readonly string[]]>([
  ['24', []],
  ...olderNodes.map(([version, how]): [string, readonly string[]] => [version, as(version, how)]),
])('the command works under Node %s, with its exit codes', async (_, flags) => {
  expect(await run([...flags, launcher, '--version'])).toEqual({
    code: 0,
    stdout: expect.stringMatching(versionLine),
    stderr: '',
  });
  expect(await run([...flags, launcher, 'nonsense'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("unknown command 'nonsense'"),
  });
});

test('code that loads the launcher is not run again by the newer Node', async () => {
  const code = `Object.defineProperty(process.versions, 'node', { value: '20.1.0' }); console.log('loading'); require(process.argv[1])`;
  const { stdout } = await run(['-e', code, launcher, '--version']);
  expect(stdout.split('\n')).toEqual(['loading', expect.stringMatching(versionLine), '']);
});

test.each(olderNodes)('a stop reaches what runs under Node %s', async (version, how) => {
  const args = [...as(version, how), launcher, 'sandbox', '--port', '0', '--no-traffic', '--json'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await once(child.stdout, 'data');
  const { url } = JSON.parse(String(line));
  await expect(fetch(url)).resolves.toBeDefined();
  child.kill('SIGTERM');
  expect(await once(child, 'close')).toEqual([0, null]);
  await expect(fetch(url)).rejects.toThrow();
});

test('an older Node without a newer one beside it gets one sentence', async () => {
  const alone = await mkdtemp(join(tmpdir(), 'trunkline-test-'));
  onTestFinished(() => rm(alone, { recursive: true, force: true }));
  await mkdir(join(alone, 'src'));
  await copyFile(launcher, join(alone, 'src/trunkline.cjs'));
  const { code, stdout, stderr } = await run([
    ...as('18.20.0', { hasExecve: false }),
    join(alone, 'src/trunkline.cjs'),
    'status',
  ]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^Trunkline needs Node 24 or newer and this is Node 18\.20\.0: run `npm ci` in .*\n$/);
});
