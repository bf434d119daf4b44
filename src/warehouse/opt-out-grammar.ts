/*
 * Patterns of opt-outs, by language. They match one clause: lower case, without accents and punctuation, one space between words.
 * All languages are tried for every text, because a number does not tell its owner's language.
 *
 * A pattern is a list of items; each matches one word of the clause:
 *   a|b        one of these words; a+b is two words, and a word may be a regular expression
 *   <name>     one word of a list below
 *   _          any word
 *   item?      may be missing          item*   up to eight such words
 *   ^ and $    the start and the end of the clause
 *   !a|b       the word before is none of these
 * Repetition is bounded, so a pattern takes time linear in the length of the text.
 */

const lists: Readonly<Record<string, string>> = {
  // English
  stop: 'stop|quit|cease|discontinue|halt',
  not: 'dont|do+not|never|not+to|please+no',
  // Verbs whose only object is the person.
  pester: 'texting|messaging|msging|txting|contacting|spamming|harassing|bothering|bugging|pestering|blasting|annoying',
  pesterBase: 'text|message|msg|txt|contact|sms|bother|spam|harass|pester|bug|txting|texting',
  person: 'me|us|this+number|this+phone|my+number|my+phone|my+cell|my+cellphone|here',
  texts:
    'texts|txts|messages|messagess|msgs|mesages|messages|sms|mms|alerts|notifications|communication|communications|solicitations|spam|crap|shit|bullshit|garbage|stuff',
  any: 'me|us|my|this|that|the|these|those|any|all|your|ur|youre|such|of|it|more|anymore|again|ever|so|many|to|at|on|number|phone|cell|from|you|u|and|or|fucking|freaking|f|ing|damn|goddamn|please|pls|with|already|immediately|now|guys|text|automated|unwanted|unsolicited|stupid|annoying|further|other|another|kind|kinds|sort|both|calls|calling|random|just|also|ur',
  list: 'list|lists|system|database|contacts|records|registry|texts|messages|distribution',
  // Spanish
  esSend: 'mande|mandes|manden|mandeis|mandas|manda|mandan|envie|envies|envien|envieis|envias|envia|envian',
  esPester:
    'escriba|escribas|escriban|escribais|escribes|escribe|contacte|contactes|contacten|contactan|moleste|molestes|molesten|molestan|texte|textes|texteen|textee|textees|mensajee|mensajees|mensajeen|fastidie|fastidien|hostigue|hostiguen|acose|acosen|joda|jodan',
  esTexts:
    'mensaje|mensajes|mensajitos|mensages|mensaj|msj|msjs|msg|msgs|texto|textos|sms|publicidad|propaganda|spam|promociones|notificaciones',
  esInfinitive:
    'mandar|mandarme|mandarnos|mandando|enviar|enviarme|enviarnos|escribir|escribirme|escribirnos|molestar|molestarme|molestarnos|contactar|contactarme|contactarnos|textear|textearme|fastidiar|fastidiarme|acosar|acosarme|hostigar|joder|joderme|mensajear|mensajearme',
  esAny:
    'mas|ya|por|favor|porfavor|porfa|x|nada|ningun|ninguna|ningunos|tantos|tantas|sus|su|tus|tu|esta|esa|estos|estas|esos|esas|los|las|el|la|este|ese|otro|otra|otros|otras|a|mi|numero|celular|telefono|de|del|ustedes|usted|ti|nunca|jamas|nuevo|vez|que|me|nos|con|mensajes',
  // French
  frPester:
    'ecrivez|ecris|ecrire|ecrives|contactez|contacte|contactes|contacter|derangez|derange|deranges|deranger|embetez|embete|embeter|harcelez|harcele|harceler|textez|texte|texter|spammez|spammer|sollicitez|solliciter|relancez|relancer|importunez|importuner',
  frSend: 'menvoyez|menvoyer|menvoie|envoyez|envoie|envoies|envoi|envoye|envoyer|envoyiez|adressez|adresser',
  frTexts:
    'message|messages|msg|msgs|sms|texto|textos|texte|textes|pub|pubs|publicite|publicites|spam|spams|notification|notifications|mms|sollicitation|sollicitations|promotions|promos',
  frAny:
    'm|me|moi|nous|de|d|du|des|vos|votre|ces|ce|cette|tes|ton|les|la|le|l|aux|au|a|ca|cela|rien|aucun|aucune|plus|pas|jamais|tous|toutes|tout|svp|stp|merci|par|vous|sur|mon|numero|telephone|portable|s|il|plait|avec|autre|autres|bordel|putain',
  // Hebrew
  heSend: 'תשלח|תשלחו|תשלחי|לשלוח|שולחים|תשלחנה',
  hePester:
    'תכתוב|תכתבו|תכתבי|תסמס|תסמסו|תסמסי|תפנה|תפנו|תפני|תטריד|תטרידו|תטרידי|תציק|תציקו|תציקי|לכתוב|לסמס|לפנות|להטריד|להציק|תצרו+קשר|תיצרו+קשר|ליצור+קשר',
  heTexts:
    '[הבמלו]?הודעות|[הבמלו]?הודעה|[הבמלו]?סמסים|[הב]?סמס|[הב]?אסמסים|[הב]?מסרונים|[הב]?פרסומות|[הב]?פרסום|[הב]?ספאם|sms',
  heAny:
    'לי|לנו|אלי|אליי|אלינו|אותי|אותנו|יותר|עוד|כבר|שום|בבקשה|נא|תודה|את|עם|מכם|ממך|מכאן|האלה|האלו|הזה|הזאת|למספר|הזה|הטלפון|של|שלי|שלכם|אף|פעם|בכלל|לקבל|כאלה|ה',
  heStop: 'תפסיק|תפסיקו|תפסיקי|הפסק|הפסיקו|הפסיקי|להפסיק|די|מספיק|חדל|חדלו|תחדלו|תחדל',
  heRemove:
    'הסר|הסירו|הסירי|תסיר|תסירו|תסירי|להסיר|תוריד|תורידו|תורידי|להוריד|הורידו|תמחק|תמחקו|תמחקי|מחק|מחקו|למחוק|תוציא|תוציאו|תוציאי|הוציאו|להוציא',
  // Portuguese, German, Yiddish
  ptAny: 'mais|me|nos|por|favor|nada|suas|seus|essas|esses|estas|de|a|as|os|para|mim|nenhuma|nunca',
  ptTexts: 'mensagem|mensagens|msg|msgs|sms|mensagems|propaganda|spam|textos',
  deAny:
    'mir|uns|bitte|mehr|nie|nicht|keine|wieder|solche|diese|weitere|ihre|eure|an|diese|nummer|noch|endlich|damit|zu|so|viele',
  deTexts: 'sms|nachrichten|nachricht|werbung|texte|mitteilungen|spam',
};

