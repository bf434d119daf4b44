import Table from 'cli-table3';
import type { Spread } from './spread.ts';

/** A measured value: the median of the rounds, with how far they lie apart where that is known. */
export interface Quantity extends Spread {
  readonly name: string;
  readonly unit: string;
}

/** One line of the report. */
export interface Finding {
  readonly bench: string;
  readonly what: string;
  readonly baseline?: Quantity;
  readonly subject: Quantity;
  /** Subject against baseline, round by round. */
  readonly ratio?: Spread;
  /** Without one, the line is there to explain others. */
  readonly goal?: { readonly text: string; readonly holds: boolean };
  /** What the subject spent itself on, or what the line means. */
  readonly limits?: string;
}

export function quantity(name: string, unit: string, { median, lowest, highest }: Spread): Quantity {
  return { name, unit, median, lowest, highest };
}

/** The goal that a median must reach: the ratio's where `of` is a ratio, else the subject's. */
export function atLeast(of: Spread, limit: number, unit = ''): { text: string; holds: boolean } {
  return { text: `≥ ${limit}${unit}`, holds: of.median >= limit };
}

export function atMost(of: Spread, limit: number, unit = ''): { text: string; holds: boolean } {
  return { text: `≤ ${limit}${unit}`, holds: of.median <= limit };
}

/** The report as a table; medians with the lowest and highest round in brackets. */
export function tableOf(findings: readonly Finding[]): string {
  const table = new Table({
    head: ['bench', 'what', 'baseline', 'subject', 'ratio', 'goal', 'holds', 'what limits it'],
    colWidths: [11, 36, 27, 27, 13, 10, 7, 50],
    wordWrap: true,
    style: { head: [], border: [] },
  });
  for (const { bench, what, baseline, subject, ratio, goal, limits } of findings) {
    table.push([
      bench,
      what,
      baseline ? shown(baseline) : '',
      shown(subject),
      ratio ? range(ratio) : '',
      goal?.text ?? '',
      goal ? (goal.holds ? 'yes' : 'NO') : '',
      limits ?? '',
    ]);
  }
  return table.toString();
}

function shown(each: Quantity): string {
  return `${each.name}: ${range(each)} ${each.unit}`;
}

function range({ median, lowest, highest }: Spread): string {
  return lowest === highest ? number(median) : `${number(median)} (${number(lowest)}–${number(highest)})`;
}

function number(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', { maximumFractionDigits: digits });
}
