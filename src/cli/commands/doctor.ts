import { styleText } from 'node:util';
import { SettingsError } from '../../../config/settings.ts';
import { readySettings } from '../../context.ts';
import { createLog } from '../../log.ts';
import { examine } from '../../status/doctor/examine.ts';
import { type Finding, findingsOn } from '../../status/doctor/finding.ts';
import { commandSettings } from '../environment.ts';
import { exitCodes } from '../exit.ts';

/** Prints what is wrong and its cure; exit code 0 when nothing is. */
export async function run(options: { json?: boolean }): Promise<void> {
  const findings = await examination();
  const faults = findings.filter(({ level }) => level !== 'ok');
  console.log(options.json ? JSON.stringify(findings) : report(findings, faults.length));
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

const marks = { ok: styled('green', '✓'), warning: styled('yellow', '!'), problem: styled('red', '✗') } as const;

function report(findings: readonly Finding[], faults: number): string {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  const lines = findings.flatMap((finding) => [
    `${marks[finding.level]} ${finding.subject.padEnd(width)}  ${finding.sentence}`,
    ...(finding.level === 'ok' ? [] : [`  ${' '.repeat(width)}  → ${finding.cure}`]),
  ]);
  const verdict = faults === 0 ? 'Nothing is wrong.' : `${faults} of ${findings.length} findings need you.`;
  return [...lines, '', verdict].join('\n');
}

function styled(color: 'green' | 'yellow' | 'red', mark: string): string {
  return styleText(color, mark, { stream: process.stdout });
}
