import { Client } from 'pg';
import { expect, inject, test } from 'vitest';
import { databaseForTest } from './databases.ts';

async function withTable(url: string): Promise<void> {
  await ask(url, 'create table prepared (n int); insert into prepared values (7)');
}

const prepared = await databaseForTest(withTable);
const another = await databaseForTest(withTable);
const empty = await databaseForTest();

test('a database for a test has what its preparation made', async () => {
  expect(await ask(prepared, 'select n from prepared')).toEqual([{ n: 7 }]);
});

test('databases of one preparation are apart', async () => {
  await ask(prepared, 'delete from prepared');
  expect(await ask(another, 'select n from prepared')).toEqual([{ n: 7 }]);
});

test('a database without preparation is empty and speaks UTF-8', async () => {
  expect(await ask(empty, `select count(*)::int as tables from pg_tables where schemaname = 'public'`)).toEqual([
    { tables: 0 },
  ]);
  expect(await ask(empty, 'show server_encoding')).toEqual([{ server_encoding: 'UTF8' }]);
});

test('the run has a Redis', () => {
  expect(inject('redisUrl')).toMatch(/^redis:/);
});

async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
