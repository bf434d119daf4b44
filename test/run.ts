import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { freemem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseCLI, startVitest } from 'vitest/node';
import { browserPath } from './browser.ts';
import { debianPrograms } from './stores/debian.ts';

// Every test file and every process that one starts compiles the same modules: once is enough.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));
const memory = memoryFolder();
if (memory !== undefined) process.env.TMPDIR ??= memory;

const { args, servers } = chosenServers(process.argv.slice(2));
const problem = provideRedis() ?? provideChromium() ?? (servers === 'embedded' ? undefined : providePostgres());
if (problem === undefined) {
  process.env.TEST_POSTGRES = servers;
  await runTests(args);
} else {
  console.error(problem);
  process.exitCode = 1;
}

/**
 * `--postgres=embedded|debian|shared`: the server to run on. By default the whole suite shares its files between them, see
 * vitest.config.ts, and a part of it runs on the embedded one.
 */
function chosenServers(given: readonly string[]): { args: string[]; servers: string } {
  const option = '--postgres=';
  const args = given.filter((arg) => !arg.startsWith(option));
  const chosen = given.find((arg) => arg.startsWith(option))?.slice(option.length);
  const isPart = parseCLI(['vitest', 'run', ...args]).filter.length > 0;
  const servers = chosen ?? (isPart ? 'embedded' : 'shared');
  if (['embedded', 'debian', 'shared'].includes(servers)) return { args, servers };
  console.error(`--postgres=${servers}: say embedded or debian, or shared for some files on each.`);
  process.exit(2);
}

/** Runs the tests that the arguments select, as vitest would; the last line counts them. */
async function runTests(args: readonly string[]): Promise<void> {
  const { filter, options } = parseCLI(['vitest', 'run', ...args]);
  const config = fileURLToPath(new URL('vitest.config.ts', import.meta.url));
  const vitest = await startVitest('test', filter, { ...options, config, run: true, watch: false });
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const module of vitest.state.getTestModules()) {
    // A file whose own code or hook threw has failed even when each of its tests passed.
    counts.failed += module.errors().length;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state !== 'pending') counts[state] += 1;
    }
  }
  counts.failed += vitest.state.getUnhandledErrors().length;
  await vitest.close();
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
}

/**
 * A file system in memory for everything temporary, if there is one with enough room. Each test's database is a thousand files,
 * and creating them is what costs most on a disk.
 */
function memoryFolder(): string | undefined {
  const folder = '/dev/shm';
  const needed = 6 * 2 ** 30;
  const mounts = existsSync('/proc/mounts') ? readFileSync('/proc/mounts', 'utf8') : '';
  const options =
    mounts
      .split('\n')
      .find((line) => line.split(' ')[1] === folder)
      ?.split(' ')[3] ?? 'noexec';
  if (/\b(?:noexec|ro)\b/.test(options) || freemem() < needed) return undefined;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < needed ? undefined : folder;
}

/** Makes sure that a redis-server is there, by installing it where that is ours to do; else says what is missing. */
function provideRedis(): string | undefined {
  const isThere = () => isRunnable('redis-server', '--version');
  if (!isThere() && mayInstall()) apt(['update'], ['install', '-y', 'redis-server']);
  if (isThere()) return undefined;
  return 'The tests need redis-server on the PATH: install it (Debian: apt-get install redis-server; macOS: brew install redis).';
}

/** The same for the browser that opens the pages. */
function provideChromium(): string | undefined {
  const isThere = () => browserPath() !== undefined;
  if (!isThere() && mayInstall()) apt(['update'], ['install', '-y', 'chromium']);
  if (isThere()) return undefined;
  return 'The tests need Chromium: install it (Debian: apt-get install chromium), or name its program in CHROMIUM.';
}

/** The same for Debian's own Postgres, without the cluster that its package would make and start. */
function providePostgres(): string | undefined {
  if (debianPrograms() === undefined && mayInstall()) {
    apt(['update'], ['install', '-y', 'postgresql-common']);
    const file = '/etc/postgresql-common/createcluster.conf';
    const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
    if (before !== undefined) writeFileSync(file, `${before}\ncreate_main_cluster = false\n`);
    apt(['install', '-y', 'postgresql']);
    if (before !== undefined) writeFileSync(file, before);
  }
  if (debianPrograms() !== undefined) return undefined;
  return 'The tests need Debian’s Postgres too: install it (apt-get install postgresql), or run them without: npm test -- --postgres=embedded';
}

function mayInstall(): boolean {
  return process.getuid?.() === 0 && isRunnable('apt-get', '--version');
}

function apt(...commands: readonly string[][]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of commands) spawnSync('apt-get', args, { stdio: ['ignore', 'ignore', 'inherit'], env });
}

function isRunnable(program: string, argument: string): boolean {
  return spawnSync(program, [argument], { stdio: 'ignore' }).status === 0;
}
