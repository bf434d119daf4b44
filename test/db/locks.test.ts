import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { query as ask, inTransaction, sql } from '../../src/db/database.ts';
import { lockNames, takeLock, tryLock, whileLocked } from '../../src/db/locks.ts';
import { migratedDatabase, waitingForLocks } from '../world/database.ts';

const { db, query, value } = await migratedDatabase();

test('each lock has its row', async () => {
  expect(await query('select name from ops.locks order by name')).toEqual(lockNames.map((name) => ({ name })));
});

test('a lock is held until its transaction ends, and others wait for it or do without', async () => {
  let waiting: Promise<void> = Promise.resolve();
  const order: string[] = [];
  await inTransaction(db, async (tx) => {
    await takeLock(tx, 'rollups');
    expect(await inTransaction(db, (other) => tryLock(other, 'rollups'))).toBe(false);
    expect(await inTransaction(db, (other) => tryLock(other, 'outcomes'))).toBe(true);
    waiting = whileLocked(db, 'rollups', async () => void order.push('second'));
    await expect.poll(() => value(waitingForLocks)).toBe(1);
    order.push('first');
  });
  await waiting;
  expect(order).toEqual(['first', 'second']);
  expect(await inTransaction(db, (tx) => tryLock(tx, 'rollups'))).toBe(true);
});

test('a lock without its row is not taken silently', async () => {
  const removed = inTransaction(db, async (tx) => {
    await ask(tx, sql`delete from ops.locks where name = 'views'`);
    await takeLock(tx, 'views');
  });
  await expect(removed).rejects.toThrow('ops.locks has no row views');
});

test('nothing of ours takes an advisory lock, which every role of the database may hold', async () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const files: string[] = [];
  for (const folder of ['src', 'workers', 'migrations', 'config']) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries) if (/\.(?:ts|sql)$/.test(entry.name)) files.push(join(entry.parentPath, entry.name));
  }
  const taking = /pg_(?:try_)?advisory_(?:xact_)?lock(?:_shared)?\(/;
  const texts = await Promise.all(files.map(async (file) => [file, await readFile(file, 'utf8')] as const));
  expect(texts.filter(([, text]) => taking.test(text)).map(([file]) => file)).toEqual([]);
});
