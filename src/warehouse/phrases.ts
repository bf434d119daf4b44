import { readFileSync } from 'node:fs';

/*
 * Matches texts written by strangers in linear time. Avoids regular expressions that can backtrack, and Unicode
 * normalization of a whole text, which sorts a run of combining marks in quadratic time.
 */

/**
 * Unicode normalization is quadratic in the length of a run of combining marks, so it gets at most this many characters
 * at once.
 */
const pieceLength = 256;

/** `text.normalize(form)` in linear time. A character that is split between two pieces may stay as it is. */
export function normalize(text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string {
  if (text.length <= pieceLength) return text.normalize(form);
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + pieceLength);
    // Don't split a surrogate pair.
    if (to < text.length && /[\ud800-\udbff]/.test(text[to - 1] ?? '')) to -= 1;
    pieces.push(text.slice(from, to).normalize(form));
    from = to;
  }
  return pieces.join('');
}

const letters: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', ø: 'o', ł: 'l', đ: 'd', ı: 'i', œ: 'oe', æ: 'ae' },
  ...{ װ: 'וו', ױ: 'וי', ײ: 'יי' },
};

/**
 * The words of a text for comparison: lower case, without accents, vowel points, apostrophes, punctuation and invisible
 * characters, with a space around each word, number and emoji. Takes linear time.
 */
export function foldText(text: string): string {
  const plain = normalize(text.replace(/['’‘ʼ`´＇׳]/g, ''), 'NFKD')
    .toLowerCase()
    // Accents, vowel points of Hebrew and Arabic, and emoji modifiers.
    .replace(
      /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670\p{Cf}\p{Me}\p{Variation_Selector}]/gu,
      '',
    )
    .replace(/[ßøłđıœæװױײ]/g, (letter) => letters[letter] ?? letter)
    .replace(/\p{Extended_Pictographic}/gu, ' $& ')
    .replace(/[^\p{L}\p{M}\p{N}\p{Extended_Pictographic}]+/gu, ' ')
    // Splits "stop2quit".
    .replace(/(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/gu, ' ')
    .trim();
  return ` ${plain} `;
}

/**
 * Returns a function that tests whether a folded text ({@link foldText}) contains any of the phrases. A phrase matches whole
 * words; `*` at one end lets it match within a word there. Throws for a phrase without a word, and for `*` elsewhere. At each
 * word of the text only the phrases that begin with it are compared, so the time is linear in the text.
 */
export function createPhraseSearch(phrases: readonly string[]): (folded: string) => boolean {
  const {
    anywhere = [],
    beginnings = [],
    words = [],
  } = Object.groupBy(phrases.map(soughtIn), (sought) => {
    if (!sought.startsWith(' ')) return 'anywhere';
    return sought.includes(' ', 1) ? 'words' : 'beginnings';
  });
  const byWord = Map.groupBy(words, (sought) => sought.slice(0, sought.indexOf(' ', 1)));
  return (text) => {
    if (anywhere.some((each) => text.includes(each))) return true;
    for (let at = 0, end = 0; end >= 0; at = end) {
      end = text.indexOf(' ', at + 1);
      const isHere = (sought: string) => text.startsWith(sought, at);
      if (beginnings.some(isHere) || byWord.get(text.slice(at, end))?.some(isHere)) return true;
    }
    return false;
  };
}

function soughtIn(phrase: string): string {
  const [, starBefore = '', words = '', starAfter = ''] = /^(\*?)([^*]+)(\*?)$/.exec(phrase) ?? [];
  // Folding thousands of plain phrases would take half a second.
  const folded = /^[a-z ]+$/.test(words) ? words : foldText(words).trim();
  if (folded === '') throw new Error(`Not a phrase: ${phrase}`);
  return `${starBefore === '' ? ' ' : ''}${folded}${starAfter === '' ? ' ' : ''}`;
}

/** The phrases of a text file, one a line, with their alternatives (`[a|b]`) expanded. Lines with `#` are comments. */
export function readPhrases(file: URL): readonly string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap(expand);
}

function expand(phrase: string): string[] {
  const [, before = '', choices, after = ''] = /^([^[]*)\[([^\]]*)\](.*)$/.exec(phrase) ?? [];
  if (choices === undefined) return [phrase];
  return choices.split('|').flatMap((choice) => expand(`${before}${choice}${after}`));
}
