import { styleText } from 'node:util';
import type { Command } from 'commander';
import { SettingsError } from '../../config/settings.ts';
import { readySettings } from '../context.ts';
import { type Diagnosis, diagnose, diagnosesOf, isFault } from '../ops/doctor.ts';
import { withCure } from '../ops/health-checks.ts';
import { createLog } from '../shared/log.ts';
import { printable } from '../shared/storable.ts';
import { jsonFlag } from './arguments.ts';
import { commandSettings } from './environment.ts';
import { exitCodes, runCommand } from './failures.ts';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('Checks settings, stores, API and webhooks, and says what to do about each fault.')
    .option(...jsonFlag)
    .action((options) => runCommand(() => run(options)));
}

/** Prints every fault with its remedy. Exit code 0 when there is none, regardless of notices. */
export async function run(options: { json?: boolean }): Promise<void> {
  const findings = await examination();
  const faults = findings.filter(isFault);
  if (options.json) console.log(JSON.stringify(withCure(findings)));
  else process.stdout.write(`${report(findings, faults.length)}\n`);
  process.exitCode = faults.length === 0 ? exitCodes.done : exitCodes.failed;
}

async function examination(): Promise<Diagnosis[]> {
  try {
    const settings = await commandSettings({ needed: ['DATABASE_URL'] });
    return await diagnose(readySettings(settings), createLog('silent'));
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const on = diagnosesOf('Settings');
    return error.problems.map((problem) =>
      on.problem(problem.endsWith('.') ? problem : `${problem}.`, '`trunkline settings` lists every variable.'),
    );
  }
}

const marks = {
  ok: styled('green', '✓'),
  notice: styled('cyan', 'i'),
  warning: styled('yellow', '!'),
  problem: styled('red', '✗'),
} as const;

function report(findings: readonly Diagnosis[], faults: number): string {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  const lines = findings.flatMap((finding) => [
    `${marks[finding.level]} ${finding.subject.padEnd(width)}  ${printable(finding.sentence)}`,
    ...(finding.level === 'ok' ? [] : [`  ${' '.repeat(width)}  → ${printable(finding.remedy)}`]),
  ]);
  return [...lines, '', printable(verdictOf(findings, faults))].join('\n');
}

/** Repeats the notices: they may limit what was checked. */
function verdictOf(findings: readonly Diagnosis[], faults: number): string {
  if (faults > 0) return `${faults} of ${findings.length} findings need you.`;
  const notices = findings.filter(({ level }) => level === 'notice').map(({ sentence }) => sentence);
  return notices.length === 0 ? 'Nothing is wrong.' : `No fault was found. Keep in mind: ${notices.join(' ')}`;
}

function styled(color: 'cyan' | 'green' | 'yellow' | 'red', mark: string): string {
  return styleText(color, mark, { stream: process.stdout });
}
