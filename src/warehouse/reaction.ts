import { foldText, readPhrases } from './phrases.ts';

/** The longest words around a quotation, and around a thing. */
const maxLength = 100;
/** The sign that ends a quotation, by the one that begins it. */
const ends: Readonly<Record<string, string>> = {
  ...{ '“': '”', '”': '”', '„': '“”', '"': '"', '«': '»', '»': '«', '「': '」', '『': '』', '‘': '’', "'": "'" },
};
const anyEmoji = /\p{Extended_Pictographic}|\p{Regional_Indicator}|[0-9#*]\ufe0f?\u20e3/gu;

/** The words of a form, with each run of emoji as one 👍. */
const wordsOf = (text: string) =>
  foldText(text.replace(anyEmoji, '👍'))
    .replace(/(?:👍 )+/gu, '👍 ')
    .trim();

/**
 * What a reaction to a text quotes (reactions.txt): empty for an image. Undefined for a text that is no reaction.
 * `isBare`: an emoji stands right before the quotation, as people write it too. Pure, and linear in the length of the
 * text.
 */
export function reactionIn(text: string): { readonly quoted: string; readonly isBare: boolean } | undefined {
  known ??= readKnown();
  const words = text.length > maxLength ? '' : wordsOf(text);
  const thing = known.things.find((each) => words.endsWith(` ${each}`)) ?? words;
  const [before, quoted, after] = splitAtQuotation(text) ?? [words.slice(0, -thing.length), '', ''];
  const form = [before, after].map(wordsOf).join('…');
  const isBare = quoted !== '' && form === '👍…';
  return isBare || known.forms.has(form) ? { quoted, isBare } : undefined;
}

let known: { readonly forms: ReadonlySet<string>; readonly things: readonly string[] } | undefined;

function readKnown() {
  const phrases = readPhrases(new URL('reactions.txt', import.meta.url));
  const [forms, things] = [true, false].map((isForm) => phrases.filter((each) => each.includes('…') === isForm));
  return {
    forms: new Set(forms?.map((form) => form.split('…').map(wordsOf).join('…'))),
    things: things?.map(wordsOf) ?? [],
  };
}

/** The texts before, in and after the only quotation of a text; undefined if there is none or another one. */
function splitAtQuotation(text: string): [before: string, quoted: string, after: string] | undefined {
  const start = text.search(/[“”„"«»「『]|(?<=\s)[‘']/u);
  const begin = text.charAt(start);
  const end = ends[begin];
  if (start > maxLength || end === undefined) return undefined;
  // If the same sign begins and ends quotations, it begins one between a space and a word.
  const isBegin = (at: number) =>
    text[at] === begin && (begin !== end || /^[\s(]\S/.test(`${text.charAt(at - 1)}${text.charAt(at + 1)}`));
  let [depth, last] = [1, start];
  for (let at = start + 1; at < text.length; at += 1) {
    if (isBegin(at)) {
      if (depth <= 0) return undefined;
      depth += 1;
    } else if (end.includes(text.charAt(at))) {
      depth -= 1;
      last = at;
    }
  }
  if (last === start || text.length - last > maxLength) return undefined;
  return [text.slice(0, start), text.slice(start + 1, last), text.slice(last + 1)];
}
