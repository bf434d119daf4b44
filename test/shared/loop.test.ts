import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createLog } from '../../src/shared/log.ts';
import { type LoopOptions, startLoop } from '../../src/shared/loop.ts';
import { until } from '../world.ts';

function open(job: LoopOptions['job'], options: Partial<LoopOptions> = {}) {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line).msg) });
  const loop = startLoop({ name: 'Counting', everyMs: 3_600_000, log, job, ...options });
  onTestFinished(() => loop.stop());
  return { loop, lines };
}

test('runs its job again and again, and not before the first wait', async () => {
  const rounds: number[] = [];
  open(async () => void rounds.push(1), { everyMs: 5 });
  expect(rounds).toEqual([]);
  await until(() => rounds.length >= 3);
});

test('rounds never overlap, and kicks during a round are one more round', async () => {
  let running = 0;
  let rounds = 0;
  const job = async () => {
    running += 1;
    expect(running).toBe(1);
    await sleep(20);
    rounds += 1;
    running -= 1;
  };
  const { loop } = open(job, { everyMs: 1 });
  const first = loop.kick();
  void loop.kick();
  void loop.kick();
  await first;
  expect(rounds).toBe(2);
});

test('rests before a round that was requested during another', async () => {
  const begins: number[] = [];
  const { loop } = open(async () => void begins.push(performance.now()), { restMs: 50 });
  const first = loop.kick();
  void loop.kick();
  await first;
  expect(begins).toHaveLength(2);
  expect((begins[1] ?? 0) - (begins[0] ?? 0)).toBeGreaterThan(40);
});

test('logs a series of failures when it starts and when it ends', async () => {
  let isBroken = true;
  const { loop, lines } = open(async () => {
    if (isBroken) throw new Error('away');
  });
  await loop.kick();
  await loop.kick();
  expect(lines).toEqual(['Counting failed; it is tried again']);
  isBroken = false;
  await loop.kick();
  await loop.kick();
  expect(lines).toEqual(['Counting failed; it is tried again', 'Counting works again']);
});

test('waits after failures as it is asked to', async () => {
  const asked: number[] = [];
  const retryAfterMs = (failures: number) => (asked.push(failures) < 3 ? 1 : 3_600_000);
  const { loop } = open(() => Promise.reject(new Error('away')), { retryAfterMs });
  void loop.kick();
  await until(() => asked.length === 3);
  await sleep(20);
  expect(asked).toEqual([1, 2, 3]);
});

test('a stop aborts the round in hand, waits for it, and says nothing of its failure', async () => {
  let hasEnded = false;
  const { loop, lines } = open(async (signal) => {
    await sleep(3_600_000, undefined, { signal }).catch(() => undefined);
    await sleep(10);
    hasEnded = true;
    throw new Error('aborted');
  });
  void loop.kick();
  void loop.kick();
  await sleep(1);
  await loop.stop();
  expect(hasEnded).toBe(true);
  hasEnded = false;
  await loop.kick();
  expect(hasEnded).toBe(false);
  expect(lines).toEqual([]);
});
