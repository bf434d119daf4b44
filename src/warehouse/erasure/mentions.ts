import { normalizeNumber, plainDigit } from '../../shared/numbers.ts';
import { countryCodeOf, sameNumbers, withoutTrunkPrefix } from '../../shared/phone-numbers.ts';

/*
 * One definition of how people write a phone number, in two forms. `mentionsIn` lists the candidates in a text, to compare
 * with the hashes of erased numbers. `mentionPattern` is a regular expression of Postgres for one known number.
 *
 * A mention is a sequence of whole runs of digits, at most `longestGap` separators apart, whose digits are one of the
 * spellings of the number.
 */

/** Replaces an erased number in a text. */
export const erasedMark = '[erased]';

/** Shorter numbers are extensions and short codes, which identify nobody. E.164 allows at most fifteen digits. */
const shortestNumber = 7;
const longestNumber = 15;

/** International call prefixes: most countries; North America; Australia; Japan; Russia. */
const exitCodes = ['00', '011', '0011', '010', '810'];
const longestExitCode = 4;
/** With an exit code in front, and the 0 that some people write after the country code. */
const longestSpelling = longestExitCode + longestNumber + 1;

/** A national spelling with fewer digits is too ambiguous to count as a mention. */
const shortestNational = 8;

const longestCountryCode = 3;
/** Trunk prefixes other than 0. */
const trunkPrefixes: Readonly<Record<string, string>> = { 7: '8', 36: '06', 375: '8' };

/** Digits of all scripts, including full-width, mathematical, superscript and circled ones. */
const digit = String.raw`\p{Nd}⁰¹²³⁴-⁹₀-₉①-⑨⓪`;
/**
 * Separators between two digits of a number: blanks, dashes, brackets, symbols and invisible characters. Commas, semicolons
 * and quotes are not among them: they end a value.
 */
const separator = String.raw`\s\p{Z}\p{Cc}\p{Cf}\p{Pd}\p{Pc}\p{Ps}\p{Pe}.\\/*~|:=#<>+¦¬¯°·\u0300-\u036f˗‖-⁞\u20d0-\u20ff−∕∗∘∙⋅│─■-◿➕➖➗。・ーｰ．／＊～｜：＝＃＜＞＋｡･￣\ufe00-\ufe0f`;
/** A blank as an escape in JSON. */
const escapedBlank = String.raw`\\[nrtbf]`;
/** Enough for `) – (`, and for the code points of a keycap emoji. */
const longestGap = 6;

const prefix = String.raw`[+(\[＋（]{0,2}`;
const run = new RegExp(`(${prefix})([${digit}]+)`, 'gu');
const gap = new RegExp(`^(?:${escapedBlank}|[${separator}]){1,${longestGap}}$`, 'u');
/** In UTF-16 code units: a separator has at most two. */
const longestGapLength = 2 * longestGap;

interface Mention {
  readonly number: string;
  readonly from: number;
  readonly to: number;
}

/** Every phone number that a text may mention, in any spelling, normalised. */
export function* numbersMentioned(text: string): Generator<string> {
  for (const { number } of mentionsIn(text)) yield number;
}

/** The text with every mention of an erased number replaced by {@link erasedMark}. */
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

/** Limits of {@link mayMention}: a mebibyte of single digits has seven million candidates, and each costs a hash. */
const maxCandidates = 20_000;
const maxRuns = 150_000;
const maxEscapes = 20_000;

/**
 * Whether a text may mention an erased number. Decodes the escapes of JSON, forms and XML. True for a text beyond the limits too,
 * so that it is not stored. Takes milliseconds for any text.
 */
export function mayMention(text: string, isErased: (number: string) => boolean): boolean {
  const plain = decoded(text);
  if (plain === undefined) return true;
  const judged = new Set<string>();
  const budget = { runs: maxRuns };
  let count = 0;
  for (const { number } of mentionsIn(plain, budget)) {
    count += 1;
    if (count > maxCandidates) return true;
    if (judged.has(number)) continue;
    judged.add(number);
    if (isErased(number)) return true;
  }
  return budget.runs <= 0;
}

