/*
 * Only a whole message opts out: "stop by at five" must not, "please stop" must. What is not certain counts as an
 * opt-out, since the cost of that is a person who answers instead of a rule.
 */

/** The words that carriers honour, and what people of other languages write in their place; accents are gone. */
const outWords = words(`
  stop stopall unsubscribe cancel end quit optout remove revoke stopp
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
  הסר הסירו להסיר הסירני עצור עצרו די מחק ביטול
  توقف ايقاف اوقف الغاء قف كفى
  बंद रोकें रोको बन्द বন্ধ நிறுத்து
  停 停止 停止发送 退订 取消 取消订阅 退訂 取消訂閱 拒收
  配信停止 解除 停止希望 ストップ やめて 중지 그만 수신거부 해지 취소
  หยุด ยกเลิก
`);

const outPhrases = phrases(`
  stop all / stop it / stop this / stop now / stop please / please stop / pls stop / just stop / stop stop
  stop texting / stop texting me / stop messaging me / stop sending / stop sending me texts / stop sending texts
  stop sending me messages / stop sending messages / stop text / stop texts / stop messages / stop contacting me
  stop the texts / stop the messages / stop these texts / stop these messages / please stop texting me / please stop texting
  please stop messaging me / please stop contacting me / please stop sending me messages / please stop sending me texts
  do not text / do not text me / dont text me / don t text me / do not contact me / dont contact me / don t contact me
  do not message me / dont message me / don t message me / do not text me again / dont text me again / do not text me anymore
  dont text me anymore / don t text me anymore / do not contact me again / no more / no more texts / no more messages
  no more text messages / opt out / opt me out / optout please / i want to opt out / i would like to opt out / please opt me out
  remove me / remove me please / please remove me / take me off / take me off your list / take me off the list
  remove me from your list / remove me from the list / please remove me from your list / remove my number
  please remove my number / delete my number / lose my number / unsubscribe me / please unsubscribe / unsubscribe please
  please unsubscribe me / unsubscribe all / i want to unsubscribe / cancel texts / cancel messages / leave me alone
  please leave me alone / quit texting me / quit messaging me / cease / cease and desist / wrong number stop / stop wrong number
  no mas / no mas mensajes / ya no mas / no me escriban / no me escribas mas / no me envien mas mensajes / dar de baja
  darme de baja / darse de baja / deja de escribirme / dejen de escribirme / por favor pare / por favor paren / eliminar mi numero
  se desabonner / me desabonner / me desinscrire / plus de messages / ne plus recevoir / stop svp / arretez svp / stop sms
  bitte stop / bitte abmelden / keine sms mehr / keine nachrichten mehr / nicht mehr schreiben / hor auf / bitte aufhoren
  por favor parar / nao quero mais / nao envie mais / parar de receber / me remova / me tire da lista
  non scrivetemi piu / non scrivermi piu / basta messaggi / niente piu messaggi
  geen berichten meer / niet meer sturen / nie pisz / nie piszcie / prosze przestac
  не пишите / не пишите мне / не пиши мне / больше не пишите / не присылайте / не пишіть
  הסר אותי / תסירו אותי / נא להסיר / בבקשה להסיר / אל תשלחו / תפסיקו לשלוח / די לשלוח
  لا ترسل / لا ترسلوا / الغاء الاشتراك / توقف عن الارسال / اوقف الرسائل
  मत भेजो / मैसेज मत भेजो / बंद करो / बंद करें
  ngung gui / khong nhan tin / huy dang ky / huwag na mag text / tama na
`);

/** What takes an opt-out back. "Yes" does not: people say it to people. */
const inWords = words(`start unstop subscribe resume optin iniciar comenzar reanudar demarrer reprendre starten weiter
  comecar iniciare riprendi старт התחל ابدأ 开始 開始 시작`);
const inPhrases = phrases(
  `opt in / opt me in / start again / start texting / please start / resubscribe me / start please`,
);

/** Whether an inbound text takes its sender out of all texts, or in again. */
export function optOutChange(text: string): 'out' | 'in' | undefined {
  const plain = plainOf(text);
  if (plain === '' || plain.length > 80) return undefined;
  if (outPhrases.has(plain)) return 'out';
  if (inPhrases.has(plain)) return 'in';
  const parts = plain.split(' ');
  if (parts.every((part) => outWords.has(shortened(part)))) return 'out';
  if (parts.every((part) => inWords.has(part))) return 'in';
  const spelled = parts.length > 2 && parts.every((part) => [...part].length === 1) ? parts.join('') : '';
  return outWords.has(spelled) ? 'out' : undefined;
}

/** Small letters and digits alone, without accents, one blank between words. */
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
    .replace(/[\p{Cf}]/gu, '')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
}

/** "stoppp" and "stooop" are meant as "stop". */
function shortened(word: string): string {
  return outWords.has(word) ? word : word.replace(/(.)\1{2,}/gu, '$1').replace(/^sto+p+$/, 'stop');
}

function words(list: string): ReadonlySet<string> {
  return new Set(
    list
      .split(/\s+/)
      .filter((word) => word !== '')
      .map(plainOf),
  );
}

function phrases(list: string): ReadonlySet<string> {
  return new Set(
    list
      .split(/\s*[/\n]\s*/)
      .map(plainOf)
      .filter((phrase) => phrase !== ''),
  );
}

/** The last thing that somebody said about being texted. Texts in any order. */
export function hasOptedOut(
  texts: readonly { readonly text: string; readonly at: Date }[],
  skippedAt: Date | undefined,
): boolean {
  let last = skippedAt === undefined ? undefined : { at: skippedAt.getTime(), isOut: true };
  for (const { text, at } of texts) {
    const change = optOutChange(text);
    // Of two at the same second, the one that takes out counts.
    if (change === undefined || (last && (at.getTime() < last.at || (at.getTime() === last.at && change === 'in'))))
      continue;
    last = { at: at.getTime(), isOut: change === 'out' };
  }
  return last?.isOut === true;
}