/** Clauses that opt out. */
const certain = `
  <stop> <any>|emailing* <pester> <person>
  <stop> <any>* <pester> <any>* $
  <stop> <any>* sending <any>* <texts>
  <stop> <any>* sending <any>* $
  <stop> <any>* blowing+up
  <stop> <any>* <texts> $
  <stop> <any>* <texts> to|from me|us|you|my+phone|this+number|$
  <stop> <any>* <texts> <any>* $
  !i|we|they|you|u|why|he|she <not> you|u|guys|ever|please|fucking|even|dare|keep* <pesterBase> <person>
  !i|we|they|you|u|why|he|she <not> you|u|guys|ever|please|even* text|message|msg|txt|contact|texting again|anymore|any+more|$
  !i|we|they|you|u|why|he|she <not> you|u|ever|please|keep* send|sending <any>* <texts>
  !i|we|they|you|u|why|he|she <not> you|u|ever|please|keep* send <any>* more|anymore|again|anything|anything+else $
  dont|do+not|no+longer|never|not want|wanna|wish|need|like|care|desire|authorize|consent|agree|wants <any>* receive|get|getting|receiving|have|see|for? <any>* <texts>
  dont|do+not|no+longer|never|not want|wanna|wish|like|care|agree|consent <any>* be|being|get|getting contacted|texted|messaged|bothered|spammed
  dont|do+not|no+longer|never want|wanna|wish|care to receive|get|getting|hear these|this|those|them|any|anything|from|more
  no+longer want|wish|like to? receive|get <any>* $
  unsubscribe|unsub|remove|delete|erase|block me|us|my+info|my+information|my+details $
  unsubscribe|unsub me|us
  want|wanna|like|wish|need|trying|asking|ask|please|i|can+i|do+i|do+we|would|to to? unsubscribe|unsub|opt+out|opt+me+out|be+removed|be+taken+off <any>|<texts>* $
  opting out <any>|<texts>* $
  how|where to|do|can|could|i|we|you* stop|end|cancel|get+out+of|get+off|turn+off|block <any>|getting|receiving* <texts> $
  opt me|us out of? <any>|future|all|receiving* <texts>?
  cancel|end|stop <any>* subscription to? <any>* <texts>
  remove|delete|take|erase|drop|scratch|get|purge|strike me|us|my+number|this+number|my+phone|my+cell|my+name|my+info|my+phone+number|my+cell+number|my+mobile+number|the+number|it off|from|out of? _? _? _? _? <list>
  want|wanna|get|be|like|need|taken|removed|me|us off|out+of|from your|ur|this|the|that|any|all _? _? list|lists|database
  lose|delete|forget|erase|remove|block my|this phone|cell|mobile? number $
  lose|forget my phone|cell? number
  leave me|us <any>* the? hell|fuck|fk|f? alone
  leave me|us be $
  !are|have|has|had|got|see|were|is|there no|zero more|further <any>* <texts>
  no <texts> please|pls|thanks|thank+you $
  enough <any>* <texts>
  i|ive|have|already|we|for+the+last+time|last+time|again said|say|told|tell|asked|ask|telling|asking|begging|beg|need|want|saying <any>* _? _? to? stop $
  ^ said|told|asked you|u? guys? to? stop $
  can|could|will|would|wont|please|pls|plz you|u|guys|please|just|pls* stop $
  turn|shut off <any>* <texts>
  cancel|end|cease all|these|those|your|ur|the|any|further <any>* <texts> <any>* $
  cease <any>* contact|communication|communications
  do+not|dont disturb|contact|text $

  no|nunca|jamas|ni ya? me|nos ya? <esPester>
  no|nunca|jamas ya? me|nos ya? <esSend> <esAny>* <esTexts>
  no|nunca|jamas ya? me|nos ya? <esSend> <esAny>* mas|nada $
  no|nunca|jamas ya? me|nos ya? <esSend> <esAny>* $
  no ya? me|nos? vuelva|vuelvas|vuelvan|vuelve a <esInfinitive>|escribir|mandar|enviar|contactar|molestar
  no|sin <esSend>|mandar|enviar|mandarme|enviarme <esAny>* <esTexts>
  ^ no me? <esSend> mas|nada|nada+mas $
  ^ no <esPester> mas|nunca <esAny>* $
  no me|nos busque|busquen|busques|hable|hablen|hables mas
  quiero|quisiera|queremos|deseo dejar de recibir
  parar|detener|detengan|detenga|cancelar|terminar|no+quiero <esAny>* <esTexts> $
  no <esInfinitive>|molestar|escribir|contactar $
  !no|nunca deje|deja|dejen|dejad|pare|para|paren|parar|basta|alto|cese|cesen|dejar|termine|terminen ya? de <esAny>* <esInfinitive>
  favor|porfavor|porfa de? no <esInfinitive>
  pare|paren|basta|alto|cese|cesen|stop ya? de|con|a? <esAny>* <esTexts>
  no quiero|deseo|quisiera|queremos|acepto|autorizo|necesito ya|mas|seguir|recibir|recibiendo|que|me|nos|sigan|siga* <esAny>* recibir|recibiendo|manden|mande|envien|envie|tener? <esAny>* <esTexts>
  no quiero|deseo|quisiera que? ser|me|nos <esAny>* contactado|contactada|contacten|contacte|escriban|escriba|molesten|moleste|manden|mande|envien|envie
  no quiero|deseo recibir <esAny>* $
  dejeme|dejame|dejenme|dejenos|dejennos|dejadme ya? en+paz|tranquilo|tranquila|tranquilos
  borre|borren|borra|borrar|borrame|borreme|borrenme|elimine|elimina|eliminen|eliminar|elimineme|eliminame|eliminenme|quite|quita|quiten|quitar|quiteme|quitame|quitenme|saque|saca|saquen|sacar|saqueme|sacame|saquenme|remueva|remuevan|remuevame|remuevanme mi|este|el|nuestro numero|telefono|celular|cel
  borrame|borreme|borrenme|elimineme|eliminame|eliminenme|quiteme|quitame|quitenme|saqueme|sacame|saquenme|remuevame|remuevanme|salir|borrarme|eliminarme|quitarme|sacarme de <esAny>* lista|listas|base|sistema|contactos
  borrame|borreme|borrenme|elimineme|eliminame|eliminenme|quiteme|quitame|quitenme|saqueme|sacame|saquenme $
  dame|deme|denme|darme|darse|dar|dan|denos de baja
  !hay|son|tengo no mas <esAny>* <esTexts>
  cancelar|cancele|cancela|cancelen <esAny>* <esTexts>
  desuscribir|desuscribirme|desuscribame|desuscribeme|desinscribir|desinscribirme|desinscribame

  ne|n m|me|nous? <frPester> plus|pas|jamais|surtout+pas
  ne|n m|me|nous? <frSend> plus|pas|jamais <frAny>* <frTexts>
  ne|n m|me|nous? <frSend> plus|jamais|rien <frAny>* $
  ne plus|pas|jamais m|me|nous? <frPester>
  ne plus|pas|jamais rien? m|me|nous? <frSend>|recevoir|avoir <frAny>* <frTexts>
  ne plus|jamais rien? m|me|nous? <frSend>|recevoir|avoir <frAny>* $
  m|me|nous <frPester> plus|pas $
  m|me|nous <frSend> plus de|d|vos|rien|ces|aucun <frAny>* <frTexts>
  m|me|nous <frSend> plus|pas rien|ca? $
  !ne|n|pas arrete|arretez|arreter|arretes|cesse|cessez|cesser|stop|stopper|stoppez de|d|a <frAny>* <frPester>
  !ne|n|pas arrete|arretez|arreter|arretes|cesse|cessez|cesser|stop|stopper|stoppez de|d|a <frAny>* <frSend> <frAny>* <frTexts>
  !ne|n|pas arrete|arretez|arreter|arretes|cesse|cessez|cesser|stop|stopper|stoppez de|d|a <frAny>* <frSend> <frAny>* $
  !ne|n|pas arrete|arretez|arreter|arretes|cesse|cessez|cesser|stop|stopper|stoppez <frAny>* <frTexts> <frAny>* $
  veux|souhaite|desire|voudrais|accepte|voulons|souhaitons plus|pas|rien recevoir|etre|avoir|que|vous|rien? <frAny>* <frTexts>|contacte|contactee|sollicite|sollicitee|derange|derangee
  veux|souhaite|desire|voudrais|voulons|souhaitons plus|pas <frAny>* recevoir|ecriviez|contactiez <frAny>* <frTexts>
  veux|souhaite|desire plus rien? recevoir <frAny>* $
  retirez|retire|retirer|supprimez|supprime|supprimer|enlevez|enleve|enlever|effacez|efface|effacer|rayez|raye|otez|sortez moi|me|m|nous|mon|ce <frAny>* liste|listes|fichier|fichiers|base|contacts
  retirez|retire|retirer|supprimez|supprime|supprimer|enlevez|enleve|enlever|effacez|efface|effacer|rayez|oubliez mon|ce numero|telephone|portable
  desabonnez|desabonne|desinscrivez|desinscris|desinscrit moi|nous
  me|m|nous|se desabonner|desinscrire
  me|m|nous|de retirer|supprimer|enlever|effacer|oter moi|me|m? <frAny>* liste|listes|fichier|fichiers|base|contacts
  laissez|laisse|foutez|fous|fichez|fiche moi|nous tranquille|tranquilles|la+paix|en+paix
  ^ plus|pas de|d|aucun <frTexts> <frAny>* $
  plus aucun <frTexts>
  merci d|de|vouloir* arreter|cesser <frAny>* $

  אל|לא|בלי|שלא <hePester>
  אל|לא|בלי|שלא <heSend> <heAny>* <heTexts>
  אל|לא|בלי|שלא <heSend> <heAny>* יותר
  אל|לא|בלי|שלא <heSend> <heAny>* $
  !אל|לא <heStop> <heAny>* <heSend>|<hePester>|לחפור|להפציץ|להפגיז|לשגע|להספים
  !אל|לא <heStop> כבר|עם|את|בבקשה* <heTexts>
  לא רוצה|רוצים|מעוניין|מעוניינת|מעונין|מעונינת|מעוניינים|מבקש|מבקשת|מסכים|מסכימה|מאשר|מאשרת|צריך|צריכה <heAny>* שתשלחו|שתשלח? <heAny>* <heTexts>
  לא רוצה|רוצים|מעוניין|מעוניינת|מעונין|מעונינת|מעוניינים יותר|עוד* לקבל <heAny>* $
  <heRemove> <heAny>* אותי|אותנו|מספרי|את+המספר|את+מספר|את+הטלפון|מהרשימה|מרשימת|מהתפוצה|מתפוצה|מרשימות
  תעזבו|תעזוב|תעזבי|עזבו|עזוב|עזבי אותי|אותנו
  תניחו|תניח|הניחו לי|לנו
  מבקש|מבקשת|מבקשים|אבקש|רוצה|בקשה|בקשת|נא|אנא|בבקשה להסיר|להסירני|הסרה|להסרה|להתנתק|לצאת+מהרשימה
  ^ הסרה|להסרה|הסירוני <heAny>* $

  nao|nunca me|nos? mande|mandem|manda|envie|enviem|escreva|escrevam|contate|contatem|perturbe|perturbem|incomode|incomodem|mandar|enviar <ptAny>* <ptTexts>
  nao|nunca me|nos escreva|escrevam|contate|contatem|perturbe|perturbem|incomode|incomodem
  nao|nunca me|nos mande|mandem|envie|enviem mais|nada $
  !nao pare|parem|para|parar|chega de <ptAny>* mandar|enviar|escrever|contatar|perturbar|incomodar|mensagens
  nao quero|desejo mais|receber* <ptAny>* <ptTexts>
  me tire|tira|tirem|remova|removam|exclua|excluam da|do|dessa|desta|de|sua|essa* lista|contatos
  me deixe|deixa|deixem em+paz

  keine|nie+wieder|nicht+mehr <deAny>* <deTexts> mehr|bitte|schicken|senden* $
  schreib|schreibt|schreiben|schick|schickt|schicken|sende|senden|kontaktieren|kontaktiere|kontaktiert sie? mir|mich|uns <deAny>* nicht|nie|keine <deAny>* <deTexts>? mehr|wieder|$
  hor|hort|horen|horn sie|bitte|endlich* auf mir|mich|uns* <deAny>* zu? schreiben|schicken|kontaktieren|belastigen|$
  lass|lasst|lassen sie? mich|uns <deAny>* in+ruhe
  streichen|entfernen|loschen|nehmen|entferne|losche|streiche sie? mich|uns|meine+nummer
  will|mochte|wunsche|wollen keine <deAny>* <deTexts>

  שיק|שיקט|שרייב|שרייבט|טעקסט מיר|אונז נישט|ניט|קיין
  נישט|ניט שיקן|שרייבן|טעקסטן מער|מיר|$
  הער|הערט שוין? אויף צו? שיקן|שרייבן|טעקסטן|$
  נעם|נעמט מיך אראפ
  לאז|לאזט מיך צורו|צו+רו|געמאך|אליין
`;

