import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../faults/deployment/ports.ts';
import { inherited } from '../inherited.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));

/** An empty folder with the packed tarball installed, as npm lays it out. The dependencies are those of the checkout. */
async function installPackage(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-package-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  // As root, Postgres runs under another account.
  await chmod(folder, 0o755);
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root });
  const [tarball = ''] = await readdir(folder);
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, 'trunkline'), { recursive: true });
  await run('tar', ['-xzf', join(folder, tarball), '-C', join(modules, 'trunkline'), '--strip-components=1']);
  for (const name of Object.keys(manifest.dependencies)) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, 'node_modules', name), join(modules, name));
  }
  await mkdir(join(modules, '.bin'));
  await symlink(join('../trunkline', manifest.bin.trunkline), join(modules, '.bin/trunkline'));
  return folder;
}

test('`npx trunkline start` runs the packed tarball in an empty folder', async () => {
  const cwd = await installPackage();
  const { stdout: commit } = await run('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: root });
  const version = await run('npx', ['trunkline', '--version'], { cwd });
  expect(version.stdout).toMatch(`${manifest.version} (commit ${commit.trim()}, schema 0`);
  expect(version.stderr).not.toMatch(/experimental/i);

  const child = spawn('npx', ['trunkline', 'start', '--json'], {
    cwd,
    env: { ...inherited, DATA_DIR: join(cwd, '.data'), PORT: String(await freePort()) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const group = -(child.pid ?? 0);
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) process.kill(group, 'SIGKILL');
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const ended = once(child, 'close').then(() => Promise.reject(new Error(err)));
  ended.catch(() => undefined);
  await Promise.race([expect.poll(() => out).toContain('"statusUrl"'), ended]);
  const { statusUrl, adminTokenFile } = JSON.parse(out);
  const asOwner = { headers: { authorization: `Bearer ${(await readFile(adminTokenFile, 'utf8')).trim()}` } };
  await expect.poll(async () => (await fetch(`${statusUrl}readyz`)).status).toBe(200);
  expect(await (await fetch(`${statusUrl}api/status`, asOwner)).json()).toMatchObject({
    release: manifest.version,
    commit: commit.trim(),
    schema: { value: { isMigrated: true } },
    rules: { value: { problem: null, mode: 'dry-run' } },
  });
  expect(await (await fetch(`${statusUrl}metrics`, asOwner)).text()).toMatch(
    new RegExp(
      `^trunkline_build_info\\{version="${manifest.version}",commit="${commit.trim()}",schema="0\\w+"\\} 1$`,
      'm',
    ),
  );
  // What Ctrl-C on a terminal does.
  process.kill(group, 'SIGINT');
  await ended.catch(() => undefined);
  expect(err).toContain('"Stopped"');
});
