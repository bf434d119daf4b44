import { styleText } from 'node:util';
import { SettingsError } from '../../config/settings.ts';
import { readySettings } from '../context.ts';
import { type Diagnosis, diagnose, diagnosesOf, isFault } from '../ops/doctor.ts';
import { toType } from '../shared/command-name.ts';
import { createLog } from '../shared/log.ts';
import { printable } from '../shared/storable.ts';
import { commandSettings } from './environment.ts';
import { exitCodes } from './failures.ts';
import { labelled } from './output.ts';

/** Prints every fault with its remedy. Exit code 0 if there is none; notices don't count. */
export async function run(options: { json?: boolean }): Promise<void> {
  const diagnoses = await diagnoseAll();
  const faults = diagnoses.filter(isFault);
  if (options.json) console.log(JSON.stringify(diagnoses));
  else process.stdout.write(`${report(diagnoses, faults.length)}\n`);
  process.exitCode = faults.length === 0 ? exitCodes.done : exitCodes.failed;
}

async function diagnoseAll(): Promise<Diagnosis[]> {
  try {
    const settings = await commandSettings({ needed: ['DATABASE_URL'] });
    return await diagnose(readySettings(settings), createLog('silent'));
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const on = diagnosesOf('Settings');
    return error.problems.map((problem) =>
      on.problem(problem.endsWith('.') ? problem : `${problem}.`, `${toType('settings')} lists every variable.`),
    );
  }
}

const marks = {
  ok: styled('green', '✓'),
  notice: styled('cyan', 'i'),
  warning: styled('yellow', '!'),
  problem: styled('red', '✗'),
} as const;

function report(diagnoses: readonly Diagnosis[], faults: number): string {
  const width = Math.max(...diagnoses.map(({ subject }) => subject.length));
  const lines = diagnoses.flatMap((each) => [
    // The mark contains styling, so its length isn't its width.
    `${marks[each.level]}${labelled(`  ${each.subject.padEnd(width)}`, printable(each.sentence)).slice(1)}`,
    ...(each.level === 'ok' ? [] : [labelled(' '.repeat(width + 2), `→ ${printable(each.remedy)}`)]),
  ]);
  return [...lines, '', printable(verdictOf(diagnoses, faults))].join('\n');
}

/** Repeats the notices, because they may limit what was checked. */
function verdictOf(diagnoses: readonly Diagnosis[], faults: number): string {
  if (faults > 0) return `${faults} of ${diagnoses.length} checks found a fault.`;
  const notices = diagnoses.filter(({ level }) => level === 'notice').map(({ sentence }) => sentence);
  return notices.length === 0 ? 'No fault was found.' : `No fault was found. Note: ${notices.join(' ')}`;
}

function styled(color: 'cyan' | 'green' | 'yellow' | 'red', mark: string): string {
  return styleText(color, mark, { stream: process.stdout });
}