const escaped = /\\u([0-9a-f]{4})|((?:%[0-9a-f]{2}){1,12})|&(?:nbsp|#(\d{1,7})|#x([0-9a-f]{1,6}));/gi;

/** The text with its escapes decoded; undefined when it has too many. */
function decoded(text: string): string | undefined {
  const pieces: string[] = [];
  let at = 0;
  for (const { 0: whole, 1: unit, 2: percents, 3: decimal, 4: hexadecimal, index } of text.matchAll(escaped)) {
    if (pieces.length > 2 * maxEscapes) return undefined;
    const code = Number.parseInt(unit ?? hexadecimal ?? decimal ?? '20', unit || hexadecimal || !decimal ? 16 : 10);
    const character = percents ? decodedPercents(percents) : code <= 0x10_ffff ? String.fromCodePoint(code) : ' ';
    pieces.push(text.slice(at, index), character);
    at = index + whole.length;
  }
  return at === 0 ? text : pieces.join('') + text.slice(at);
}

function decodedPercents(percents: string): string {
  try {
    return decodeURIComponent(percents);
  } catch {
    return ' ';
  }
}

/**
 * All digit sequences that mean a number, normalised: the number itself, with and without its country's digit for mobiles, with an
 * exit code, with a 0 after the country code, and in its national form. Whatever compares numbers of people compares these.
 */
export function spellingsOf(number: string): string[] {
  const spelled = formsOf(number).flatMap(({ prefixes, national }) => prefixes.map((prefix) => prefix + national));
  return [...new Set([number, ...spelled.map(normalizeNumber)])];
}

const formsOf = (number: string) => sameNumbers(number).map(partsOf);

interface Parts {
  /** The prefixes of the national number; the empty text means none. */
  readonly prefixes: readonly string[];
  readonly national: string;
}

function partsOf(number: string): Parts {
  const country = countryCodeOf(number);
  const national = number.slice(country.length);
  if (number.length < shortestNational || number.startsWith('0')) return { prefixes: [''], national: number };
  const trunk = withoutTrunkPrefix.has(country) ? '' : (trunkPrefixes[country] ?? '0');
  const international = trunk === '0' ? [country, `${country}0`] : [country];
  const abroad = ['', ...exitCodes].flatMap((exitCode) => international.map((code) => exitCode + code));
  // The service reads ten digits as a North American number, and so are eleven that begin with 1.
  const isNorthAmerican = country === '1' && national.length === 10;
  const local = trunk + national;
  const isSpelledAlone =
    isNorthAmerican || (local.length >= shortestNational && !/^(?:1\d{10}|[2-9]\d{9})$/.test(local));
  return { prefixes: isSpelledAlone ? [...abroad, trunk] : abroad, national };
}

/**
 * A regular expression of Postgres for the mentions of a number. It finds exactly the mentions that {@link numbersMentioned}
 * finds for the number's {@link spellingsOf}.
 */
export function mentionPattern(number: string): string {
  const { gap, digits } = postgresClasses();
  const written = (text: string) => [...text].map((each) => digits[Number(each)]);
  const before = (prefix: string) => written(prefix).map((each) => each + gap);
  const forms = formsOf(number).map(
    ({ prefixes, national }) =>
      `(?:${prefixes.map((each) => before(each).join('')).join('|')})${written(national).join(gap)}`,
  );
  const anyDigit = `[${digits.map((each) => each.slice(1, -1)).join('')}]`;
  const otherCode = `[+＋]${anyDigit}{1,${longestCountryCode}}${gap}`;
  return `${prefix}(?<!${anyDigit})(?<!${otherCode})(?:${forms.join('|')})(?!${anyDigit})`;
}

/** Matches every text that {@link mentionPattern} matches and a few more, twenty times as fast. */
export function roughMentionPattern(number: string): string {
  return nationalDigits(number, roughGap);
}

/** Every spelling ends with these digits. */
function nationalDigits(number: string, gap: string): string {
  const { digits } = postgresClasses();
  return formsOf(number)
    .map(({ national }) => [...national].map((each) => digits[Number(each)] ?? each).join(gap))
    .join('|');
}

/** Anything but digits, value ends and letters; the letters of `escapedBlank` may occur. */
const roughGap = '[^0-9A-Zac-eg-mo-qsu-z,;]*';

interface PostgresClasses {
  readonly gap: string;
  /** Ten bracket expressions, one for each digit. */
  readonly digits: readonly string[];
}

let classes: PostgresClasses | undefined;

/** Postgres has no Unicode classes, so they are written as ranges. Built on first use: only an erasure needs them. */
function postgresClasses(): PostgresClasses {
  if (classes) return classes;
  const isDigit = new RegExp(`[${digit}]`, 'u');
  const isSeparator = new RegExp(`[${separator}]`, 'u');
  const digits = Array.from({ length: 10 }, () => [] as number[]);
  const separators: number[] = [];
  for (let code = 1; code <= 0xe_01ff; code += 1) {
    if (code === 0xd800) code = 0xe000;
    // Skips planes of ideographs and unassigned planes.
    if (code === 0x2_0000) code = 0xe_0000;
    const character = String.fromCodePoint(code);
    if (isSeparator.test(character)) separators.push(code);
    else if (isDigit.test(character)) digits[Number(plainDigit(character))]?.push(code);
  }
  classes = {
    gap: `(?:${escapedBlank}|[${rangesOf(separators)}]){0,${longestGap}}`,
    digits: digits.map((codes) => `[${rangesOf(codes)}]`),
  };
  return classes;
}

function rangesOf(codes: readonly number[]): string {
  const written = (code: number) => `\\U${code.toString(16).padStart(8, '0')}`;
  const ranges: [number, number][] = [];
  for (const code of codes) {
    const last = ranges.at(-1);
    if (last && last[1] === code - 1) last[1] = code;
    else ranges.push([code, code]);
  }
  return ranges
    .map(([first, last]) => (first === last ? written(first) : `${written(first)}-${written(last)}`))
    .join('');
}

// Yields every combination of neighbouring runs, the longest of each start first. A run after a plus and a country code
// belongs to that country, so no mention starts there. Reads ahead no further than the longest spelling.
function* mentionsIn(text: string, budget = { runs: Number.POSITIVE_INFINITY }): Generator<Mention> {
  const runs = runsIn(text);
  const ahead: Run[] = [];
  let isEnded = false;
  const runAt = (at: number): Run | undefined => {
    while (ahead.length <= at && !isEnded) {
      const { value, done } = runs.next();
      budget.runs -= 1;
      if (done || budget.runs <= 0) isEnded = true;
      else ahead.push(value);
    }
    return ahead[at];
  };
  let before: Run | undefined;
  for (let first = runAt(0); first; first = runAt(0)) {
    const isBehindCode = before?.isCountryCode === true && isGap(text, before.to, first.at);
    if (!isBehindCode) yield* mentionsFrom(text, first, runAt);
    before = ahead.shift();
  }
}

function mentionsFrom(text: string, first: Run, runAt: (at: number) => Run | undefined): Mention[] {
  const mentions: Mention[] = [];
  let digits = '';
  let last = first;
  for (let at = 0; ; at += 1) {
    const next = runAt(at);
    if (!next || digits.length + next.length > longestSpelling) break;
    if (at > 0 && !isGap(text, last.to, next.at)) break;
    digits += plainDigits(text.slice(next.at, next.to));
    last = next;
    if (digits.length < shortestNumber) continue;
    mentions.push({ number: normalizeNumber(digits), from: first.from, to: last.to });
  }
  return mentions.reverse();
}

interface Run {
  /** Its start, including a plus or bracket in front. */
  readonly from: number;
  readonly at: number;
  readonly to: number;
  /** Number of digits; an upper bound when the run is too long for any number. */
  readonly length: number;
  /** It follows a plus, and is no longer than a country code. */
  readonly isCountryCode: boolean;
}

function* runsIn(text: string): Generator<Run> {
  for (const { 0: whole, 1: prefix = '', 2: digits = '', index } of text.matchAll(run)) {
    const at = index + prefix.length;
    const length = digits.length > 2 * longestSpelling ? digits.length : [...digits].length;
    const isCountryCode = length <= longestCountryCode && /[+＋]$/.test(prefix);
    yield { from: index, at, to: index + whole.length, length, isCountryCode };
  }
}

function isGap(text: string, from: number, to: number): boolean {
  return to - from <= longestGapLength && gap.test(text.slice(from, to));
}

const asciiDigits = /^[0-9]*$/;
const anyDigit = new RegExp(`[${digit}]`, 'gu');

/** The digits of a text in ASCII, whatever their script. */
function plainDigits(text: string): string {
  return asciiDigits.test(text) ? text : (text.match(anyDigit) ?? []).map(plainDigit).join('');
}
