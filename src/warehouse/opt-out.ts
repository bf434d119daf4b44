import { type ClauseSense, conjunctions, laughter, senseOf } from './opt-out-grammar.ts';

/*
 * Classifies a text clause by clause: "Who is this? Stop texting me" opts out, "stop by at five" does not. A certain opt-out is
 * valid until an opt-in. After an uncertain one, only that text is not answered.
 */

/** The keywords of carriers, and their equivalents in other languages; without accents. */
const outWords = words(`
  stop stopall unsub unsubscribe unsuscribe unsubcribe cancel end quit optout remove revoke stopp
  parar pare para alto baja detener detente detenga detengase cancelar cancela salir basta borrar borrame
  arret arreter arretez stopper desabonner desabonnement desinscrire desinscription annuler fin
  abmelden abbestellen austragen aufhoren kundigen ende halt
  sair pare descadastrar remover encerrar
  ferma fermati smetti cancella cancellami disiscrivi disiscrivimi annulla
  afmelden uitschrijven stoppen einde
  avsluta avregistrera avmeld afmeld frameld lopeta peruuta
  wypisz rezygnuje zakoncz przestan odhlasit zrusit leiratkozas dezabonare opreste
  dur durdur iptal cik
  hinto tigil itigil dung huy berhenti batal sisepann sispann rete acha
  стоп отписаться отписка отпишите отмена хватит прекратить прекратите скасувати відписатися досить спри
  σταματα τελος διαγραφη ακυρωση
  הסר הסירו להסיר הסירני הסרה עצור עצרו די מספיק מחק ביטול בטל בטלי בטלו תפסיק תפסיקו תפסיקי הפסק הפסיקו הפסיקי סטופ
  توقف ايقاف اوقف الغاء قف كفى
  बंद रोकें रोको बन्द বন্ধ நிறுத்து
  停 停止 停止发送 退订 取消 取消订阅 退訂 取消訂閱 拒收
  配信停止 解除 停止希望 ストップ やめて 중지 그만 수신거부 해지 취소
  หยุด ยกเลิก
`);

/** Texts and clauses that opt out as a whole, beside those that the patterns match. */
const outPhrases = phrases(`
  stop all / stop everything / stop it / stop this / stop that / quit it / quit this / quit that / no more / remove me / remove my number / remove this number / delete my number
  cease / cease and desist / cancel all / i said stop / reply stop / stop to end / stop2end / fuck off
  no mas / ya no mas / deja de escribirme / dejen de escribirme / paren / plus de messages / ne plus recevoir
  arretez les messages / arretez les sms / stop a tout
  keine sms mehr / keine nachrichten mehr / nicht mehr schreiben / hor auf / horen sie auf
  nao quero mais / nao envie mais / parar de receber / me remova
  non scrivetemi piu / non scrivermi piu / basta messaggi / smettila / smettetela / niente piu messaggi
  geen berichten meer / niet meer sturen / nie pisz / nie piszcie / prosze przestac
  stop met berichten / wypisz mnie / zatrzymaj / avbryt
  не пишите / не пишите мне / не пишите мне больше / не пиши мне / больше не пишите / не присылайте / не пишіть / отпишите меня
  אל תשלחו / ביטול הרשמה
  لا ترسل / لا ترسلوا / الغاء الاشتراك / كفى رسائل / توقف عن الارسال / اوقف الرسائل
  मत भेजो / मैसेज मत भेजो / बंद करो / बंद करें
  ngung gui / khong nhan tin / đừng nhắn tin / đừng nhắn tin nữa / huy dang ky / huwag na mag text / tama na
`);

/** Phrases that do not change the meaning of an opt-out. */
const courtesy = phrases(`
  please / pls / plz / kindly / just / now / right now / immediately / at once / asap / already
  thanks / thank you / thanks a lot / thank you very much / many thanks / thx / ty / cheers / sorry / no / no thanks / no thank you / nope
  yes / ok / okay / hi / hello / hey / yo / sir / madam / maam / ma am / wrong number
  for real / fr / rn / for good / forever / seriously / bro / bruh / man / dude / buddy / pal / guys / you guys / folks / lady / girl / homie / sis / yall / y all / mate
  por favor / porfavor / gracias / muchas gracias / no gracias / hola / ya
  svp / stp / s il vous plait / s il te plait / merci / non merci / bonjour
  bitte / danke / nein danke / hallo / per favore / grazie / no grazie / ciao
  faz favor / obrigado / obrigada / alstublieft / aub / bedankt / dank u / tack / takk / tak / kiitos / prosze / dziekuje
  lutfen / tesekkurler / salamat / po / terima kasih / tolong / cam on / xin
  пожалуйста / спасибо / будь ласка / дякую / παρακαλω / ευχαριστω
  בבקשה / נא / אנא / תודה / כבר / מיד / עכשיו / من فضلك / لو سمحت / رجاء / شكرا / कृपया / प्लीज / धन्यवाद
  请 / 谢谢 / 請 / 謝謝
`);
const maxCourtesy = Math.max(...[...courtesy].map((phrase) => phrase.split(' ').length));
/** Signatures that phones append. */
const signature =
  / (?:sent from|sent via|get outlook for|envoye de mon|enviado desde mi|enviado do meu|inviato da|gesendet von|von meinem|verstuurd vanaf) .*$/;

