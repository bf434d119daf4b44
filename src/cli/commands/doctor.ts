import { styleText } from 'node:util';
import { SettingsError } from '../../../config/settings.ts';
import { readySettings } from '../../context.ts';
import { createLog } from '../../log.ts';
import { examine } from '../../status/doctor/examine.ts';
import { type Finding, findingsOn, isFault } from '../../status/doctor/finding.ts';
import { printable } from '../../storable.ts';
import { commandSettings } from '../environment.ts';
import { exitCodes } from '../exit.ts';

/** Prints what is wrong and its remedy; exit code 0 when nothing is, whatever notices there are. */
export async function run(options: { json?: boolean }): Promise<void> {
  const findings = await examination();
  const faults = findings.filter(isFault);
  if (options.json) console.log(JSON.stringify(findings));
  else process.stdout.write(`${report(findings, faults.length)}\n`);
  process.exitCode = faults.length === 0 ? exitCodes.done : exitCodes.failed;
}

async function examination(): Promise<Finding[]> {
  try {
    const settings = await commandSettings({ needed: ['DATABASE_URL'] });
    return await examine(readySettings(settings), createLog('silent'));
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const on = findingsOn('Settings');
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

function report(findings: readonly Finding[], faults: number): string {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  const lines = findings.flatMap((finding) => [
    `${marks[finding.level]} ${finding.subject.padEnd(width)}  ${printable(finding.sentence)}`,
    ...(finding.level === 'ok' ? [] : [`  ${' '.repeat(width)}  → ${printable(finding.cure)}`]),
  ]);
  return [...lines, '', printable(verdictOf(findings, faults))].join('\n');
}

/** What is only noticed is said again: nothing was found wrong in what was examined, which may not be all. */
function verdictOf(findings: readonly Finding[], faults: number): string {
  if (faults > 0) return `${faults} of ${findings.length} findings need you.`;
  const notices = findings.filter(({ level }) => level === 'notice').map(({ sentence }) => sentence);
  return notices.length === 0 ? 'Nothing is wrong.' : `No fault was found. Keep in mind: ${notices.join(' ')}`;
}

function styled(color: 'cyan' | 'green' | 'yellow' | 'red', mark: string): string {
  return styleText(color, mark, { stream: process.stdout });
}
