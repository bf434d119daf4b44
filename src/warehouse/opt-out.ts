import { createPhraseSearch, foldText, readPhrases } from './phrases.ts';
import { reactionIn } from './reaction.ts';

/*
 * Only the keywords that carriers act on opt out or in. Any other text that may ask not to be texted is `unsure`: its
 * sender gets no automatic text until a person decides. A wrong `unsure` only costs one number some automatic texts. A
 * missed one means texting somebody who asked not to be texted.
 */

/**
 * The verdict on an inbound text. `opt_out`: no line of the account may send its sender automatic texts until an
 * `opt_in`. `unsure`: the text may be an opt-out, so no line may send any until a person decides.
 */
export type OptOutVerdict = 'opt_out' | 'opt_in' | 'unsure' | 'none';

/**
 * Keywords of carriers and of the law, as complete texts. English: the CTIA's guidelines, the list in 47 CFR
 * 64.1200(a)(10) ("revoke", "opt out"), and REMOVE, which large gateways honour too. French: Canada's common short
 * codes. Spanish and Portuguese: carriers of Mexico, Spain and Brazil. Hebrew: section 30A of Israel's Communications
 * Law. Chinese: rules of the ministry. Words such as "basta", which no carrier acts on, are unsure.
 */
const optOutKeywords = `stop, stopall, stop all, unsubscribe, cancel, end, quit, revoke, optout, opt out, remove,
  arret, stopp, alto, baja, parar, cancelar, sair, הסר, הסרה, להסרה, להסיר, стоп, 退订, 退訂`;

/** Keywords that end an opt-out. Not YES: it answers too many other questions. */
const optInKeywords = `start, unstop, optin, opt in, subscribe, resubscribe, demarrer, iniciar, comenzar, reanudar, comecar,
  старт, התחל, 开始, 開始`;

/**
 * Words that change neither. "no" and "ok" aren't among them: "no, stop" may mean the opposite, and "ok, end" an
 * appointment.
 */
const courtesyWords = `please, pls, plz, kindly, thanks, thank you, thank you very much, thx, ty, por favor, porfavor, gracias, muchas gracias,
  svp, stp, sil vous plait, sil te plait, merci, bitte, danke, obrigado, obrigada, בבקשה, נא, אנא, תודה, пожалуйста, спасибо, 请, 請, 谢谢, 謝謝`;

const [outs, ins, courtesy] = [optOutKeywords, optInKeywords, courtesyWords].map(
  (list) => new Set(list.split(',').map((each) => foldText(each).trim())),
) as unknown as readonly [ReadonlySet<string>, ReadonlySet<string>, ReadonlySet<string>];
/** The length of the longest of these, in words. */
const maxWords = 4;

/** Classifies an inbound text. Pure, linear in its length. The verdict is stored in `warehouse.sms_messages`. */
export function optOutVerdict(text: string): OptOutVerdict {
  const known = verdicts.get(text);
  if (known !== undefined) return known;
  const verdict = isReaction(text) ? 'none' : judgeText(foldText(text));
  if (text.length > maxKnownLength) return verdict;
  if (verdicts.size >= maxVerdicts) verdicts.clear();
  verdicts.set(text, verdict);
  return verdict;
}

// Every read of a thread lists the same texts again.
const verdicts = new Map<string, OptOutVerdict>();
const maxVerdicts = 20_000;
const maxKnownLength = 320;

/**
 * Whether an inbound text is a phone's reaction to another text. A reaction quotes a text of ours. If the quotation is
 * only a keyword, the text isn't a reaction: we send no such text.
 */
export function isReaction(text: string): boolean {
  const reaction = reactionIn(text);
  if (reaction === undefined) return false;
  const verdict = judgeText(foldText(reaction.quoted));
  return reaction.isBare ? verdict === 'none' : verdict !== 'opt_out';
}

function judgeText(folded: string): OptOutVerdict {
  const parts = withoutCourtesy(folded);
  const [first = 'none', ...others] = new Set(parts.map(keywordVerdict));
  const verdict = others.length === 0 ? first : 'none';
  if (verdict === 'opt_out') return verdict;
  list ??= readList();
  // Shortens "stooop" and "plssss".
  const shortened = folded.replace(/(\p{L})\1{2,}/gu, '$1');
  const isUnsure = list.wholes.has(parts.join(' ')) || list.isIn(folded) || list.isIn(shortened);
  return isUnsure ? 'unsure' : verdict;
}

const keywordVerdict = (part: string) => (outs.has(part) ? 'opt_out' : ins.has(part) ? 'opt_in' : 'none');

/** The keywords and other words of a text, without courtesy words and emoji. */
function withoutCourtesy(folded: string): string[] {
  const words = folded.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word));
  const parts: string[] = [];
  for (let at = 0; at < words.length; ) {
    const part = longestKnown(words, at) ?? words[at] ?? '';
    if (!courtesy.has(part)) parts.push(part);
    at += part.split(' ').length;
  }
  return parts;
}

/** The longest keyword or courtesy phrase that starts with a word. Undefined if there is none. */
function longestKnown(words: readonly string[], at: number): string | undefined {
  for (let count = Math.min(maxWords, words.length - at); count > 0; count -= 1) {
    const phrase = words.slice(at, at + count).join(' ');
    if (outs.has(phrase) || ins.has(phrase) || courtesy.has(phrase)) return phrase;
  }
  return undefined;
}

/** The file of phrases, which describes its format. */
export const optOutPhrases = new URL('opt-out-phrases.txt', import.meta.url);

let list: { readonly wholes: ReadonlySet<string>; readonly isIn: (folded: string) => boolean } | undefined;

function readList() {
  const { wholes = [], parts = [] } = Object.groupBy(readPhrases(optOutPhrases), (each) =>
    each.startsWith('=') ? 'wholes' : 'parts',
  );
  return { wholes: new Set(wholes.map((phrase) => foldText(phrase.slice(1)).trim())), isIn: createPhraseSearch(parts) };
}
