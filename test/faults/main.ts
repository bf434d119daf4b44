import '../environment.ts';

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import type { Figures } from './figures.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The test files of each campaign. */
const campaigns: Readonly<Record<string, readonly string[]>> = {
  kills: ['test/faults/long/campaigns/kills.test.ts'],
  'random-kills': ['test/faults/long/campaigns/random-kills.test.ts'],
  ledger: ['test/ledger/model.all.test.ts', 'test/faults/long/ledger.test.ts'],
  stores: ['test/faults/long/campaigns/stores.test.ts', 'test/faults/long/stores.test.ts'],
  process: ['test/faults/long/process.test.ts'],
  releases: ['test/faults/long/releases.test.ts'],
  signals: ['test/faults/long/signals.test.ts'],
};

const usage = `usage: npm run faults -- [${Object.keys(campaigns).join('|')}]…

Breaks whole deployments, and checks that nothing is lost and nothing doubled. Without a name, everything, in full size.
  FAULT_SEED=N       repeats the draws of a run
  FAULT_SHARE=0.05   makes campaigns smaller
  FAULT_TEST=PATTERN runs only the tests whose full name matches
  FAULT_FIGURES=FILE also writes the figures, one JSON object a line`;

const names = process.argv.slice(2);
if (names.some((name) => !Object.hasOwn(campaigns, name))) {
  console.error(usage);
  process.exitCode = 2;
} else {
  process.exitCode = await run(names);
}

/** Answers with the exit code of the tests. */
async function run(chosen: readonly string[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-figures-'));
  const file = process.env.FAULT_FIGURES ?? join(folder, 'figures.jsonl');
  const filters =
    chosen.length === 0 ? [...Object.values(campaigns).flat()] : chosen.flatMap((name) => campaigns[name] ?? []);
  const already = figuresIn(file).length;
  const only = process.env.FAULT_TEST === undefined ? [] : ['--testNamePattern', process.env.FAULT_TEST];
  Object.assign(process.env, { FAULTS: 'all', FAULT_FIGURES: file });
  const child = spawn(process.execPath, ['test/run.ts', ...new Set(filters), ...only], {
    cwd: root,
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, 'exit')) as [number | null];
  console.log(tableOf(figuresIn(file).slice(already)));
  await rm(folder, { recursive: true, force: true });
  return code ?? 1;
}

function figuresIn(file: string): Figures[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Figures);
}

function tableOf(figures: readonly Figures[]): string {
  const table = new Table({
    head: ['campaign', 'queues in', 'what', 'seconds', 'oracle'],
    style: { head: [], border: [] },
  });
  for (const { campaign, backend, what, seconds } of figures) table.push([campaign, backend, what, seconds, 'held']);
  return table.toString();
}