/** Parts that make such a clause doubtful: it is limited to a time, an occasion or another person. */
const limited = `
  until|till|unless|before|after|while|when|during|tonight|today|tomorrow|tonite|if
  monday|tuesday|wednesday|thursday|friday|saturday|sunday|morning|mornings|evening|night|nights|weekend|weekends
  at work|home|school|\\d+
  so early|late
  for now|today|a+while
  instead
  hasta|antes|despues|durante|cuando|mientras|noche|noches|hoy|lunes|martes|miercoles|jueves|viernes|sabado|domingo
  por+la|en+la|de+la|a+la manana|tarde|noche
  al|en|a+mi|a+este correo|email|trabajo
  a las
  avant|pendant|quand|lorsque|tant|soir|matin|nuit|demain|aujourd|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche
  au travail|bureau
  לפני|אחרי|בלילה|בבוקר|בערב|בשבת|היום|מחר|עד|כש|אם|בעבודה
  bis|vor|nach|wahrend|wenn|heute|morgen|abends|nachts
  ate|antes|quando|hoje|amanha
`;

/** Clauses that may be opt-outs: the text is not answered, but no opt-out is stored. */
const doubtful = `
  !did|does|how|to|cant|cannot|i|we|they|he|she|it <stop> _? _? _? texting|messaging|contacting|spamming|bothering|sending|calling|emailing|<texts>
  if|when|once you|u <stop> texting|messaging|sending
  !i|we|they|you|u|why|he|she <not> please|ever* text|message|contact|bother|spam|send+me me|us|my|him|her|them|this|anyone
  unsubscribe|unsubscribed|opt+out|opted+out|opting+out
  not|no|zero|never interested|interest $
  never|didnt|did+not|dont|havent|do+not sign|signed|subscribe|subscribed|ask|asked|request|requested|consent|consented|opt|opted up|to|for|in|this|these|$
  dont|do+not|didnt want|need|like this|these|it|that|any+of+this $
  harassment|harassing|harassed|tcpa|ftc|fcc|dnc
  on the? do+not+call+list|dnc
  report|reporting|reported|blocking|blocked you|u|this|and|your|ur|number|$
  fuck|f|screw you|u|off $
  go away|to+hell
  get lost $
  no me|nos ya? <esSend>|<esPester>|llame|llames|llamen|llama|hable|hables|hablen
  no me|nos interesa|interesan
  no estoy|estamos interesado|interesada|interesados
  deje|deja|dejen|pare|paren de llamar|llamarme|llamarnos
  no quiero nada|esto|eso $
  pas|plus|aucunement interesse|interessee|interesses
  ne|n m|me|nous? <frSend>|<frPester>|appelez|appelle|telephonez|rappelez pas|plus|jamais
  arrete|arretez|cessez|cesse de|d m|me|nous <frAny>* appeler|telephoner|envoyer
  harcelement|arnaque
  לא מעוניין|מעוניינת|מעונין|מעונינת|מעוניינים
  אל|לא תתקשר|תתקשרו|תתקשרי|<heSend>|להתקשר
  <heStop> להתקשר|לצלצל
  הטרדה
  kein interesse
  nao tenho? interesse
  nao estou interessado|interessada
`;

