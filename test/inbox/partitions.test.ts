import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { query as ask, sql } from '../../src/db/database.ts';
import { addPartitions, dropPartitions } from '../../src/inbox/partitions.ts';
import { deleteExpired, findDelivery, listDeliveries } from '../../src/inbox/stored-deliveries.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db, query, value } = database;
afterAll(() => database[Symbol.asyncDispose]());

const names = () =>
  query<{ name: string; bounds: string }>(
    `select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'ops.deliveries'::regclass and c.relname <> 'deliveries_other' order by 1`,
  );
const isStored = (where: string) => value(`select tableoid::regclass::text as name from ops.deliveries where ${where}`);
const insertAt = (at: string) =>
  query(
    `insert into ops.deliveries (received_at, body, body_hash, targets, is_recognized) values (${at}, '', '', '{}', true)`,
  );

beforeEach(async () => {
  for (const { name } of await names()) await query(`drop table ops.${name}`);
  await query('truncate ops.deliveries restart identity');
});

describe('the partitions of the inbox', () => {
  test('cover today and the next three days, a day each, and are added once by any number of processes', async () => {
    await Promise.all(Array.from({ length: 5 }, () => addPartitions(db, 30)));
    const added = await names();
    expect(added).toHaveLength(4);
    await addPartitions(db, 30);
    expect(await names()).toEqual(added);
    await insertAt('now()');
    expect(await isStored('true')).toBe(`ops.${added[0]?.name}`);
  });

  test('go on behind those that exist', async () => {
    await addPartitions(db, 30);
    const added = await names();
    await query(`drop table ops.${added.at(-1)?.name}`);
    await addPartitions(db, 30);
    expect(await names()).toEqual(added);
  });

  test('go on at today after a clock that was ahead', async () => {
    await query('create table ops.deliveries_until_29990102 (like ops.deliveries)');
    await query(
      `alter table ops.deliveries attach partition ops.deliveries_until_29990102 for values from ('2999-01-01+00') to ('2999-01-02+00')`,
    );
    await addPartitions(db, 30);
    expect(await names()).toHaveLength(5);
  });

  test('are longer where deliveries are kept longer', async () => {
    await addPartitions(db, 365);
    expect(await names()).toHaveLength(1);
  });

  test('take what was stored before the first of them where it is', async () => {
    await insertAt('now()');
    await addPartitions(db, 30);
    expect(await names()).toHaveLength(3);
    await insertAt('now()');
    await insertAt(`now() + interval '1 day'`);
    expect(
      await query(
        `select tableoid::regclass::text as name, count(*)::integer from ops.deliveries group by 1 order by 2`,
      ),
    ).toEqual([
      { name: `ops.${(await names())[0]?.name}`, count: 1 },
      { name: 'ops.deliveries_other', count: 2 },
    ]);
  });

  test('a delivery of any time is stored, and found by its id', async () => {
    await addPartitions(db, 30);
    for (const at of [`'1999-01-01'`, 'now()', `'2999-01-01'`]) await insertAt(at);
    expect((await listDeliveries(db, {}, 5)).map(({ id }) => id)).toEqual(['3', '2', '1']);
    expect((await findDelivery(db, '2'))?.id).toBe('2');
  });
});

describe('what has expired', () => {
  /** Partitions as they are 31 days later. */
  async function aged(): Promise<void> {
    await query(`create table ops.deliveries_until_20200102 (like ops.deliveries)`);
    await query(
      `alter table ops.deliveries attach partition ops.deliveries_until_20200102 for values from ('2020-01-01+00') to ('2020-01-02+00')`,
    );
    await addPartitions(db, 30);
    await insertAt(`'2020-01-01 12:00+00'`);
    await insertAt('now()');
  }

  test('goes with its partition, by any number of processes', async () => {
    await aged();
    const counts = await Promise.all(Array.from({ length: 4 }, () => deleteExpired(db, 30)));
    expect(counts.reduce((sum, count) => sum + count)).toBe(1);
    expect(await names()).toHaveLength(4);
    expect(await value('select count(*)::integer from ops.deliveries')).toBe(1);
  });

  test('is kept until the partition is over, unless the content has to go by the hour', async () => {
    await addPartitions(db, 30);
    await insertAt('now()');
    expect(await deleteExpired(db, 0)).toBe(0);
    expect(await deleteExpired(db, 0, { isExact: true })).toBe(1);
  });

  test('is left to the next round while somebody reads the inbox', async () => {
    await aged();
    await db.transaction().execute(async (tx) => {
      await ask(tx, sql`select from ops.deliveries`);
      expect(await dropPartitions(db, new Date())).toBe(0);
    });
    expect(await dropPartitions(db, new Date())).toBe(1);
  });
});
