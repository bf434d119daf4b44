import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { migratedDatabase } from '../world/database.ts';
import { openLedger } from './ledger-world.ts';

const database = await migratedDatabase();
const sandbox = await createSandbox({ calls: 0, threads: 0 });
afterAll(async () => {
  await sandbox.close();
  await database[Symbol.asyncDispose]();
});

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
  { step: 'reserved', left: 'RESERVED', after: 'taken_back', end: 'SENT', texts: 1 },
  { step: 'looked', left: 'RESERVED', after: 'taken_back', end: 'SENT', texts: 1 },
  { step: 'dispatched', left: 'DISPATCHED', after: 'unknown', end: 'NEEDS_HUMAN no message matches', texts: 0 },
  { step: 'answered', left: 'DISPATCHED', after: 'unknown', end: 'SENT reconciled', texts: 1 },
  { step: 'settled', left: 'SENT', after: 'nothing_due', end: 'SENT', texts: 1 },
] as const)('a process killed when it has $step leaves $left, which ends $end', async (expected) => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, number } = await ledger.answer();
  await killAt(expected.step, sendId);
  expect(await ledger.state(sendId)).toBe(expected.left);
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe(expected.after);
  await ledger.pass(sendId);
  await ledger.dispatcher.turn(sendId);
  if (expected.left === 'DISPATCHED') {
    await database.query(
      `update ops.sends set dispatched_at = dispatched_at - interval '1 minute', due_at = now() where state = 'UNKNOWN'`,
    );
    await ledger.dispatcher.turn(sendId);
  }
  expect(await ledger.state(sendId)).toBe(expected.end);
  expect(await ledger.texts(number)).toHaveLength(expected.texts);
});

test('a process killed while the service works on its request leaves a send that is found in the thread', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, number } = await ledger.answer();
  sandbox.faults({ answers: [{ kind: 'slow', ms: 1_500, when: 'after', times: 1, operations: ['sendMessage'] }] });
  const killed = killAt('answered', sendId);
  await expect
    .poll(() => sandbox.sends().filter(({ charge }) => charge?.to.includes(number)).length, { timeout: 60_000 })
    .toBe(1);
  expect(await ledger.state(sendId)).toBe('DISPATCHED');
  await killed;
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('sent');
  expect(await ledger.texts(number)).toHaveLength(1);
});
