import { styleText } from 'node:util';
import { SettingsError } from '../../config/settings.ts';
import { type Diagnosis, diagnose, isFault } from '../checks/doctor.ts';
import { readySettings } from '../context.ts';
import { toType } from '../shared/command-name.ts';
import { createLog } from '../shared/log.ts';
import { printable } from '../shared/storable.ts';
import { commandSettings } from './environment.ts';
import { exitCodes } from './failures.ts';
import { labelled } from './output.ts';

/** Prints every fault with its remedy. Exit code 0 if there is none; notices don't count. */
export async function run(options: { json?: boolean }): Promise<void> {
  const diagnoses = await diagnoseAll();
  const faults = diagnoses.filter(isFault).length;
  process.stdout.write(`${options.json ? JSON.stringify(diagnoses) : report(diagnoses, faults)}\n`);
  process.exitCode = faults === 0 ? exitCodes.done : exitCodes.failed;
}

async function diagnoseAll(): Promise<Diagnosis[]> {
  try {
    const settings = await commandSettings({ needed: ['DATABASE_URL'] });
    return await diagnose(readySettings(settings), createLog('silent'));
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const remedy = `${toType('settings')} lists every variable.`;
    return error.problems.map((problem) => ({
      ...{ level: 'problem', subject: 'Settings', remedy },
      sentence: problem.endsWith('.') ? problem : `${problem}.`,
    }));
  }
}

const marks = { ok: ['green', '✓'], notice: ['cyan', 'i'], warning: ['yellow', '!'], problem: ['red', '✗'] } as const;

function report(diagnoses: readonly Diagnosis[], faults: number): string {
  const width = Math.max(...diagnoses.map(({ subject }) => subject.length));
  const lines = diagnoses.flatMap(({ level, subject, sentence, remedy }) => {
    const [color, mark] = marks[level];
    // The mark contains styling, so its length isn't its width.
    const line = labelled(`  ${subject.padEnd(width)}`, printable(sentence)).slice(1);
    const advice = remedy === undefined ? [] : [labelled(' '.repeat(width + 2), `→ ${printable(remedy)}`)];
    return [styleText(color, mark, { stream: process.stdout }) + line, ...advice];
  });
  // Notices are repeated, because they may limit what was checked.
  const notices = diagnoses.filter(({ level }) => level === 'notice').map(({ sentence }) => sentence);
  const note = notices.length === 0 ? '' : ` Note: ${notices.join(' ')}`;
  const verdict = faults > 0 ? `${faults} of ${diagnoses.length} checks found a fault.` : `No fault was found.${note}`;
  return [...lines, '', printable(verdict)].join('\n');
}
