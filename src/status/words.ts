import type { TargetKind } from '../inbox/target.ts';
import type { MissingTexts } from '../sync/evidence/missing.ts';

/** What people call the kinds of target. */
export const streamNames: Readonly<Record<TargetKind, string>> = {
  thread: 'Texts',
  call: 'Calls',
  recordings: 'Recordings',
  transcripts: 'Transcripts',
  users: 'Users',
  lines: 'Lines',
};

/** What becomes of texts that a line counts as unread, and that are not held. */
export const fatesOfTexts: Readonly<Record<MissingTexts['state'], string>> = {
  behind: 'looked for',
  unexplained: 'cannot be found, a possible gap',
  older: 'from before this mirror, which “backfill threads” may find',
};

const steps = [
  { seconds: 86_400, unit: 'd' },
  { seconds: 3_600, unit: 'h' },
  { seconds: 60, unit: 'min' },
] as const;

/** A length of time in its largest unit, rounded down: `4 s`, `12 min`, `3 h`, `2 d`. */
export function span(seconds: number): string {
  const step = steps.find((each) => seconds >= each.seconds);
  return step ? `${Math.floor(seconds / step.seconds)} ${step.unit}` : `${Math.max(0, Math.floor(seconds))} s`;
}

/** A moment seen from another: `now`, `4 s ago`, `in 3 min`. */
export function ago(moment: Date, from: Date): string {
  const seconds = (from.getTime() - moment.getTime()) / 1_000;
  if (Math.abs(seconds) < 1) return 'just now';
  return seconds > 0 ? `${span(seconds)} ago` : `in ${span(-seconds)}`;
}

/** A count with its thousands apart. */
export function quantity(count: number): string {
  return count.toLocaleString('en');
}

/** A count and its noun: `1 read`, `2,000 reads`. */
export function countOf(count: number, noun: string): string {
  return `${quantity(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** A moment in full, in the operator's zone. */
export function exactly(moment: Date, timeZone: string): string {
  return moment.toLocaleString('en-GB', { timeZone, dateStyle: 'medium', timeStyle: 'long' });
}

/** A moment in UTC to the second, as it may be given to a command again. */
export function toTheSecond(moment: Date): string {
  return moment.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** The time of day alone. */
export function timeOfDay(moment: Date, timeZone: string): string {
  return moment.toLocaleTimeString('en-GB', { timeZone });
}
