import { normalizeNumber } from '../../numbers.ts';

/** What stands in a text where an erased number stood. */
export const erasedMark = '[erased]';

/** Shorter runs of digits are extensions and short codes, which name no one; E.164 allows fifteen. */
export const shortestNumber = 7;
export const longestNumber = 15;

/** What people put between the digits of a number. */
const between = /^[\s().+/-]{1,3}$/;

interface Mention {
  readonly number: string;
  readonly from: number;
  readonly to: number;
}

/** Every phone number that a text may mention, however it is written, normalised. */
export function numbersMentioned(text: string): string[] {
  return mentionsIn(text).map(({ number }) => number);
}

/** The text with every mention of certain numbers replaced; the same text when it has none. */
export function withoutNumbers(text: string, isErased: (number: string) => boolean): string {
  let kept = '';
  let at = 0;
  for (const { number, from, to } of mentionsIn(text)) {
    if (from < at || !isErased(number)) continue;
    kept += text.slice(at, from) + erasedMark;
    at = to;
  }
  return at === 0 ? text : kept + text.slice(at);
}

/**
 * The mentions of a number as a regular expression of Postgres: a number that is found by one of the two is found by the
 * other.
 */
export function mentionPattern(number: string): string {
  const national = nationalOf(number);
  const forms = national === number ? written(number) : `(?:${written(number)}|${written(national)})`;
  return `[+(]{0,2}(?<![0-9])${forms}(?![0-9])`;
}

/** Matches every text that {@link mentionPattern} matches and a few more, in less than half the time. */
export function roughMentionPattern(number: string): string {
  return written(nationalOf(number));
}

function written(digits: string): string {
  return [...digits].join('[\\s().+/-]{0,3}');
}

function nationalOf(number: string): string {
  return number.length === 11 && number.startsWith('1') ? number.slice(1) : number;
}

// Runs of digits belong together in every way that their distances allow: the longest mention that begins at a place
// comes first.
function mentionsIn(text: string): Mention[] {
  const runs = [...text.matchAll(/([+(]{0,2})(\d+)/g)].map(({ 1: prefix = '', 2: digits = '', index }) => {
    const at = index + prefix.length;
    return { digits, from: index, at, to: at + digits.length };
  });
  const mentions: Mention[] = [];
  for (const [first, { from }] of runs.entries()) {
    const here: Mention[] = [];
    let digits = '';
    for (let at = first; at < runs.length; at += 1) {
      const run = runs[at];
      const previous = runs[at - 1];
      if (!run) break;
      if (at > first && previous && !between.test(text.slice(previous.to, run.at))) break;
      digits += run.digits;
      if (digits.length > longestNumber) break;
      if (digits.length >= shortestNumber) {
        here.unshift({ number: normalizeNumber(digits), from, to: run.to });
      }
    }
    mentions.push(...here);
  }
  return mentions;
}
