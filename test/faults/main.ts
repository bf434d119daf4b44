import '../environment.ts';

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import type { Figures } from './figures.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ending = '.test.ts';

/** Each file of `long/` is a campaign of its name; the model of the ledger belongs to `ledger`. */
const campaigns = readdirSync(new URL('long/', import.meta.url)).map((file) => file.slice(0, -ending.length));
const filesOf = (name: string) => [
  `test/faults/long/${name}${ending}`,
  ...(name === 'ledger' ? ['test/ledger/model.all.test.ts'] : []),
];

const usage = `usage: npm run faults -- [${campaigns.join('|')}]…

Breaks whole deployments, and checks that nothing is lost and nothing doubled. Without a name, everything, in full size.
  FAULT_SEED=N       repeats the draws of a run
  FAULT_SHARE=0.05   makes campaigns smaller
  FAULT_TEST=PATTERN runs only the tests whose full name matches
  FAULT_FIGURES=FILE also writes the figures, one JSON object a line`;

const names = process.argv.slice(2);
if (names.every((name) => campaigns.includes(name))) process.exitCode = await run(names);
else {
  console.error(usage);
  process.exitCode = 2;
}

/** Answers with the exit code of the tests. */
async function run(chosen: readonly string[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-figures-'));
  const file = process.env.FAULT_FIGURES ?? join(folder, 'figures.jsonl');
  const already = figuresIn(file).length;
  const filters = new Set((chosen.length === 0 ? campaigns : chosen).flatMap(filesOf));
  const only = process.env.FAULT_TEST === undefined ? [] : ['--testNamePattern', process.env.FAULT_TEST];
  Object.assign(process.env, { FAULTS: 'all', FAULT_FIGURES: file });
  const child = spawn(process.execPath, ['test/run.ts', ...filters, ...only], { cwd: root, stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, 'exit')) as [number | null];
  const table = new Table({ head: ['campaign', 'queues in', 'what', 'seconds'], style: { head: [], border: [] } });
  for (const { campaign, backend, what, seconds } of figuresIn(file).slice(already)) {
    table.push([campaign, backend, what, seconds]);
  }
  console.log(`The oracle held for:\n${table}`);
  await rm(folder, { recursive: true, force: true });
  return code ?? 1;
}

function figuresIn(file: string): Figures[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Figures);
}
