import { spawnSync } from 'node:child_process';
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

function findCommit(): string {
  const named = commitVariables.map((name) => process.env[name]).find(Boolean);
  if (named || !existsSync(`${root}.git`)) return named ?? 'unknown';
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' });
  return stdout?.trim() || 'unknown';
}

function newestMigration(): string {
  const files = readdirSync(`${root}migrations`).filter((file) => /^\d.*\.sql$/.test(file));
  return files.sort().at(-1)?.slice(0, -'.sql'.length) ?? 'none';
}
