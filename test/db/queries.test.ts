import { expect, test } from 'vitest';
import { hotQuery, query, relation, sql } from '../../src/db/database.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db } = database;

test('a hot statement that fails can be asked again, and takes whatever text can be stored', async () => {
  const text = 'select 1 / $1::integer as answer, $2::text as said';
  await expect(hotQuery(db, text, [0, 'never'])).rejects.toThrow('division by zero');
  expect(await hotQuery(db, text, [1, 'a\0b'])).toEqual([{ answer: 1, said: 'a\ufffdb' }]);
});

test('a hot statement outlives a change of the tables that it reads', async () => {
  await query(db, 'create table ops.changing (key text primary key)', []);
  const ask = () => hotQuery(db, 'select key from ops.changing where key = $1', ['a']);
  for (let count = 0; count < 7; count += 1) expect(await ask()).toEqual([]);
  await query(db, 'alter table ops.changing add column more text default 1', []);
  await query(db, `insert into ops.changing values ('a')`, []);
  expect(await ask()).toEqual([{ key: 'a' }]);
});

test('a statement of the sql tag stores what text cannot hold as U+FFFD, in lists too', async () => {
  const statement = sql<{ one: string; more: string[] }>`select ${'a\0b'}::text as one, ${['c\ud800']}::text[] as more`;
  expect(await query(db, statement)).toEqual([{ one: 'a\ufffdb', more: ['c\ufffd'] }]);
});

test('a relation has the rows, under the names of its columns', async () => {
  const rows = [
    { line: '15550001', at: { sent: new Date(0) } },
    { line: undefined, at: { sent: undefined } },
  ];
  const texts = relation('texts', rows, { line: 'text', sent_at: ['timestamptz', (row) => row.at.sent] }, 'place');
  expect(await query(db, sql`select texts.line, sent_at, place from ${texts} order by place`)).toEqual([
    { line: '15550001', sent_at: new Date(0), place: '1' },
    { line: null, sent_at: null, place: '2' },
  ]);
  expect(await query(db, sql`select * from ${relation('none', [], { key: ['text', String] })}`)).toEqual([]);
});
