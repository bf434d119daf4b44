import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inherited } from '../inherited.ts';
import { freePort } from '../stores/redis.ts';
import { atMost, type Finding, quantity } from './report.ts';
import { startNode } from './rig/processes.ts';
import type { Rig } from './rig/rig.ts';
import { ratiosOf, spreadOf } from './spread.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const longestMs = 60_000;

/** From `npm start` until `/readyz` says ready, in an empty data folder and in one that was used before. */
export async function start(rig: Rig): Promise<Finding[]> {
  const rounds = rig.rounds ?? 3;
  const times = { bare: [] as number[], empty: [] as number[], existing: [] as number[] };
  for (let round = 1; round <= rounds; round += 1) {
    times.bare.push(await bareStart());
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-start-'));
    try {
      times.empty.push(await npmStart(folder));
      times.existing.push(await npmStart(folder));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    rig.progress(`round ${round} of ${rounds}`);
  }
  return (['empty', 'existing'] as const).map((name) => {
    const spread = spreadOf(times[name]);
    return {
      bench: 'start',
      what: `npm start to ready, ${name} data folder`,
      baseline: quantity('bare Fastify listens', 's', spreadOf(times.bare)),
      subject: quantity('ready', 's', spread),
      ratio: ratiosOf(times[name], times.bare),
      goal: atMost(spread, 5, ' s'),
    };
  });
}

async function bareStart(): Promise<number> {
  const began = performance.now();
  await using _process = await startNode(['test/bench/rig/bare.ts'], {}, (line) => line.includes('url') || undefined);
  return (performance.now() - began) / 1_000;
}

async function npmStart(dataDir: string): Promise<number> {
  const port = await freePort();
  const began = performance.now();
  // A group of its own: npm and what it runs are told to stop together.
  const child = spawn('npm', ['start'], {
    cwd: root,
    detached: true,
    env: { ...inherited, DATA_DIR: dataDir, PORT: String(port), LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  try {
    while (!(await isReady(port))) {
      if (child.exitCode !== null) throw new Error(`npm start ended with code ${child.exitCode}`);
      if (performance.now() - began > longestMs) throw new Error('npm start was not ready within a minute');
      await sleep(10);
    }
    return (performance.now() - began) / 1_000;
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
    await exited;
    // npm may end before the daemon has drained; the folder is in use until then.
    await untilClosed(port);
  }
}

async function isReady(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.status === 200;
}

async function untilClosed(port: number): Promise<void> {
  while (
    await fetch(`http://127.0.0.1:${port}/healthz`).then(
      (answer) => answer.ok,
      () => false,
    )
  )
    await sleep(20);
}
