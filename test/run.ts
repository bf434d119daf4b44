import './environment.ts';

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { freemem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseCLI, startVitest } from 'vitest/node';
import { browserPath } from './browser.ts';
import { withheld } from './environment.ts';
import { debianPrograms } from './stores/debian.ts';

/** A program that the tests need beside npm, and its packages in Debian. */
interface Program {
  readonly packages: readonly string[];
  readonly isThere: () => boolean;
  /** What to say where it is missing and not ours to install. */
  readonly remedy: string;
}

const redis: Program = {
  packages: ['redis-server'],
  isThere: () => isRunnable('redis-server', '--version'),
  remedy:
    'The tests need redis-server on the PATH: install it (Debian: apt-get install redis-server; macOS: brew install redis).',
};

const chromium: Program = {
  // Without the windows of the whole browser, a page costs a third of the time.
  packages: ['chromium-headless-shell', 'fonts-liberation'],
  isThere: () => browserPath() !== undefined,
  remedy:
    'The tests need Chromium: install it (Debian: apt-get install chromium-headless-shell), or name its program in CHROMIUM.',
};

const postgres: Program = {
  packages: ['postgresql'],
  isThere: () => debianPrograms() !== undefined,
  remedy:
    'The tests need Debian’s Postgres too: install it (apt-get install postgresql), or run them without: npm test -- --postgres=embedded',
};

// Every test file and every process that one starts compiles the same modules: once is enough.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));
const memory = memoryFolder();
if (memory !== undefined) process.env.TMPDIR ??= memory;

const { args, servers } = chosenServers(process.argv.slice(2));
const problem = provide([redis, chromium, ...(servers === 'embedded' ? [] : [postgres])]);
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

/** Installs the programs that are missing where that is ours to do; else says what to do for the first of them. */
function provide(programs: readonly Program[]): string | undefined {
  const missing = programs.filter(({ isThere }) => !isThere());
  if (missing.length > 0 && mayInstall()) {
    apt('update');
    const restore = missing.includes(postgres) ? omitMainCluster() : undefined;
    for (const { packages } of missing) install(...packages);
    restore?.();
  }
  return missing.find(({ isThere }) => !isThere())?.remedy;
}

/** Keeps Debian's Postgres from making a cluster and starting it, until the returned function is called. */
function omitMainCluster(): () => void {
  install('postgresql-common');
  const file = '/etc/postgresql-common/createcluster.conf';
  if (!existsSync(file)) return () => undefined;
  const before = readFileSync(file, 'utf8');
  writeFileSync(file, `${before}\ncreate_main_cluster = false\n`);
  return () => writeFileSync(file, before);
}

function mayInstall(): boolean {
  return process.getuid?.() === 0 && isRunnable('apt-get', '--version');
}

function install(...packages: readonly string[]): void {
  apt('install', '-y', '--no-install-recommends', ...packages);
}

function apt(...args: readonly string[]): void {
  // With the proxy of the shell.
  const env = { ...withheld, PATH: process.env.PATH, DEBIAN_FRONTEND: 'noninteractive' };
  spawnSync('apt-get', args, { stdio: ['ignore', 'ignore', 'inherit'], env });
}

function isRunnable(program: string, argument: string): boolean {
  return spawnSync(program, [argument], { stdio: 'ignore' }).status === 0;
}
