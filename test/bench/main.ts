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

const benches: Readonly<Record<string, Bench>> = {
  ingest,
  lag,
  reporting,
  'whole-way': wholeWay,
};

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

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    rows: { type: 'string' },
    calls: { type: 'string' },
    json: { type: 'boolean' },
    profile: { type: 'string' },
    explain: { type: 'string' },
    keep: { type: 'string' },
    in: { type: 'string' },
    help: { type: 'boolean' },
  },
});
const names = positionals.length > 0 ? positionals : Object.keys(benches);
const wrong = [
  ...names.filter((name) => !benches[name]).map((name) => `There is no bench "${name}".`),
  ...[values.rounds, values.seconds, values.calls].flatMap((text) =>
    text === undefined || /^[1-9]\d{0,4}$/.test(text) ? [] : [`"${text}" is no whole number above 0.`],
  ),
  ...(values.rows === undefined || /^[1-9]\d{3,7}$/.test(values.rows)
    ? []
    : [`"${values.rows}" is no number of rows from 1,000 to 99,999,999.`]),
  ...(values.keep !== undefined && existsSync(values.keep)
    ? [`${values.keep} is there already: name a new folder.`]
    : []),
  ...(values.in !== undefined && !existsSync(values.in) ? [`There is no folder ${values.in}.`] : []),
  ...((values.keep ?? values.in) !== undefined && names.length > 1
    ? ['Name the one bench whose databases are kept.']
    : []),
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
    await using stores = await openStores(values.in ?? values.keep);
    const found = await benches[name]?.({
      stores,
      rounds: values.rounds === undefined ? undefined : Number(values.rounds),
      seconds: values.seconds === undefined ? undefined : Number(values.seconds),
      rows: values.rows === undefined ? undefined : Number(values.rows),
      calls: values.calls === undefined ? undefined : Number(values.calls),
      profileFolder: values.profile,
      explainFile: values.explain,
      isKept: values.in !== undefined,
      progress: (text) => console.error(`${name}: ${text}`),
    });
    findings.push(...(found ?? []));
  }
  console.log(values.json ? JSON.stringify(findings, undefined, 2) : tableOf(findings));
}