/** Words in and after "stop texting" that do not change its meaning. */
const filler =
  'me|us|my|this|that|the|these|those|any|all|your|such|of|it|more|anymore|any more|again|ever|so many|to|at|on|number|phone|cell|from|you|and|or|fucking|damn';
const contact =
  'text|texts|texting|txt|txts|message|messages|messaging|msg|msgs|sms|mms|sending|contact|contacting|writing|bother(?= )|bothering|spamming|spam';
/** Excludes "end of message" and "cancel that text", which are about one text. */
const notOneText = '(?!(?: (?:of|the|this|that|my|your))+(?: (?:text|txt|message|msg))+$)';
/** Excludes "never any text from you", a complaint about a missing text. */
const asVerb = '(?=(?: ever)? (?:text|txt|message|msg|contact|bother|send)(?: (?:me|us|my|this|any|again)|$))';
const stopsContact = new RegExp(
  `^(?:stop|quit|cease|(?:end|cancel)${notOneText}|never${asVerb}|do not|dont|don t)(?: (?:${filler}))*(?: send(?: (?:${filler}))*)? (?:${contact})(?: (?:${filler}|${contact}))*$`,
);
/** Requests to leave the list. */
const leaves = new RegExp(
  `^(?:(?:i want|i wish|i would like|i d like|id like) to )?(?:unsubscribe|unsub|opt out|opt me out|take (?:me|(?:my|this)(?: phone| cell)? (?:number|name)) off)(?: (?:${filler}|${contact}|list|lists|subscription))*$`,
);

/** Words that end an opt-out. Not "yes", which has other meanings. */
const inWords = words(`start unstop subscribe resume optin iniciar comenzar reanudar demarrer reprendre starten weiter
  comecar iniciare riprendi старт התחל ابدأ 开始 開始 시작`);
const inPhrases = phrases(
  `opt in / opt me in / start again / start texting / please start / resubscribe me / start please`,
);

/**
 * Whether an inbound text opts out of automatic texts. `opt_out`: no line of the account may send any to its sender until an
 * `opt_in`. `unsure`: it may mean that, so this text is not answered.
 */
export type OptOutVerdict = 'opt_out' | 'opt_in' | 'unsure' | 'none';

/** The service's limit, in bytes (section 8). */
const maxText = 2_000;

/**
 * Classifies an inbound text; pure, and linear in its length. The verdict is stored when the text is mirrored
 * (`warehouse.sms_messages.opt_out_verdict`), and gates, reports and rule outcomes use the stored one.
 */
export function optOutVerdict(text: string): OptOutVerdict {
  const known = verdicts.get(text);
  if (known !== undefined) return known;
  const verdict = judgeText(text.slice(0, maxText));
  if (text.length > maxKnownLength) return verdict;
  if (verdicts.size >= maxVerdicts) verdicts.clear();
  verdicts.set(text, verdict);
  return verdict;
}

// Every read of a thread lists the same texts again, and a classification takes a tenth of a millisecond or more.
const verdicts = new Map<string, OptOutVerdict>();
const maxVerdicts = 20_000;
const maxKnownLength = 320;

function judgeText(text: string): OptOutVerdict {
  const plain = ` ${plainOf(text)}`.replace(signature, '').trim();
  if (plain === '') return 'none';
  const parts = plain.split(' ');
  if (inPhrases.has(plain) || parts.every((part) => inWords.has(part))) return 'opt_in';
  if (parts.every(isOutWord) || isWhole(parts)) return 'opt_out';
  const senses = clausesOf(text).map(senseOfClause);
  const has = (...wanted: readonly Sense[]) => senses.some((each) => wanted.includes(each));
  const isAmong = (...wanted: readonly Sense[]) => senses.every((each) => wanted.includes(each));
  if (has('certain')) return has('elsewhere') ? 'unsure' : 'opt_out';
  // A single keyword is enough if no other clause has another subject.
  if (has('keyword', 'weak keyword')) {
    const isAlone = isAmong('keyword', 'weak keyword', 'courtesy', 'distant', 'doubtful');
    const isReasoned = has('keyword') && isAmong('keyword', 'courtesy', 'distant', 'doubtful', 'reason');
    return (isAlone || isReasoned) && !laughter.test(text.toLowerCase()) ? 'opt_out' : 'unsure';
  }
  return has('doubtful') ? 'unsure' : 'none';
}

