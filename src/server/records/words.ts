/** A duration: `34 s`, `2 min 5 s`, `1 h 2 min`. A dash if unknown. */
export function lengthOf(seconds: number | null): string {
  if (seconds === null) return '–';
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  if (hours > 0) return minutes > 0 ? `${hours} h ${minutes} min` : `${hours} h`;
  const rest = Math.round(seconds % 60);
  if (minutes === 0) return `${rest} s`;
  return rest > 0 ? `${minutes} min ${rest} s` : `${minutes} min`;
}

/** A party as people know it: `Ada Berg (208)`. Undefined if neither name nor number is reported. */
export function partyOf(name: string | null, number: string | null): string | undefined {
  if (name === null || name === number) return number ?? undefined;
  return number === null ? name : `${name} (${number})`;
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
