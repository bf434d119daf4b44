import { cp, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../at-end.ts';
import { backends } from '../../stores/backends.ts';
import { createDaemon } from '../deployment/deployment.ts';
import { createPart, root } from '../deployment/part.ts';
import { freePort } from '../deployment/ports.ts';
import { surviveUnderLoad } from '../load/survive.ts';
import type { OnOpen } from '../nemesis/proxy.ts';

/** What a release adds to tables that are being written: it may only add. */
const nextMigration = `
  alter table warehouse.calls add column next_release_note text;
  comment on column warehouse.calls.next_release_note is 'What the next release knows.';
  alter table ops.deliveries add column next_release_note text not null default '';
  create index calls_next_release_note on warehouse.calls (next_release_note);
  create table ops.next_release (id bigint generated always as identity primary key);
  create view ops.next_release_calls as select call_id, next_release_note from warehouse.calls;
`;

describe.each(backends)('on %s', (backend) => {
  test('a release migrates under load, and works beside the one before', async ({ onTestFinished }) => {
    const release = await nextRelease(onTestFinished);
    await surviveUnderLoad('release', { backend }, onTestFinished, async (deployment) => {
      const { environment: env, load } = deployment;
      await load.goesOn(30);
      const migrate = createPart(
        { name: 'migrate', args: ['migrate'], env, readyWords: 'next_release', release },
        onTestFinished,
      );
      await migrate.start();
      expect(await migrate.ended()).toEqual({ code: 0, signal: null });
      const { rowCount } = await deployment.database.query('select next_release_note from warehouse.calls limit 1');
      expect(rowCount, 'it migrated while calls came in').toBe(1);

      await load.goesOn(30);
      const port = { PORT: String(await freePort()) };
      const newWeb = createDaemon('web', { name: 'next web', env: { ...env, ...port }, release }, onTestFinished);
      const newWorker = createDaemon('worker', { name: 'next worker', env, release }, onTestFinished);
      await Promise.all([newWeb.start(), newWorker.start()]);
      deployment.isJoinedBy({ webs: [newWeb], workers: [newWorker] });
      await load.goesOn(30);
      // The release before starts once more on the database that is ahead of it, as after a roll-back.
      for (const part of [deployment.worker, deployment.web]) {
        part.signal('SIGTERM');
        expect(await part.ended()).toEqual({ code: 0, signal: null });
        await part.start();
      }
    });
  });
});

/** This release with one more migration, in a folder of its own. */
async function nextRelease(onOpen: OnOpen): Promise<string> {
  const folder = await temporaryFolder(onOpen);
  for (const part of ['src', 'workers', 'config', 'migrations']) {
    await cp(join(root, part), join(folder, part), { recursive: true });
  }
  await cp(join(root, 'package.json'), join(folder, 'package.json'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const migrations = await readdir(join(root, 'migrations'));
  const last =
    migrations
      .filter((name) => /^\d{4}_/.test(name))
      .sort()
      .at(-1) ?? '0';
  const number = String(Number(last.slice(0, 4)) + 1).padStart(4, '0');
  await writeFile(join(folder, 'migrations', `${number}_next_release.sql`), nextMigration);
  return folder;
}
