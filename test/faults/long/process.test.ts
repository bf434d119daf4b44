import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { backends } from '../../stores/backends.ts';
import { deploy } from '../deployment/deployment.ts';
import { startStorm } from '../load/storm.ts';
import { surviveUnderLoad } from '../load/survive.ts';
import { busyFor, evaluateIn, inspectable, unhandledRejection } from '../nemesis/inspector.ts';
import { expectNothingLost } from '../oracle/oracle.ts';
import { createRandom } from '../random.ts';

/** Longer than a job's lock lasts, so that another would take what the blocked worker has in hand. */
const blockedMs = 14_000;
const megabyte = 1_024 ** 2;

describe.each(backends)('on %s', (backend) => {
  test('goes on where it was after its event loop was blocked', async ({ onTestFinished }) => {
    const shape = { backend, nodeOptions: inspectable, workers: 2 };
    await surviveUnderLoad('blocked', shape, onTestFinished, async ({ web, worker, load }) => {
      for (const part of [worker, web]) {
        await load.goesOn(20);
        await evaluateIn(part, busyFor(blockedMs));
        await load.goesOn(20);
      }
    });
  });

  test('ends for an unhandled rejection, with what is in hand finished, and loses nothing', async ({
    onTestFinished,
  }) => {
    const shape = { backend, nodeOptions: inspectable };
    await surviveUnderLoad('rejection', shape, onTestFinished, async ({ web, worker, load }) => {
      for (const part of [worker, web]) {
        await load.goesOn(20);
        await evaluateIn(part, unhandledRejection);
        expect(await part.ended(), part.name).toEqual({ code: 1, signal: null });
        expect(part.output).toContain('nobody handles this');
        await part.start();
      }
    });
  });

  test('loses nothing when a worker is killed again and again in a backlog', async ({ onTestFinished }) => {
    await surviveUnderLoad('backlog', { backend }, onTestFinished, async ({ worker, load, random }) => {
      await worker.crash();
      await load.goesOn(1_000);
      for (let crash = 0; crash < 2; crash += 1) {
        await worker.start();
        await load.goesOn(random.between(5, 30));
        await worker.crash();
      }
      await worker.start();
    });
  });
});

test('lives in 512 MB while large deliveries come in', async ({ onTestFinished }) => {
  const deployment = await deploy({ backend: 'redis', nodeOptions: '--max-old-space-size=384' }, onTestFinished);
  const { web, worker } = deployment;
  const storm = await startStorm(deployment, createRandom('memory'), { threads: 40, calls: 200 });
  const large = Buffer.alloc(megabyte - 1, ' ');
  const statuses = new Set<number>();
  const send = async () => {
    for (let at = 0; at < 60; at += 1) {
      const response = await fetch(deployment.hooks('AccountSMS')[0] as string, { method: 'POST', body: large });
      statuses.add(response.status);
      await response.text();
    }
  };
  await Promise.all([storm.run(4_000), ...Array.from({ length: 8 }, send)]);
  await sleep(500);
  await expectNothingLost(deployment, storm);
  expect([...statuses]).toEqual([202]);
  for (const part of [web, worker]) {
    expect(await maxMemory(part.pid), `megabytes that ${part.name} had at most`).toBeLessThan(512);
  }
});

/** The most resident memory that a process ever had, in megabytes. */
async function maxMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024;
}
