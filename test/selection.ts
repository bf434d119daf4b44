import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { browserPath } from './browser.ts';
import { debianPrograms } from './stores/debian.ts';

/*
 * Which test files a run has, on which Postgres:
 *
 *   npm test             every file but *.all.test.ts, on the embedded Postgres. It needs nothing but Node.
 *   npm run test:all     what that leaves out: *.all.test.ts, and the folders of `onDebian` on Debian's Postgres
 *   npm test -- FILTER   every file that the filter selects, on the embedded Postgres
 */

const root = fileURLToPath(new URL('..', import.meta.url));

/** What asks most of Postgres runs on Debian's too, an older one with its default settings. */
const onDebian = [
  'completeness',
  'config',
  'db',
  'inbox',
  'ledger',
  'privacy',
  'reporting',
  'stores',
  'sync',
  'warehouse',
];

/** A program that some test files need beside Node. */
export interface Program {
  readonly name: string;
  /** Debian's package of it. */
  readonly package: string;
  readonly isThere: () => boolean;
  /** The words of a test file that cannot run without it. */
  readonly sign: RegExp;
}

export const redis: Program = {
  name: 'Redis',
  package: 'redis-server',
  isThere: () => spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).status === 0,
  sign: /\bstartRedis\b|\(\{\s*backend: 'redis'|\binject\('redisUrl'\)/,
};

const chromium: Program = {
  name: 'Chromium',
  package: 'chromium-headless-shell',
  isThere: () => browserPath() !== undefined,
  sign: /\blaunchBrowser\b/,
};

const debianPostgres: Program = {
  name: 'Debian’s Postgres',
  package: 'postgresql',
  isThere: () => debianPrograms() !== undefined,
  sign: /\bstartDebianPostgres\b|\bdebianPrograms\b/,
};

export interface Selection {
  readonly embedded: readonly string[];
  readonly debian: readonly string[];
  /** Left out, for want of a program. */
  readonly lacking: readonly { readonly program: Program; readonly files: readonly string[] }[];
}

/** The files of a run as `TEST_SCOPE` says, relative to the root of the repository. */
export function selectFiles(scope = process.env.TEST_SCOPE): Selection {
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .map((file) => `test/${file.split(sep).join('/')}`)
    .filter(
      (file) => file.endsWith('.test.ts') && (process.env.FAULTS === 'all' || !file.startsWith('test/faults/long/')),
    );
  const isForAll = (file: string) => file.endsWith('.all.test.ts');
  const debian =
    scope === 'all' ? files.filter((file) => onDebian.some((folder) => file.startsWith(`test/${folder}/`))) : [];
  const embedded = files.filter(
    (file) => scope === undefined || (scope === 'all' ? isForAll(file) && !debian.includes(file) : !isForAll(file)),
  );
  const missing = [redis, chromium, debianPostgres].filter(({ isThere }) => !isThere());
  const lacks = (file: string) => {
    const text = readFileSync(join(root, file), 'utf8');
    return missing.find(({ sign }) => sign.test(text));
  };
  const lackOf = new Map(
    [...embedded, ...debian].flatMap((file) => {
      const program = debian.includes(file) && missing.includes(debianPostgres) ? debianPostgres : lacks(file);
      return program === undefined ? [] : [[file, program]];
    }),
  );
  const isReady = (file: string) => !lackOf.has(file);
  return {
    embedded: embedded.filter(isReady),
    debian: debian.filter(isReady),
    lacking: missing.map((program) => ({
      program,
      files: [...lackOf.keys()].filter((file) => lackOf.get(file) === program),
    })),
  };
}