/** Clauses that support an opt-out in another clause, but are none themselves. */
const distant = `
  who is|are|r|dis|s|the this|you|u|it|that|hell|$
  whos|who+s this|that
  wrong number|person|guy|phone|contact|lady
  do i know
  dont|do+not know|remember you|u|who|this|him|her
  this|my+name|name|i|im|am is|am? not _
  no one|body here|by
  new number|phone
  already bought|sold|have|told|said|asked
  spam|scam|lawyer|attorney|police|sue|illegal|harassment
  i|ive|we have? asked|told you|u
  why do|are|r|is you|u
  enough|annoying|tired|sick
  quien es|eres|habla|son
  numero equivocado
  no soy|conozco|lo|la|le conozco?
  equivocado|equivocada
  qui est|etes|es|c
  c est qui
  mauvais|faux|pas+le+bon numero
  trompez|trompe
  מי זה|זאת|זו|אתה|את|אתם
  טעות
  מספר לא
  לא מכיר|מכירה
  quem e|fala
  falsche nummer
  wer ist|sind
`;

/** Clauses that name another way to reach the writer, so an opt-out may not mean all texts. */
const elsewhere = `
  ^ please|pls|just|you|can|or|but|and|only|so|rather|better* call|phone|ring|email|whatsapp|dial me|us|my|instead|him|her|back
  ^ please|pls|just|only|but|and|or|you|can* text|message|send me|us|my|only|instead|him|her|it
  ^ please|pls|just|only|but* use|try
  ^ please|pls|just|you|can|but|only* call|phone|email|ring $
  ^ mejor|por|favor|solo|pero* llame|llameme|llamame|llamenme|llamen|escribame|escribeme|mandeme|mandame
  ^ appelez|appelle|telephonez|rappelez|ecrivez|envoyez|ecris|envoie moi|nous
  ^ תתקשר|תתקשרו|התקשרו|תשלחו|תשלח
  ^ rufen|ruf sie? mich|an
`;

