import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import manifest from '../../package.json' with { type: 'json' };

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Environment variables in which the image and the platforms put the commit. */
const commitVariables = ['TRUNKLINE_COMMIT', 'RENDER_GIT_COMMIT', 'HEROKU_BUILD_COMMIT', 'HEROKU_SLUG_COMMIT'] as const;

/** The version that is running. */
export interface Release {
  readonly version: string;
  /** The first 12 digits. `unknown` if neither a checkout, an image nor a platform provides it. */
  readonly commit: string;
  /** The newest migration of this release. After a rollback, the database may have a newer schema. */
  readonly schema: string;
}

let known: Release | undefined;

/** Cached, and computed only on demand, because it starts Git in a checkout. */
export function readRelease(): Release {
  known ??= { version: manifest.version, commit: findCommit().slice(0, 12), schema: newestMigration() };
  return known;
}

/** One line for `--version`. */
export const describeRelease = ({ version, commit, schema }: Release): string =>
  `${version} (commit ${commit}, schema ${schema})`;

function findCommit(): string {
  const named = commitVariables.map((name) => process.env[name]).find(Boolean);
  return named || commitOfCheckout() || 'unknown';
}

function commitOfCheckout(): string | undefined {
  if (!existsSync(`${root}.git`)) return undefined;
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8', stdio: [...stdio] }).trim();
  } catch {
    return undefined;
  }
}

function newestMigration(): string {
  const files = readdirSync(`${root}migrations`).filter((file) => /^\d.*\.sql$/.test(file));
  return files.sort().at(-1)?.slice(0, -'.sql'.length) ?? 'none';
}
