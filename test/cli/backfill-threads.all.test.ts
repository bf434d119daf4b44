import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../at-end.ts';
import { migratedDatabase } from '../world/database.ts';
import { createWorld, until } from '../world.ts';
import { runInProcess } from './in-process.ts';

const line = '16465550100';

async function listOf(...rows: string[]): Promise<string> {
  const folder = await temporaryFolder();
  const file = join(folder, 'numbers.txt');
  await writeFile(file, rows.join('\n'));
  return file;
}

const run = (databaseUrl = '', ...flags: string[]) =>
  runInProcess({ DATABASE_URL: databaseUrl }, 'backfill', 'threads', ...flags);

describe('where no line is known, it fails with the cure', async () => {
  const database = await migratedDatabase();
  beforeEach(() => database.query('truncate ops.parked_kinds, ops.sync_targets'));

  test.each([
    ['before a worker has read them', 'select', 'Run a worker (`npx trunkline worker`)'],
    [
      'while a scope is missing',
      `insert into ops.parked_kinds (kind, parked_until, reason, missing_scope) values ('lines', now() + interval '1 minute', 'no', 'sms:read')`,
      '(no). Grant sms:read to the API key',
    ],
    [
      'while the API key is refused',
      `insert into ops.parked_kinds (kind, parked_until, reason) values ('lines', now() + interval '1 minute', 'it was revoked')`,
      '(it was revoked). Set API_KEY to a key that is valid',
    ],
    [
      'of an account without one',
      `insert into ops.sync_targets (kind, key, clean_version) values ('lines', 'all', 1)`,
      '`npx trunkline resync lines`',
    ],
  ])('%s', async (_, standing, cure) => {
    await database.query(standing);
    const list = await listOf(`18455550123,${line}`);
    for (const flags of [['--numbers', list], []]) {
      const { code, out, err } = await run(database.url, ...flags);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err.trim().split('\n')).toEqual([expect.stringContaining(cure)]);
      expect(err).toContain('No line of the account is known');
    }
  });
});

describe('beside a worker', async () => {
  const world = await createWorld({ backend: 'postgres' });
  const { sandbox, query, value } = world;
  const { databaseUrl } = world.context.settings;
  afterAll(() => world.close());
  beforeAll(() => until(async () => (await value('select count(*)::integer from warehouse.sms_lines')) === 4));

  test('after a search that left nothing for later, status no longer says that there was none', async () => {
    const isSearched = async () => {
      const { out } = await runInProcess({ DATABASE_URL: databaseUrl }, 'status', '--json');
      const concerns: { sentence: string }[] = JSON.parse(out).concerns;
      return !concerns.some(({ sentence }) => /^Trunkline never searched for texts/.test(sentence));
    };
    expect(await isSearched()).toBe(false);
    const list = await listOf('18455550161', '18455550162');
    expect((await run(databaseUrl, '--numbers', list, '--most', '1')).out).not.toContain(' 0 pairs left for later');
    expect(await isSearched()).toBe(false);
    expect((await run(databaseUrl)).out).toContain(' 0 pairs left for later');
    expect(await isSearched()).toBe(true);
  });

  test('finds the conversations of listed numbers, and says who was asked for just before', async () => {
    await sandbox.emit.sms({ line, number: '18455550123', announce: false });
    const list = await listOf(`18455550123,${line}`, `18455550124,${line}`);
    const first = await run(databaseUrl, '--numbers', list);
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(first.out).toMatch(/ 1 conversations found, 0 pairs left for later\.$/m);
    expect((await run(databaseUrl, '--numbers', await listOf(`18455550124,${line}`))).out).toContain(
      '1 pair of the list left out: probed within the last hour',
    );
  });

  test('reads the held threads of listed numbers again, groups too', async () => {
    const [number, other, third] = ['18455550131', '18455550132', '18455550133'];
    const texts = [
      { line, number },
      { line, participants: [other, number] },
      { line, number: third },
    ];
    for (const text of texts) await sandbox.emit.sms(text);
    await world.settled();
    for (const text of texts) await sandbox.emit.sms({ ...text, text: 'lost', announce: false });
    const { code, out } = await run(databaseUrl, '--numbers', await listOf(`${number},${line}`), '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ reread: 2, rereadLeft: 0, underWay: 0 });
    expect(
      await query(
        `select c.number, count(*)::integer as texts from warehouse.sms_messages join warehouse.sms_conversations c using (conversation_id)
         where body = 'lost' group by 1 order by 1`,
      ),
    ).toEqual([{ number, texts: 2 }]);
    expect((await run(databaseUrl, '--numbers', await listOf(number), '--most', '1')).out).toMatch(
      / 1 known threads read again, .*\n1 more known threads/,
    );
  });

  test('waits no longer where the service refuses to show threads', async () => {
    await query(
      `insert into ops.parked_kinds (kind, reason, missing_scope, parked_until)
       values ('thread', 'insufficient scope', 'messages:read', now() + interval '10 minutes')`,
    );
    const { code, err } = await run(databaseUrl, '--numbers', await listOf(`18455550151,${line}`));
    await query('delete from ops.parked_kinds');
    expect({ code, err }).toEqual({
      code: 1,
      err: '1 reads are not done: the service refuses (insufficient scope). Grant messages:read to the API key. The rest follows.\n',
    });
  });

  test('leaves out who was erased, and says so', async () => {
    await query(`insert into ops.erasures (number_hash) values (ops.erasure_hash('18455550141'))`);
    const { code, out } = await run(databaseUrl, '--numbers', await listOf('18455550141'));
    expect(code).toBe(0);
    expect(out).toContain('1 number of the list left out');
    expect(await query(`select from ops.thread_candidates where number = '18455550141'`)).toEqual([]);
  });
});
