import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { migrate } from '../../src/db/migrate.ts';
import { outdatedViews, sortByDependencies, staleViews, type View } from '../../src/db/repeatable.ts';
import { createLog } from '../../src/shared/log.ts';
import { runInProcess } from '../cli/in-process.ts';
import { databaseForTest, dropRole } from '../stores/databases.ts';
import { migrated, openDatabase, type TestDatabase } from '../world/database.ts';

const log = createLog('silent');
const url = await databaseForTest(migrated);

const view = (name: string, ...needs: string[]): View => ({ name, text: name, textHash: `hash of ${name}`, needs });
const namesOf = (views: readonly View[]) => views.map(({ name }) => name);
const held = (...names: string[]) => new Map(names.map((name) => [name, `hash of ${name}`]));

test('a view comes after those that it depends on', () => {
  expect(namesOf(sortByDependencies([view('a', 'b'), view('b', 'c'), view('c')]))).toEqual(['c', 'b', 'a']);
  expect(() => sortByDependencies([view('a', 'b'), view('b', 'a')])).toThrow('a, b');
});

test('a changed view is created again with those that depend on it, and no other', () => {
  const views = sortByDependencies([
    view('daily', 'interval'),
    view('interval'),
    view('other'),
    view('heatmap', 'daily'),
  ]);
  expect(staleViews(views, held('daily', 'interval', 'other', 'heatmap'))).toEqual([]);
  expect(namesOf(staleViews(views, held('daily', 'other', 'heatmap')))).toEqual(['interval', 'daily', 'heatmap']);
});

test('every file is one view, named as the file, with its comments', async () => {
  await using database = openDatabase(url);
  const files = await readdir(new URL('../../migrations/views/', import.meta.url));
  const rows = await database.query<{ name: string }>(
    `select viewname as name from pg_views where schemaname = 'reporting' order by 1`,
  );
  expect(rows.map(({ name }) => `${name}.sql`)).toEqual(files.sort());
});

test('a changed view is replaced, one that the release lacks is dropped, and the others are kept', async () => {
  await using database = openDatabase(url);
  const identity = (name: string) => database.value('select $1::regclass::oid::integer', `reporting.${name}`);
  const before = { agents: await identity('agent_hourly'), queues: await identity('dim_queue') };
  await database.query(`create view reporting.of_yesterday as select * from reporting.dim_user`);
  await database.query(`insert into ops.views (view_name, text_hash) values ('of_yesterday', 'x')`);
  await database.query(`update ops.views set text_hash = 'another' where view_name = 'dim_user'`);
  await migrate(url, log);
  expect(await database.value(`select to_regclass('reporting.of_yesterday')`)).toBeNull();
  expect(await identity('agent_hourly')).toBe(before.agents);
  expect(await identity('dim_queue')).toBe(before.queues);
  expect(await database.value(`select count(*)::integer from ops.views where text_hash in ('another', 'x')`)).toBe(0);
});

test('a view that somebody dropped is created again', async () => {
  await using database = openDatabase(url);
  await database.query('drop view reporting.call_hourly');
  await migrate(url, log);
  expect(await database.query('select from reporting.call_hourly')).toEqual([]);
});

test('a view of somebody else’s stays on a view that changes, unless its columns change', async () => {
  await using database = openDatabase(url);
  await database.query('create view public.mine as select * from reporting.call_hourly');
  await database.query(`update ops.views set text_hash = 'another'`);
  expect(await migrate(url, log)).toEqual({ applied: [], ahead: [] });
  expect(await database.query('select from public.mine')).toEqual([]);
  expect(await database.query(`select from ops.views where text_hash = 'another'`)).toEqual([]);
  await database.query('drop view public.mine');
});

/** Has a view of an earlier release, with a column that this one lacks. */
async function ofEarlierRelease(database: TestDatabase, name: string): Promise<void> {
  await database.query(`drop view reporting.${name} cascade`);
  await database.query(`create view reporting.${name} as select 'x'::text as gone`);
  await database.query(`update ops.views set text_hash = 'another' where view_name = $1`, name);
}

test('a view whose columns changed is made anew, with those that depend on it', async () => {
  await using database = openDatabase(url);
  await ofEarlierRelease(database, 'fct_call');
  expect(await migrate(url, log)).toEqual({ applied: [], ahead: [] });
  expect(await database.query('select call_id from reporting.fct_call')).toEqual([]);
  expect(await outdatedViews(database.db)).toEqual([]);
});

test('a view of somebody else’s on columns that change is named, and only the views wait for it', async () => {
  await using database = openDatabase(url);
  await ofEarlierRelease(database, 'call_hourly');
  await database.query('create view public.mine as select * from reporting.call_hourly');
  const { viewsBlocked } = await migrate(url, log);
  expect(viewsBlocked).toContain('public.mine, reporting.call_hourly');
  expect(viewsBlocked).toContain('Drop them, run `npx trunkline migrate`');
  expect(await database.query('select gone from public.mine')).toEqual([{ gone: 'x' }]);
  expect(await outdatedViews(database.db)).toContain('call_hourly');
  const command = await runInProcess({ DATABASE_URL: url }, 'migrate');
  expect(command).toMatchObject({ code: 0, out: expect.stringContaining('public.mine, reporting.call_hourly') });
  const status = await runInProcess({ DATABASE_URL: url }, 'status');
  expect(status.out).toContain('Some reports aren’t those of this release');
  await database.query('drop view public.mine');
  expect(await migrate(url, log)).toEqual({ applied: [], ahead: [] });
  expect(await outdatedViews(database.db)).toEqual([]);
});

test('a function that depends on a view is named as well', async () => {
  await using database = openDatabase(url);
  await database.query(
    `create function public.missed() returns setof reporting.missed_calls language sql as 'select * from reporting.missed_calls'`,
  );
  await ofEarlierRelease(database, 'call_hourly');
  expect((await migrate(url, log)).viewsBlocked).toBeUndefined();
  await database.query('drop function public.missed');
  await ofEarlierRelease(database, 'missed_calls');
  await database.query(
    `create function public.missed() returns setof reporting.missed_calls language sql as 'select * from reporting.missed_calls'`,
  );
  expect((await migrate(url, log)).viewsBlocked).toContain('function missed(), reporting.missed_calls');
  await database.query('drop function public.missed');
  await migrate(url, log);
});

test('a grant on a view outlives its creation', async () => {
  await using database = openDatabase(url);
  const role = `analyst_${randomBytes(6).toString('hex')}`;
  const granted = () =>
    database.query(
      `select privilege_type, is_grantable from pg_class c, aclexplode(c.relacl)
       where c.oid = 'reporting.call_hourly'::regclass and grantee in ($1::regrole, 0) order by grantee desc, 1`,
      role,
    );
  await database.query(`create role ${role}`);
  try {
    await database.query(`grant select on reporting.call_hourly to ${role} with grant option`);
    await database.query(`grant select on reporting.call_hourly to public`);
    const before = await granted();
    expect(before).toHaveLength(2);
    await database.query(`update ops.views set text_hash = 'another' where view_name = 'call_hourly'`);
    await migrate(url, log);
    expect(await granted()).toEqual(before);
  } finally {
    await dropRole(url, role);
  }
});