/** Stop words with another meaning. They are removed from a clause before it is matched. */
const harmless = `
  !you|u|why dont|do+not|never|cant|cannot|can+not|couldnt|could+not|wont|wouldnt|will+not|doesnt|does+not|didnt|did+not|not|without|non ever|you|please|even* stop|stopping|quit
  did|does|do|has|have you|he|she|they|it|the _? stop|quit
  stop by|over|in|at|for|off|on|sign|signs|light|lights|and+shop|loss|watch
  truck|bus|door|pit|one|full|train|subway|a|the|last|next|first|which|what stop
  no deje|dejes|dejen|pare|pares|paren|para de
  no puedo|puede|paro|pude parar|dejar|de
  ne|n arretez|arrete|arretes|arreter|cessez pas|jamais
  אל|לא תפסיק|תפסיקו|תפסיקי|מפסיק|מפסיקה|מפסיקים
  nao pare|parem|para de?
`;

/** Laughter: a "stop" beside it is rarely meant. */
export const laughter =
  /(?:^| )(?:lol|lmao|lmfao|rofl|ha(?:ha)+h?|he(?:he)+|ja(?:ja)+|xd|mdr|ptdr|omg|kk+|ח{3,})(?: |$)|😂|🤣|😆|😅|😜|😉/u;

