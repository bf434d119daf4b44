import type { CallSummary } from '../../service/entities/call.ts';
import { momentOf } from '../../warehouse/entities/calls/held-call.ts';

/** A range of time in Unix seconds; the end is exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export const hour = 3_600;

/** The begin of the hour, UTC, that a moment lies in. */
export function hourOf(seconds: number): number {
  return Math.floor(seconds / hour) * hour;
}

/** The begins of all hours that a span touches. */
export function hoursOf({ from, to }: Span): number[] {
  const first = hourOf(from);
  return Array.from({ length: Math.max(0, Math.ceil((to - first) / hour)) }, (_, at) => first + at * hour);
}

/** Joins neighbouring hours into spans of at most so many hours, in ascending order. */
export function joinHours(hours: readonly number[], most: number): Span[] {
  const spans: { from: number; to: number }[] = [];
  for (const begin of [...hours].sort((a, b) => a - b)) {
    const last = spans.at(-1);
    if (last && last.to === begin && last.to - last.from < most * hour) last.to += hour;
    else spans.push({ from: begin, to: begin + hour });
  }
  return spans;
}

/** Two spans that make up one; undefined when it is a single second. */
export function halves({ from, to }: Span): [Span, Span] | undefined {
  const middle = from + Math.floor((to - from) / 2);
  return middle === from
    ? undefined
    : [
        { from, to: middle },
        { from: middle, to },
      ];
}

/** When a call began, in Unix seconds: its id says so too (section 2.9). */
export function secondOf(call: Pick<CallSummary, 'id' | 'startTime'>): number {
  const at = call.startTime === undefined ? Number.NaN : Date.parse(call.startTime);
  return Math.floor((Number.isNaN(at) ? momentOf(call.id).getTime() : at) / 1_000);
}
