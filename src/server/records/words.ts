import type { LinkSealer } from '../../warehouse/links.ts';
import type { View } from './view.ts';

/** Fields of one type, of a row. */
export type Fields<Names extends string, Type> = Readonly<Record<Names, Type>>;

/** How a page shows recordings and files. */
export interface Showing {
  readonly view: View;
  /** Opens their links. Undefined: they can't be played. */
  readonly sealer: LinkSealer | undefined;
}

/** A duration: `34 s`, `2 min 5 s`, `1 h 2 min`. A dash if unknown. */
export function lengthOf(seconds: number | null): string {
  if (seconds === null) return '–';
  const whole = Math.round(seconds);
  const units = [`${Math.floor(whole / 3_600)} h`, `${Math.floor(whole / 60) % 60} min`, `${whole % 60} s`];
  const parts = units.filter((each) => !each.startsWith('0 '));
  return parts.slice(0, 2).join(' ') || '0 s';
}

/** A party as people know it: `Ada Berg (208)`. Undefined if neither name nor number is reported. */
export function partyOf(name: string | null, number: string | null): string | undefined {
  if (!name || name === number) return number || undefined;
  return number ? `${name} (${number})` : name;
}

/** How a call ended, in words. */
export const outcomeWords: Readonly<Record<string, string>> = {
  answered: 'answered',
  voicemail: 'ended in a mailbox',
  short_abandoned: 'given up at once',
  abandoned: 'given up by the caller',
  missed: 'not answered',
  unknown: 'outcome not reported',
};