/**
 * The meaning of a clause. `keyword`: only a word such as "stop". `weak keyword`: only a word such as "cancel", which often refers
 * to something else. `reason`: the writers describe themselves or why they write.
 */
type Sense = ClauseSense | 'keyword' | 'weak keyword' | 'courtesy' | 'reason';

/** Words that opt out as a whole clause, even if other clauses give reasons. */
const keywords = words(`
  stop stopall unsub unsubscribe unsuscribe unsubcribe optout stopp stahp alto basta parar paren pare parenle parele
  arret arreter arretez arrete stopper stoppez desabonner desabonnement desinscrire desinscription abmelden abbestellen aufhoren
  מספיק חדל הסר הסירו להסיר הסרה סטופ תפסיקו תפסיק תפסיקי הפסק הפסיקו הפסיקי עצרו стоп отписаться
`);

function senseOfClause(clause: string): Sense {
  const parts = clause.split(' ');
  const rests = parts.length <= maxWholeClause ? withoutCourtesy(parts) : [parts];
  if (rests.length === 0) return 'courtesy';
  if (rests.some((rest) => rest.every((part) => keywords.has(part) || isMisspeltKeyword(part)))) return 'keyword';
  if (rests.some((rest) => rest.every(isOutWord))) return 'weak keyword';
  if (rests.some(isOut)) return 'certain';
  const sense = senseOf(clause);
  if (sense === 'certain') return sense;
  return (
    rests.map(senseBesideKeyword).find((each) => each) ??
    senseOfParts(clause) ??
    (sense === 'other' && isReason(clause) ? 'reason' : sense)
  );
}

const maxWholeClause = 14;

/** "STOP i dont want these", "who is this stop": a keyword before or after a clause, without punctuation. */
function senseBesideKeyword(parts: readonly string[]): Sense | undefined {
  const [first = ''] = parts;
  const last = parts.at(-1) ?? '';
  const isKeyword = (word: string) => keywords.has(word) || isMisspeltKeyword(word);
  const rest = isKeyword(first) ? parts.slice(1) : isKeyword(last) ? parts.slice(0, -1) : undefined;
  if (rest === undefined || rest.length === 0) return undefined;
  const clause = rest.join(' ');
  const sense = senseOf(clause);
  if (sense === 'certain' || sense === 'distant' || sense === 'doubtful') return 'keyword';
  return isKeyword(first) && isReason(clause) ? 'doubtful' : undefined;
}

/** "Thanks but please stop": parts joined by a conjunction, all of them with a known meaning. */
function senseOfParts(clause: string): Sense | undefined {
  const parts = ` ${clause} `.split(conjunctions).map((part) => part.trim());
  if (parts.length < 2) return undefined;
  const senses = parts.filter((part) => part !== '').map(senseOfClause);
  const isKnown = senses.every((sense) => sense !== 'other' && sense !== 'reason');
  return isKnown ? senses.find((sense) => sense === 'certain' || sense === 'keyword') : undefined;
}

const reason =
  /^(?:(?:i|im|ive|we|my|this|who|why|wrong|not|no|never|u|you have|you keep|enough|ya|yo|no|je|j|ya|אני|לא|זה) |enough$)/;

function isReason(clause: string): boolean {
  return reason.test(`${clause} `);
}

/** "Stop" with further letters, which are other words within a longer clause. {@link regularSpelling} corrects swapped ones. */
function isMisspeltKeyword(word: string): boolean {
  return /^(?:stopt|stopo|stopit|sto+p+)$/.test(word);
}

