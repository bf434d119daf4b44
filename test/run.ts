import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseCLI, startVitest } from 'vitest/node';

// Every test file and every process that one starts compiles the same modules: once is enough.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));

const problem = provideRedis();
if (problem === undefined) await runTests(process.argv.slice(2));
else {
  console.error(problem);
  process.exitCode = 1;
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

/** Makes sure that a redis-server is there, by installing it where that is ours to do; else says what is missing. */
function provideRedis(): string | undefined {
  if (isRunnable('redis-server', '--version')) return undefined;
  if (process.getuid?.() === 0 && isRunnable('apt-get', '--version')) {
    for (const args of [['update'], ['install', '-y', 'redis-server']]) {
      spawnSync('apt-get', args, {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      });
    }
    if (isRunnable('redis-server', '--version')) return undefined;
  }
  return 'The tests need redis-server on the PATH: install it (Debian: apt-get install redis-server; macOS: brew install redis).';
}

function isRunnable(program: string, argument: string): boolean {
  return spawnSync(program, [argument], { stdio: 'ignore' }).status === 0;
}
