#!/usr/bin/env node
// Plain JavaScript in the oldest module format: a Node that is too old for the sources must still be able to load this.
const { spawn } = require('node:child_process');
const { existsSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { constants, tmpdir } = require('node:os');
const { dirname, join } = require('node:path');

const needed = 24;
const found = process.versions.node;

if (Number.parseInt(found, 10) >= needed) {
  // Before main.ts, since what is loaded earlier is compiled anew at every start.
  enableCompileCache();
  import('./main.ts');
} else {
  const installed = findInstalled();
  if (installed && existsSync(installed)) continueWith(installed);
  else refuse('');
}

function refuse(reason) {
  console.error(
    `Trunkline needs Node ${needed} or newer and this is Node ${found}${reason}: run \`npm ci\` in ` +
      `${join(__dirname, '..')} with install scripts allowed, which brings Node ${needed} along, or install Node ${needed}.`,
  );
  process.exitCode = 1;
}

/** The Node that npm installs with the dependencies. */
function findInstalled() {
  try {
    const folder = dirname(require.resolve('node/package.json'));
    return join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  } catch {
    return undefined;
  }
}

/** Runs the same command in another Node. */
function continueWith(node) {
  // Leaves out flags with a value: `-e` and its code would load this file again.
  const flags = process.execArgv.filter((flag, at, all) => /^--/.test(flag) && /^-/.test(all[at + 1] || '-'));
  const args = [...flags, join(__dirname, 'main.ts'), ...process.argv.slice(2)];
  // As enableCompileCache does: this file is not loaded again.
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache');
  if (process.execve) process.execve(node, [node, ...args], process.env);
  const { ppid } = process;
  const child = spawn(node, args, { stdio: 'inherit' });
  const isAtTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP']) {
    // A terminal sends these to the child as well, and a second Ctrl-C would force the exit.
    const isSentToBoth = isAtTerminal && (signal === 'SIGINT' || signal === 'SIGQUIT');
    process.on(signal, () => isSentToBoth || child.kill(signal));
  }
  // As `stopWithWrapper` does, for what the child can't see.
  if (process.env.npm_execpath) setInterval(() => process.ppid === ppid || child.kill(), 1_000).unref();
  child.on('error', (error) => refuse(`, and Node ${needed} cannot be started (${error.message})`));
  // After a signal, the exit code that a shell would report.
  child.on('exit', (code, signal) => (process.exitCode = code ?? 128 + constants.signals[signal]));
}
