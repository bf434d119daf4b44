import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../at-end.ts';
import { trunkline } from '../credentials/commands.ts';
import { createDatabase, dropDatabase } from '../stores/databases.ts';
import { debianPrograms } from '../stores/debian.ts';
import { openDatabase, type TestDatabase } from '../world/database.ts';
import { createWorld, secret } from '../world.ts';

const world = await createWorld({ backend: 'postgres', environment: { TIME_ZONE: 'America/New_York' } });
afterAll(() => world.close());
const programs = debianPrograms();
const server = Number(await world.value(`select current_setting('server_version_num')::int / 10000`));
// pg_dump refuses a newer server, such as the embedded one beside an older Debian's.
const isTooOld =
  programs === undefined ||
  Number(/ (\d+)/.exec(execFileSync(join(programs, 'pg_dump'), ['--version'], { encoding: 'utf8' }))?.[1]) < server;

/** The rows of each mirrored table, of the ledger and of the sealed values. */
const contents = ({ query }: Pick<TestDatabase, 'query'>) =>
  query(
    `select table_schema || '.' || table_name as table,
       (xpath('//md5/text()', query_to_xml(format(
         'select md5(string_agg(t::text, '','' order by t::text collate "C")) from %I.%I t', table_schema, table_name), false, true, '')))[1]::text as rows
     from information_schema.tables
     where table_type = 'BASE TABLE' and (table_schema in ('warehouse', 'secrets') or table_name in ('sends', 'coverage', 'migrations'))
     order by 1`,
  );

test('a back-up made while all runs is restored, migrated and found sound', async ({ skip }) => {
  skip(isTooOld, 'there is no pg_dump for this server');
  const { sandbox } = world;
  for (let count = 0; count < 5; count++) {
    await sandbox.emit.call();
    await sandbox.emit.sms();
  }
  await world.settled();

  const folder = await temporaryFolder();
  const name = `test_${randomBytes(6).toString('hex')}`;
  onTestFinished(() => dropDatabase(name));
  const restored = await createDatabase(name);
  const page = await readFile(new URL('../../docs/deploy.md', import.meta.url), 'utf8');
  const [dump = '', restore = '', ...others] = page.match(/^pg_(?:dump|restore) .*$/gm) ?? [];
  expect(others).toEqual([]);
  const run = (line: string) =>
    promisify(execFile)('sh', ['-c', line], {
      cwd: folder,
      env: {
        PATH: `${programs}:${process.env.PATH}`,
        DATABASE_URL: world.context.settings.databaseUrl,
        NEW_DATABASE_URL: restored,
      },
    });
  // Calls are read again, and rules evaluated, after all is settled: only rows that did not change meanwhile can be compared.
  let expected: unknown;
  do {
    expected = await contents(world);
    await run(dump);
  } while (!isDeepStrictEqual(await contents(world), expected));
  await run(restore);
  await using database = openDatabase(restored);
  const held = await contents(database);
  expect(held).toEqual(expected);
  expect(held).toContainEqual({ table: 'warehouse.calls', rows: expect.stringMatching(/^[0-9a-f]{32}$/) });
  expect(await database.value('select count(*)::int from reporting.fct_call')).toBe(5);

  const environment = {
    DATABASE_URL: restored,
    API_BASE_URL: sandbox.url,
    API_KEY: sandbox.apiKey,
    WEBHOOK_SECRET: secret,
    RULES_MODE: 'off',
  };
  const migrate = trunkline(environment, 'migrate', '--json');
  expect(await migrate.ended, migrate.err()).toBe(0);
  expect(JSON.parse(migrate.out())).toEqual({ applied: [], ahead: [] });
  const doctor = trunkline(environment, 'doctor', '--json');
  await doctor.ended;
  // The servers of the tests do not wait for their disk.
  const faults = JSON.parse(doctor.out()).filter(
    ({ level, sentence }: { level: string; sentence: string }) =>
      /problem|warning/.test(level) && !/fsync/.test(sentence),
  );
  expect(faults).toEqual([]);
});
