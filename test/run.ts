import './environment.ts';

import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseCLI, startVitest } from 'vitest/node';
import { selectFiles } from './selection.ts';

// Every test file and every process that one starts compiles the same modules: once is enough.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));
const memory = memoryFolder();
if (memory !== undefined) process.env.TMPDIR ??= memory;

/** Runs the tests that the arguments select, as vitest would; the last line counts them. */
const args = process.argv.slice(2);
const { filter, options } = parseCLI(['vitest', 'run', ...args.filter((arg) => arg !== '--all')]);
if (args.includes('--all')) process.env.TEST_SCOPE = 'all';
else if (filter.length === 0) process.env.TEST_SCOPE = 'quick';

const skipped = selectFiles().lacking.map(({ program, files }) => ({
  program,
  files: files.filter((file) => filter.length === 0 || filter.some((part) => file.includes(part))),
}));
const vitest = await startVitest('test', filter, {
  ...options,
  config: fileURLToPath(new URL('vitest.config.ts', import.meta.url)),
  run: true,
  watch: false,
  passWithNoTests: skipped.some(({ files }) => files.length > 0),
});
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
for (const { program, files } of skipped) {
  counts.skipped += files.length;
  if (files.length > 0)
    console.log(`Without ${program.name} (apt-get install ${program.package}), test files skipped: ${files.length}`);
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);

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
