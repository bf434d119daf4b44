import type { MissingTexts } from '../completeness/gaps/unread-comparisons.ts';
import type { TargetKind } from '../inbox/targets.ts';
import type { SendState } from '../ledger/send.ts';
import { toType } from '../shared/command-name.ts';

/** The display names of the kinds of target. */
export const streamNames: Readonly<Record<TargetKind, string>> = {
  thread: 'Texts',
  call: 'Calls',
  recordings: 'Recordings',
  transcripts: 'Transcripts',
  users: 'Users',
  lines: 'Lines',
};

/** The state of missing unread texts, in words. */
export function missingTextWords({ state, wasSearched }: Pick<MissingTexts, 'state' | 'wasSearched'>): string {
  switch (state) {
    case 'behind':
      return 'being searched for';
    case 'unexplained':
      return 'not found: a possible gap';
    case 'older':
      return wasSearched
        ? `older than this mirror, and no caller or contact wrote them: ${toType('backfill threads --numbers FILE')} searches further numbers`
        : `older than this mirror: ${toType('backfill threads')} may find them`;
  }
}

/** The states of sends, in words. */
export const sendStateNames: Readonly<Record<SendState, string>> = {
  PLANNED: 'planned',
  HELD: 'held',
  RESERVED: 'reserved',
  DISPATCHED: 'in progress',
  UNKNOWN: 'outcome unknown, being reconciled',
  NEEDS_HUMAN: 'need manual review',
  SENT: 'sent',
  SKIPPED: 'skipped by the service',
  REJECTED: 'refused by the service',
  NOT_SENT: 'not sent, retries failed',
  DENIED: 'refused by a gate',
  EXPIRED: 'expired',
};

const steps = [
  { seconds: 86_400, unit: 'd' },
  { seconds: 3_600, unit: 'h' },
  { seconds: 60, unit: 'min' },
] as const;

/** A duration in its largest unit, rounded down: `4 s`, `12 min`, `3 h`, `2 d`. */
export function span(seconds: number): string {
  const step = steps.find((each) => seconds >= each.seconds);
  return step ? `${Math.floor(seconds / step.seconds)} ${step.unit}` : `${Math.max(0, Math.floor(seconds))} s`;
}

/** A time relative to another: `just now`, `4 s ago`, `in 3 min`. */
export function ago(moment: Date, from: Date): string {
  const seconds = (from.getTime() - moment.getTime()) / 1_000;
  if (Math.abs(seconds) < 1) return 'just now';
  return seconds > 0 ? `${span(seconds)} ago` : `in ${span(-seconds)}`;
}

/** A count with thousands separators. */
export function quantity(count: number): string {
  return count.toLocaleString('en');
}

/** A count and its noun: `1 read`, `2,000 reads`. */
export function countOf(count: number, noun: string): string {
  return `${quantity(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Date and time in full, in the operator's zone. */
export function exactly(moment: Date, timeZone: string): string {
  return moment.toLocaleString('en-GB', { timeZone, dateStyle: 'medium', timeStyle: 'long' });
}

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * A time to the second in a zone, with its offset from UTC, in a form that commands accept: `2026-11-21 14:03:22-05:00`. Times
 * in UTC end with Z.
 */
export function toTheSecond(moment: Date, timeZone: string): string {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en-CA', {
      ...{ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' },
      ...{ hourCycle: 'h23', timeZone, timeZoneName: 'longOffset' },
    });
  formats.set(timeZone, format);
  const [date, time, offset = ''] = format.format(moment).split(/,? /);
  // Releases of ICU name UTC itself GMT or GMT+00:00.
  return `${date} ${time}${offset.replace(/^GMT(\+00:00$)?/, '') || 'Z'}`;
}

/** Marks the dry-run part of a count: those texts were not sent. */
export function simulatedWords(simulated = 0, count: number): string {
  if (simulated === 0) return '';
  return simulated === count ? ' (dry-run)' : ` (${quantity(simulated)} dry-run)`;
}

/** Formats micro-dollars: `$1.23`. */
export function dollars(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(2)}`;
}
