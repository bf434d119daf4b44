import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { pauseSends, resumeSends } from '../../src/ledger/control.ts';
import { locksHere } from '../world/database.ts';
import { openLedgerStores } from './ledger-stores.ts';
import { openLedger } from './ledger-world.ts';

const { database, sandbox } = await openLedgerStores();

const program = fileURLToPath(new URL('dispatcher-process.ts', import.meta.url));

/** Runs a dispatcher up to a step, and kills it there. */
async function killAt(step: string, sendId: string): Promise<void> {
  const args = [program, database.url, sandbox.url, sandbox.apiKey, step, sendId];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  for await (const chunk of child.stdout) {
    if (String(chunk).split('\n').includes(step)) break;
  }
  child.kill('SIGKILL');
  await ended;
}

test.each([
  { step: 'reserved', left: 'RESERVED', after: 'replanned', end: 'SENT', texts: 1 },
  { step: 'looked', left: 'RESERVED', after: 'replanned', end: 'SENT', texts: 1 },
  { step: 'dispatched', left: 'DISPATCHED', after: 'unknown', end: 'NEEDS_HUMAN no message matches', texts: 0 },
  { step: 'answered', left: 'DISPATCHED', after: 'unknown', end: 'SENT reconciled', texts: 1 },
  { step: 'settled', left: 'SENT', after: 'nothing_due', end: 'SENT', texts: 1 },
] as const)('a process killed when it has $step leaves $left, which ends $end', async (expected) => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, number } = await ledger.answer();
  await killAt(expected.step, sendId);
  expect(await ledger.state(sendId)).toBe(expected.left);
  await ledger.makeDue(sendId);
  expect(await ledger.dispatcher.advance(sendId)).toBe(expected.after);
  await ledger.makeDue(sendId);
  await ledger.dispatcher.advance(sendId);
  if (expected.left === 'DISPATCHED') {
    await database.query(
      `update ops.sends set dispatched_at = dispatched_at - interval '1 minute', due_at = now() where state = 'UNKNOWN'`,
    );
    await ledger.dispatcher.advance(sendId);
  }
  expect(await ledger.state(sendId)).toBe(expected.end);
  expect(await ledger.texts(number)).toHaveLength(expected.texts);
});

/** Keeps every commit of a dispatch waiting at the database until it is released. */
async function holdDispatches(): Promise<{ isWaiting(): Promise<boolean>; release(): Promise<void> }> {
  await database.query(`create function ops.wait() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock_shared(4711); return null; end $$`);
  await database.query(`create constraint trigger wait after update on ops.sends deferrable initially deferred
    for each row when (new.state = 'DISPATCHED' and old.state = 'RESERVED') execute function ops.wait()`);
  const held = Promise.withResolvers<void>();
  const wanted = Promise.withResolvers<void>();
  onTestFinished(async () => {
    await database.query('drop function ops.wait cascade');
  });
  const over = database.db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(4711)`.execute(tx);
    held.resolve();
    await wanted.promise;
  });
  await held.promise;
  return {
    async isWaiting() {
      const waiting = `select exists (select from ${locksHere} where locktype = 'advisory' and objid = 4711 and not granted)`;
      return (await database.value(waiting)) === true;
    },
    async release() {
      wanted.resolve();
      await over;
    },
  };
}

test('a process that stands still during the commit of a dispatch lets nothing out when it goes on', async () => {
  const ledger = await openLedger(database, sandbox);
  // The unknown outcomes of the tests before may have paused everything.
  await resumeSends(database.db);
  const { sendId, line, number } = await ledger.answer();
  const commits = await holdDispatches();
  const stallMs = 1_000;
  const args = [program, database.url, sandbox.url, sandbox.apiKey, 'never', sendId, String(stallMs)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'exit');
  await expect.poll(commits.isWaiting).toBe(true);
  child.kill('SIGSTOP');
  await commits.release();
  await expect.poll(() => ledger.state(sendId)).toBe('DISPATCHED');
  await sleep(2 * stallMs);

  await ledger.makeDue(sendId);
  expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
  await sandbox.emit.sms({ line, number, text: 'STOP', announce: false });
  await ledger.mirror(line, number);
  await pauseSends(database.db, 'for good');
  child.kill('SIGCONT');
  await ended;
  expect(await ledger.state(sendId)).toBe('PLANNED stalled');
  await resumeSends(database.db);
  await ledger.makeDue(sendId);
  expect(await ledger.dispatcher.advance(sendId)).toBe('denied');
  expect(await ledger.state(sendId)).toBe('DENIED gate:opted_out');
  expect(await ledger.texts(number)).toEqual([]);
});