/** Words that join two parts of a clause. */
export const conjunctions = / (?:and|but|so|because|cuz|y|pero|porque|et|mais|car|und|aber|mas|אבל|כי) /;

function compiled(patterns: string): RegExp {
  const sources = patterns
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => line.split(/\s+/).map(itemSource).join(''));
  return new RegExp(`(?<= )(?:${sources.join('|')})`, 'u');
}

function itemSource(item: string): string {
  if (item === '^') return '(?<=^ )';
  if (item === '$') return '$';
  if (item.startsWith('!')) return `(?<! ${wordSource(item.slice(1))})`;
  if (item.endsWith('*')) return `(?:${wordSource(item.slice(0, -1))}){0,8}`;
  if (item.endsWith('?')) return `(?:${wordSource(item.slice(0, -1))})?`;
  return wordSource(item);
}

/** Any of several words and the space after it; `$` among them is the end of the clause. */
function wordSource(item: string): string {
  const words = item
    .replace(/<(\w+)>/g, (_, name: string) => lists[name] ?? '')
    .split('|')
    .map((word) => (word === '$' ? '$' : word === '_' ? '[^ ]+ ' : `${word.replaceAll('+', ' ')} `));
  return `(?:${[...new Set(words)].join('|')})`;
}

const expressions = {
  certain: compiled(certain),
  limited: compiled(limited),
  doubtful: compiled(doubtful),
  distant: compiled(distant),
  elsewhere: compiled(elsewhere),
};
const harmlessParts = new RegExp(compiled(harmless).source, 'gu');

/** The meaning of a clause for texts to its writer. */
export type ClauseSense = 'certain' | 'doubtful' | 'distant' | 'elsewhere' | 'other';

/** Classifies a clause of plain words with one space between them. */
export function senseOf(clause: string): ClauseSense {
  const plain = ` ${clause} `.replace(harmlessParts, '· ');
  if (expressions.certain.test(plain)) return expressions.limited.test(plain) ? 'doubtful' : 'certain';
  if (expressions.doubtful.test(plain)) return 'doubtful';
  if (expressions.elsewhere.test(plain)) return 'elsewhere';
  return expressions.distant.test(plain) ? 'distant' : 'other';
}
