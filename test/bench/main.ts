import '../environment.ts';

import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ingest } from './ingest.ts';
import { lag } from './lag.ts';
import { type Finding, tableOf } from './report.ts';
import { reporting } from './reporting.ts';
import type { Bench } from './rig/rig.ts';
import { openStores } from './rig/stores.ts';
import { wholeWay } from './whole-way.ts';

const benches: Readonly<Record<string, Bench>> = { ingest, lag, reporting, 'whole-way': wholeWay };

const usage = `usage: npm run bench -- [${Object.keys(benches).join('|')}]… [--rounds N] [--seconds N] [--rows N] [--calls N]
       [--json] [--profile FOLDER] [--explain FILE] [--keep FOLDER | --in FOLDER]

Measures the goals against their baselines of the same run, round by round. Without a name, all of them.
  --rounds N        rounds of each bench (each has its own default)
  --seconds N       length of a round, where a round has a length
  --rows N          calls that reporting invents (default 200,000)
  --calls N         calls of a round of whole-way (default 4,000)
  --json            the findings as JSON on standard output
  --profile FOLDER  CPU profiles of the daemon's processes, one file each
  --explain FILE    plans of the slowest questions of reporting
  --keep FOLDER     leaves the databases in a new folder
  --in FOLDER       asks reporting's questions of the database that --keep left there, migrated up to now`;

const texts = ['rounds', 'seconds', 'rows', 'calls', 'profile', 'explain', 'keep', 'in'] as const;
type Texts = { [name in (typeof texts)[number]]?: string };
const options = Object.fromEntries(texts.map((name) => [name, { type: 'string' as const }]));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { ...options, json: { type: 'boolean' }, help: { type: 'boolean' } },
});
const { rounds, seconds, rows, calls, profile, explain, keep, in: kept } = values as Texts;
const names = positionals.length > 0 ? positionals : Object.keys(benches);
const check = (isWrong: boolean, text: string) => (isWrong ? [text] : []);
const isFolderNamed = keep !== undefined || kept !== undefined;
const wrong = [
  ...names.flatMap((name) => check(!benches[name], `There is no bench "${name}".`)),
  ...[rounds, seconds, calls].flatMap((text = '1') =>
    check(!/^[1-9]\d{0,4}$/.test(text), `"${text}" is no whole number above 0.`),
  ),
  ...check(!/^[1-9]\d{3,7}$/.test(rows ?? '1000'), `"${rows}" is no number of rows from 1,000 to 99,999,999.`),
  ...check(keep !== undefined && existsSync(keep), `${keep} is there already: name a new folder.`),
  ...check(kept !== undefined && !existsSync(kept), `There is no folder ${kept}.`),
  ...check(isFolderNamed && names.length > 1, 'Name the one bench whose databases are kept.'),
];
if (values.help || wrong.length > 0) {
  console.error([...wrong, usage].join('\n'));
  process.exitCode = values.help ? 0 : 2;
} else {
  await measure();
}

/** Exit code 0 when the benches ran, whether or not their goals hold. */
async function measure(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const findings: Finding[] = [];
  for (const name of names) {
    await using stores = await openStores(kept ?? keep);
    const found = await benches[name]?.({
      stores,
      ...{ rounds: number(rounds), seconds: number(seconds), rows: number(rows), calls: number(calls) },
      ...{ profileFolder: profile, explainFile: explain, isKept: kept !== undefined },
      progress: (text) => console.error(`${name}: ${text}`),
    });
    findings.push(...(found ?? []));
  }
  console.log(values.json ? JSON.stringify(findings, undefined, 2) : tableOf(findings));
}

function number(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}