/** The clauses of a text, as plain words. */
function clausesOf(text: string): string[] {
  return text
    .normalize('NFKC')
    .split(/[.!?;,:\n\r…。！？，、؛،؟¿¡()"«»“”|•–—]|\p{Extended_Pictographic}/u)
    .map((clause) => regularSpelling(` ${plainOf(clause)} `.replace(signature, '').trim()))
    .filter((clause) => clause !== '');
}

/** Joins what an apostrophe separated ("don t" becomes "dont"), and corrects common typos of the words of opt-outs. */
function regularSpelling(clause: string): string {
  return clause
    .replace(/\b(don|doesn|didn|can|won|isn|wouldn|shouldn|couldn|haven|wasn|aren) t\b/g, '$1t')
    .replace(/\bi (m|ve)\b/g, 'i$1')
    .replace(/\b(who|it|that) s\b/g, '$1s')
    .replace(/\byou re\b/g, 'youre')
    .replace(/\b(?:dnt|donot|dnot|dotn|dontt)\b/g, 'dont')
    .replace(/\b(?:stpo|sotp|tsop|st0p|stahp|stop{2,}|sto{3,}p+|s t o p)\b/g, 'stop')
    .replace(/\bun?s[ub]{1,3}s?[cri]{1,4}[bv]+e?\b/g, 'unsubscribe')
    .replace(
      /\b(?:t[ext]{1,4}[in][ng]{1,3}|texitng|[rfgy]exting|t[wsr]xting|te[^snx ]ting|tex[^t ]ing|text[^i ]ng|texti[^n ]g)\b/g,
      'texting',
    )
    .replace(/\b(?:me?s+a?g+e?[in][ng]{1,3}|messaign|messaing|mess[^a ]ging|messga[in][ng]{1,3})\b/g, 'messaging')
    .replace(/\bmess?[age]{2,4}s\b/g, 'messages')
    .replace(/\bmess?[age]{2,4}\b/g, 'message')
    .replace(/\b(?:tetx|txet|texxt|textt|tect|texr|rext|yext)\b/g, 'text')
    .replace(/\b(?:sendin|sendng|sendig|sneding|seding|sening|senidng)\b/g, 'sending')
    .replace(/\b(?:contct|contcat|conatct)\b/g, 'contact')
    .replace(/\b(?:contactin|contcting|contating|conacting|contacing)\b/g, 'contacting');
}

function isWhole(parts: readonly string[]): boolean {
  return parts.length <= maxWholeClause && withoutCourtesy(parts).some(isOut);
}

function isOut(parts: readonly string[]): boolean {
  const plain = parts.join(' ');
  if (outPhrases.has(plain) || stopsContact.test(plain) || leaves.test(plain) || parts.every(isOutWord)) return true;
  return parts.length > 2 && parts.every((part) => [...part].length === 1) && outWords.has(parts.join(''));
}

/** All ways to strip courtesy from both ends: "no" is courtesy, but not in "no more, thanks". */
function withoutCourtesy(parts: readonly string[]): string[][] {
  const begins = courtesyLengths(parts);
  const ends = courtesyLengths(parts.toReversed(), (phrase) => phrase.toReversed());
  return begins.flatMap((begin) =>
    ends.map((end) => parts.slice(begin, parts.length - end)).filter((rest) => rest.length > 0),
  );
}

/** All possible numbers of leading words that are courtesy. */
function courtesyLengths(parts: readonly string[], inOrder = (phrase: string[]): string[] => phrase): number[] {
  const cuts = [0];
  for (const cut of cuts) {
    for (let words = 1; words <= maxCourtesy && cut + words <= parts.length; words += 1) {
      const phrase = inOrder(parts.slice(cut, cut + words)).join(' ');
      if (courtesy.has(phrase) && !cuts.includes(cut + words)) cuts.push(cut + words);
    }
  }
  return cuts;
}

/** Lower-case letters and digits, without accents, one space between words. Emoji are removed with their modifiers. */
function plainOf(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{Script=Latin}\p{M}+/gu, (letter) => letter[0] ?? '')
    .replace(/[\u0300-\u036f\u05b0-\u05c7\u064b-\u0655\u0670\u0640]/g, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/[øł]/g, (letter) => (letter === 'ø' ? 'o' : 'l'))
    .replace(/[أإآ]/g, 'ا')
    .replace(/[\p{Cf}\p{Me}\p{Variation_Selector}]/gu, '')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
}

/** Reads "stoppp" and "stooop" as "stop". */
function isOutWord(word: string): boolean {
  return outWords.has(word) || outWords.has(word.replace(/(.)\1{2,}/gu, '$1').replace(/^sto+p+$/, 'stop'));
}

function words(list: string): ReadonlySet<string> {
  return plainSet(list.split(/\s+/));
}

function phrases(list: string): ReadonlySet<string> {
  return plainSet(list.split(/\s*[/\n]\s*/));
}

function plainSet(texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.map(plainOf).filter((text) => text !== ''));
}
