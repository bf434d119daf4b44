/*
 * Patterns of opt-outs, by language. They match one clause: lower case, without accents and punctuation, one space between words.
 * All languages are tried for every text, because a number does not tell its owner's language.
 *
 * A pattern is a list of items; each matches one word of the clause:
 *   a|b        one of these words; a+b is two words, and a word may be a regular expression
 *   <name>     one word of a list below
 *   _          any word
 *   ~a|b       any word but these; ~a|b? may be missing
 *   item?      may be missing          item*   up to eight such words
 *   ^ and $    the start and the end of the clause
 *   !a|b       the word before is none of these
 * Repetition is bounded, so a pattern takes time linear in the length of the text.
 */

const lists: Readonly<Record<string, string>> = {
  // English
  stop: 'stop|quit|cease|discontinue|halt|refrain+from|desist+from|abstain+from',
  not: 'dont|do+not|never|not+to|please+no',
  // Verbs whose only object is the person.
  pester:
    'texting|messaging|msging|txting|contacting|spamming|spaming|harassing|harrassing|harasing|soliciting|bothering|bugging|pestering|blasting|annoying',
  pesterBase: 'text|tex|message|msg|txt|contact|sms|bother|spam|harass|pester|bug|solicit|txting|texting',
  person: 'me|us|this+number|this+phone|my+number|my+phone|my+cell|my+cellphone|here',
  texts:
    'texts|txts|messages|messagess|msgs|mesages|messages|sms|mms|alerts|notifications|communication|communications|solicitations|spam|crap|shit|bullshit|garbage|stuff',
  any: 'me|us|my|this|that|the|these|those|any|all|your|ur|youre|such|of|it|more|anymore|again|ever|so|many|to|at|on|number|phone|cell|from|you|u|and|or|fucking|freaking|f|ing|damn|goddamn|please|pls|with|already|immediately|now|guys|text|automated|unwanted|unsolicited|stupid|annoying|further|other|another|kind|kinds|sort|both|calls|calling|random|just|also|ur',
  // Words after a leading "stop" that say what or where to stop, as opposed to a name or an insult.
  stopObject:
    'by|over|in|at|for|off|on|up|near|outside|inside|around|behind|before|after|from|until|till|with|without|to|if|when|where|while|and|or|n|not|here|there|home|left|right|ahead|back|down|downtown|upstairs|downstairs|curbside|next|first|last|later|soon|early|late|quickly|briefly|again|asap|anytime|sometime|today|tonight|tomorrow|then|once|a|an|the|my|our|his|her|their|him|them|it|[a-z]*ing|[0-9]{1,6}[a-z]*|go|fire|everything|claim|operations|[a-z]*day|light|lights|sign|signs|shop|watch|loss|motion|job|jobs|work|service|services|payment|payments|autopay|order|orders|delivery|deliveries|mail|check|checks|water|alarm|leak|leaks|noise|machine|pump|clock|time|bus|car|truck|train|date|link|button|page|whatever|anywhere|somewhere|wherever|is|was|are|number|one|two|three',
  listKind:
    'mailing|mail|message|email|marketing|phone|contact|contacts|call|texting|messaging|messages|sms|broadcast|blast|subscriber|subscribers|subscription|promo|promotional|customer|client|group|company|companys|telemarketing|spam|whole|entire|every|dumb|bloody|darn|whatever|s|alert|alerts|distribution|sales|advertising|ad|list|and',
  list: 'list|lists|system|database|contacts|records|registry|texts|messages|distribution',
  // Spanish
  esSend: 'mande|mandes|manden|mandeis|mandas|manda|mandan|envie|envies|envien|envieis|envias|envia|envian',
  esPester:
    'escriba|escribas|escriban|escribais|escribes|escribe|contacte|contactes|contacten|contactan|moleste|molestes|molesten|molestan|texte|textes|texteen|textee|textees|mensajee|mensajees|mensajeen|fastidie|fastidien|hostigue|hostiguen|acose|acosen|joda|jodan',
  esKeep: 'siga|sigas|sigan|sigais|este|estes|esten|esteis|ande|andes|anden|continue|continues|continuen',
  esPestering:
    'escribiendo(?:me)?|molestando(?:me)?|contactando(?:me)?|texteando(?:me)?|mensajeando(?:me)?|fastidiando(?:me)?|acosando(?:me)?|hostigando(?:me)?|jodiendo|chingando|spameando',
  esTexts:
    'mensaje|mensajes|mensajitos|mensages|mensaj|msj|msjs|msg|msgs|texto|textos|sms|publicidad|propaganda|spam|promociones|notificaciones',
  esInfinitive:
    'chingar|chingarme|fregar|llenarme|mandar|mandarme|mandarnos|mandando|enviar|enviarme|enviarnos|escribir|escribirme|escribirnos|molestar|molestarme|molestarnos|contactar|contactarme|contactarnos|textear|textearme|fastidiar|fastidiarme|acosar|acosarme|hostigar|joder|joderme|mensajear|mensajearme',
  esAny:
    'mas|ya|por|favor|porfavor|porfa|x|nada|ningun|ninguna|ningunos|tantos|tantas|sus|su|tus|tu|esta|esa|estos|estas|esos|esas|los|las|el|la|este|ese|otro|otra|otros|otras|a|mi|numero|celular|telefono|de|del|ustedes|usted|ti|nunca|jamas|nuevo|vez|que|me|nos|con|mensajes',
  // French
  frPester:
    'ecrivez|ecris|ecrire|ecrives|contactez|contacte|contactes|contacter|derangez|derange|deranges|deranger|embetez|embete|embeter|harcelez|harcele|harceler|textez|texte|texter|spammez|spammer|sollicitez|solliciter|relancez|relancer|importunez|importuner|ecriviez|contactiez|derangiez|textiez|harceliez|embetiez',
  frSend: 'menvoyez|menvoyer|menvoie|envoyez|envoie|envoies|envoi|envoye|envoyer|envoyiez|adressez|adresser',
  frTexts:
    'message|messages|msg|msgs|sms|texto|textos|texte|textes|pub|pubs|publicite|publicites|spam|spams|notification|notifications|mms|envois|contact|contacts|communication|communications|sollicitation|sollicitations|promotions|promos',
  frAny:
    'm|me|moi|nous|de|d|du|des|vos|votre|ces|ce|cette|tes|ton|les|la|le|l|aux|au|a|ca|cela|rien|aucun|aucune|plus|pas|jamais|tous|toutes|tout|svp|stp|merci|par|vous|sur|mon|numero|telephone|portable|s|il|plait|avec|autre|autres|bordel|putain',
  frRemove:
    'retirez|retire|retirer|retiriez|supprimez|supprime|supprimer|supprimiez|enlevez|enleve|enlever|enleviez|effacez|efface|effacer|effaciez|rayez|raye|radiez|otez|sortez|desinscriviez|desabonniez',
  // Hebrew
  heSend: 'תשלח|תשלחו|תשלחי|לשלוח|שולחים|תשלחנה',
  hePester:
    'תכתוב|תכתבו|תכתבי|תסמס|תסמסו|תסמסי|תפנה|תפנו|תפני|תטריד|תטרידו|תטרידי|תציק|תציקו|תציקי|לכתוב|לסמס|לפנות|להטריד|להציק|תי?צו?רו?י?(?: [אע][תימנו]{1,5})?+קשר|לי?צור(?: [אע][תימנו]{1,5})?+קשר',
  heTexts:
    '[הבמלו]?הודעות|[הבמלו]?הודעה|[הבמלו]?סמסים|[הב]?סמס|[הב]?אסמסים|[הב]?מסרונים|[הב]?פרסומות|[הב]?פרסום|[הב]?ספאם|sms',
  heAny:
    'לי|לנו|אלי|אליי|אלינו|אותי|אותנו|יותר|עוד|כבר|שום|בבקשה|נא|תודה|את|עם|מכם|ממך|מכאן|האלה|האלו|הזה|הזאת|למספר|הזה|הטלפון|של|שלי|שלכם|אף|פעם|בכלל|לקבל|כאלה|ה',
  heStop: 'ש?תפסיק|ש?תפסיקו|ש?תפסיקי|הפסק|הפסיקו|הפסיקי|להפסיק|די|מספיק|חדל|חדלו|תחדלו|תחדל',
  heRemove: 'הסר|הסירו|הסירי|ש?תסיר|ש?תסירו|ש?תסירי|להסיר|ש?תמחק|ש?תמחקו|ש?תמחקי|מחק|מחקו|למחוק|תחסמו|תחסום',
  // Also "drop off" and "take out".
  heTake: 'ש?תוריד|ש?תורידו|ש?תורידי|להוריד|הורד|הורידו|הורידי|ש?תוציא|ש?תוציאו|ש?תוציאי|הוצא|הוציאו|הוציאי|להוציא',
  heFromList: 'מהרשימה|מרשימה|מהרשימות|מרשימת|מרשימות|מהתפוצה|מתפוצה|מהמאגר|מהמערכת|מהקבוצה|מאנשי+הקשר|מהדיוור',
  // Portuguese, German, Yiddish
  ptAny: 'mais|me|nos|por|favor|nada|suas|seus|essas|esses|estas|de|a|as|os|para|mim|nenhuma|nunca',
  ptTexts: 'mensagem|mensagens|msg|msgs|sms|mensagems|propaganda|spam|textos',
  deAny:
    'mir|uns|bitte|mehr|nie|nicht|keine|wieder|solche|diese|weitere|weiteren|ihre|eure|an|diese|nummer|noch|endlich|damit|zu|so|viele',
  itTexts: 'messaggi|messaggio|sms|pubblicita|spam|niente|nulla',
  deTexts: 'sms|nachrichten|nachricht|werbung|texte|mitteilungen|spam',
};

/** Clauses that opt out. */
const certain = `
  <stop> <any>|emailing* <pester> <person>
  <stop> <any>* <pester> <any>* $
  <stop> <any>* sending <any>* <texts>
  <stop> <any>* sending <any>* $
  <stop> <any>* blowing|blowin up
  <stop> <any>* <texts> $
  <stop> <any>* <texts> to|from me|us|you|my+phone|this+number|$
  <stop> <any>* <texts> <any>* $
  !i|we|they|you|u|why|he|she <not> you|u|guys|ever|please|fucking|even|dare|keep|be|go|start* <pesterBase>|<pester> <person>
  !i|we|they|you|u|why|he|she|prefer|rather|try|trying <not> you|u|guys|ever|please|even* text|message|msg|txt|contact|texting again|anymore|any+more|no+more|$
  !i|we|they|you|u|why|he|she <not> you|u|ever|please|keep|be* send|sending <any>* <texts>
  !i|we|they|you|u|why|he|she <not> you|u|ever|please|keep* send <any>* more|anymore|again|anything|anything+else|nothing|nothing+else|another+text|another+message|another+one $
  dont|do+not|no+longer|never|not want|wanna|wish|need|like|care|desire|authorize|consent|agree|wants <any>* receive|get|getting|receiving|have|see|for? <any>* <texts>
  dont|do+not|no+longer|never|not want|wanna|wish|like|care|agree|consent <any>* be|being|get|getting contacted|texted|messaged|bothered|spammed
  dont|do+not|no+longer|never want|wanna|wish|care to receive|get|getting|hear these|this|those|them|any|anything|from|more
  no+longer want|wish|like to? receive|get <any>* $
  unsubscribe|unsub|remove|delete|erase|block|exclude me|us|my+info|my+information|my+details|my+contact+info|my+contact $
  unsubscribe|unsub me|us
  not|dont|never|no|didnt _? _? _? permission|consent to text|contact|message|msg|send|be
  want|wanna|like|wish|need|trying|how+do+i to? stop getting|receiving <any>* <texts>? <any>* $
  make|get|want|need|need+all|want+all <any>* <texts> to? stop $
  can|could|would|will you|u please? not text|message|msg|contact|txt me|us|this+number
  deactivate|disable|mute|terminate <any>* <texts> $
  put|add|place me|us|this+number|my+number on|to|in the|your|a|ur? do+not|dont|no text|contact|message list|lists|registry
  want|wanna|like|wish|need|trying|asking|ask|please|i|can+i|do+i|do+we|would|to to? unsubscribe|unsub|opt+out|opt+me+out|be+removed|be+taken+off <any>|<texts>* $
  opting out <any>|<texts>* $
  how|where to|do|can|could|i|we|you* stop|end|cancel|get+out+of|get+off|turn+off|block <any>|getting|receiving* <texts> $
  opt me|us out of? <any>|future|all|receiving* <texts>?
  cancel|end|stop <any>* subscription to? <any>* <texts>
  remove|delete|take|erase|drop|scratch|get|purge|strike|exclude me|us|my+number|this+number|my+phone|my+cell|my+name|my+phone+number|my+cell+number|my+mobile+number|the+number|my+info off|from|out of? <any>|<listKind>* <list>
  want|wanna|get|be|like|need|taken|removed|me|us off|out+of|from your|ur|this|the|that|any|all <any>|<listKind>* list|lists|database
  lose|delete|forget|erase|remove|block|scratch my|this phone|cell|mobile? number $
  lose|forget my phone|cell? number
  take|get my name|number off $
  no more <pester> please? $
  consent|permission is|has|been* revoked|withdrawn|rescinded
  no longer consent|authorize $|to
  take+off|strike|get+rid+of|throw+away my number|name|info $|from|off
  remove|delete|erase|get my number|phone+number|contact from|out+of|off your|ur|this|all
  revoke|revoking|withdraw|withdrawing|rescind|rescinding|take+back my? consent|permission|authorization
  <stop> reaching+out|writing to? me|us
  !i|we|they|you|u|why|he|she <not> ever|please* reach+out|write to? me|us? again|anymore|any+more|$
  leave me|us <any>* the? hell|fuck|fk|f? alone
  leave me|us be $
  !are|have|has|had|got|see|were|is|there no|zero more|further <any>* <texts>
  no <texts> please|pls|thanks|thank+you $
  enough <any>* <texts>
  i|ive|have|already|we|for+the+last+time|last+time|again said|say|told|tell|asked|ask|telling|asking|begging|beg|need|want|saying <any>* _? _? to? stop $
  ^ said|told|asked you|u? guys? to? stop $
  !i|we|he|she|they|it|that|this can|could|will|would|wont|please|pls|plz you|u|guys|please|just|pls* stop $
  turn|shut off <any>* <texts>
  cancel|end|cease all|these|those|your|ur|the|any|further <any>* <texts> <any>* $
  cease <any>* contact|communication|communications
  do+not|dont disturb|contact|text $

  no|nunca|jamas|ni ya? me|nos ya? <esPester>
  no|nunca|jamas ya? me|nos ya? <esSend> <esAny>* <esTexts>
  no|nunca|jamas ya? me|nos ya? <esSend> <esAny>* mas|nada $
  no|nunca|jamas ya? me|nos ya? <esSend> <esAny>* $
  no ya? me|nos? <esKeep> <esPestering>
  no ya? me|nos? <esKeep> mandando|enviando|mandandome|enviandome <esAny>* <esTexts>|$
  !no me|nos pueden|puede|puedes|podrian|podria|podrias? quitar|sacar|borrar|eliminar|remover|dar+de+baja|quita|quitan|quiten|quite|quites|sacan|saquen|saque|saques|borren|borre|borres|eliminen|elimine|elimines de <esAny>* lista|listas|base|sistema|contactos
  !no que me|nos borren|borre|borres|eliminen|elimine|elimines $
  dejo+de|dejar+de|para+no|prefiero+no|deseo+no|quiero+no recibir <esAny>* <esTexts>
  solicito|quiero|pido|deseo|tramitar la|mi baja $
  suspender|suspendan|suspenda <esAny>* <esTexts>
  evite|eviten|abstenganse|abstengase|abstenerse de? <esInfinitive>
  olvidense|olvidese|olvidate|olviden|olvide de+mi|mi+numero
  como|donde cancelo|cancelar|paro|parar|detengo|detener|bloqueo|elimino <esAny>* <esTexts> $
  como|donde me salgo|quito|borro|elimino|desuscribo|desinscribo|puedo+salir de <esAny>* lista|listas|base|sistema|<esTexts>
  no ya? me|nos? vuelva|vuelvas|vuelvan|vuelve a <esInfinitive>|escribir|mandar|enviar|contactar|molestar
  no|sin <esSend>|mandar|enviar|mandarme|enviarme <esAny>* <esTexts>
  ^ no me? <esSend> mas|nada|nada+mas $
  ^ no <esPester> mas|nunca <esAny>* $
  no me|nos busque|busquen|busques|hable|hablen|hables mas
  quiero|quisiera|queremos|deseo dejar de recibir
  parar|detener|detengan|detenga|cancelar|terminar|no+quiero <esAny>* <esTexts> $
  no <esInfinitive>|molestar|escribir|contactar $
  !no|nunca deje|deja|dejen|dejad|dejenme|dejeme|dejame|pare|para|paren|parar|basta|alto|cese|cesen|dejar|termine|terminen ya? de <esAny>|estar|seguir* <esInfinitive>|<esPestering>
  favor|porfavor|porfa de? no <esInfinitive>
  pare|paren|parenle|parele|basta|alto|cese|cesen|stop ya? de|con|a? <esAny>* <esTexts>
  no quiero|deseo|quisiera|queremos|acepto|autorizo|necesito ya|mas|seguir|recibir|recibiendo|que|me|nos|sigan|siga* <esAny>* recibir|recibiendo|manden|mande|envien|envie|tener? <esAny>* <esTexts>
  no quiero|deseo|quisiera que? ser|me|nos <esAny>* contactado|contactada|contacten|contacte|escriban|escriba|molesten|moleste|manden|mande|envien|envie
  no quiero|deseo recibir <esAny>* $
  no quiero|deseo|quisiera que me|nos <esKeep> <esPestering>|mandando|enviando
  dejeme|dejame|dejenme|dejenos|dejennos|dejadme ya? en+paz|tranquilo|tranquila|tranquilos
  borre|borren|borra|borrar|borrame|borreme|borrenme|elimine|elimina|eliminen|eliminar|elimineme|eliminame|eliminenme|quite|quita|quiten|quitar|quiteme|quitame|quitenme|saque|saca|saquen|sacar|saqueme|sacame|saquenme|remover|remueva|remuevan|remuevame|remuevanme mi|mis|este|el|nuestro numero|telefono|celular|cel|datos|nombre+de+la+lista|nombre+de+su+lista
  me|nos dejen|deje|dejes en+paz
  borrame|borreme|borrenme|elimineme|eliminame|eliminenme|quiteme|quitame|quitenme|saqueme|sacame|saquenme|remuevame|remuevanme|salir|borrarme|eliminarme|quitarme|sacarme de <esAny>* lista|listas|base|sistema|contactos
  borrame|borreme|borrenme|elimineme|eliminame|eliminenme|quiteme|quitame|quitenme|saqueme|sacame|saquenme|remuevame|remuevanme $
  dame|deme|denme|darme|darse|dar|dan|den|doy|damos|denos de baja
  !hay|son|tengo no mas <esAny>* <esTexts>
  cancelar|cancele|cancela|cancelen <esAny>* <esTexts>
  desuscribir|desuscribirme|desuscribanme|desuscribanos|desuscribame|desuscribeme|desinscribir|desinscribirme|desinscribame

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
  <frRemove> moi|me|m|nous|mon|ce|mon+nom|mes+coordonnees <frAny>* liste|listes|fichier|fichiers|base|contacts
  <frRemove>|oubliez mon|mes|ce numero|telephone|portable|coordonnees|donnees|infos|informations
  !pas veux|voudrais|souhaite|demande|exige|aimerais|aimerai|voulons|souhaitons|faut que vous|tu|ca|cela s? arretiez|arretes|arrete|cessiez|cesses|cesse <frAny>|sms|messages|envois|suite|maintenant|immediatement* $|<frPester>|<frSend>
  que vous|tu me|m|nous <frRemove> $|de+la+liste|de+votre+liste|de+vos+listes|de+cette+liste
  ^ veuillez|merci|de|vous|devez|il|faut|pouvez|ca|suffit|bon|mais* arretez|arrete|cessez|cesse|arreter|cesser|stoppez|stopper avec|tout|ca|cela|maintenant|immediatement|definitivement|svp|stp|s|il|te|vous|plait|merci|de|suite|deja* $
  vous|te|vous+en demande|prie|supplie|ordonne d|de arreter|cesser <frAny>* $|<frPester>|<frSend>
  etre|sois|soyons retire|retiree|enleve|enlevee|supprime|supprimee|efface|effacee|raye|rayee|radie|desinscrit|desinscrite|desabonne|desabonnee de <frAny>* liste|listes|fichier|fichiers|base|contacts
  veuillez|merci+de|pouvez+vous|pourriez+vous me|nous desinscrire|retirer|supprimer|enlever|effacer|desabonner svp|s+il+vous+plait? $
  ^ veuillez|svp|merci|bon* retirez|retire|supprimez|supprime|effacez|efface|radiez|enlevez|enleve moi|nous svp|merci|stp? $
  comment je|on|puis? me|se|m|je* desabonne|desinscrit|desinscris
  refuse|oppose de|d|a|tout* recevoir? <frAny>* <frTexts>
  lachez|lache moi|nous $|la+grappe|les+baskets|un+peu
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
  לא רוצה|רוצים|מעוניין|מעוניינת|מעונין|מעונינת|מעוניינים|מבקש|מבקשת|מסכים|מסכימה|מאשר|מאשרת <heAny>* שתשלחו|שתשלח|שתשלחי|שישלחו <heAny>* $
  לא רוצה|רוצים|מעוניין|מעוניינת|מעונין|מעונינת|מעוניינים|מסכים|מסכימה|מאשר|מאשרת <heAny>* שתכתבו|שתכתוב|שתפנו|שתפנה|שתסמסו|שתטרידו|שתציקו|שת?יצרו|שתצרו|שתיצרו|שיפנו|שיכתבו
  לא רוצה|רוצים|מעוניין|מעוניינת|מעונין|מעונינת|מעוניינים יותר|עוד* לקבל <heAny>* $
  !אל|לא <heRemove> <heAny>* אותי|אותנו|מספרי|את+המספר|את+מספר|את+הטלפון|<heFromList>
  !אל|לא <heTake> <heAny>* מספרי|את+המספר|את+מספר|את+הטלפון|<heFromList>
  !לא רוצה|רוצים|מבקש|מבקשת|מבקשים|אבקש ש?תפסיק|ש?תפסיקו|ש?תפסיקי|להפסיק <heAny>* $
  !אל|לא רד|רדו|רדי|תרד|תרדו|תרדי|עוף|עופו|עופי|תעוף|תעופו ממני|ממנו|לי+מהווריד|לי+מהוריד|לי+מהגב
  !אל|לא בטל|בטלו|תבטל|תבטלו|לבטל <heAny>* אותי|<heTexts>
  תעזבו|תעזוב|תעזבי|עזבו|עזוב|עזבי אותי|אותנו
  תניחו|תניח|הניחו לי|לנו
  מבקש|מבקשת|מבקשים|אבקש|רוצה|בקשה|בקשת|נא|אנא|בבקשה להסירני|הסרה|להסרה|להתנתק|לצאת+מהרשימה
  איך אני|אפשר|ניתן* מסיר|מסירה|מסירים|להסיר|מפסיק|מפסיקה|מפסיקים|להפסיק|יוצא|יוצאים|יוצאת|מתנתק|מתנתקים|מבטלים|לבטל <heAny>* את+עצמי|<heTexts>|<heFromList>
  <heRemove>|<heTake> את השם|הפרטים שלי $|<heFromList>
  להיות מוסר|מוסרת|מחוק <heFromList>
  ^ הסרה|להסרה|הסירוני <heAny>* $

  nao|nunca me|nos? mande|mandem|manda|envie|enviem|escreva|escrevam|contate|contatem|perturbe|perturbem|incomode|incomodem|mandar|enviar <ptAny>* <ptTexts>
  nao|nunca me|nos escreva|escrevam|contate|contatem|perturbe|perturbem|incomode|incomodem
  nao|nunca me|nos mande|mandem|envie|enviem mais|nada|mais+nada $
  !nao pare|parem|para|parar|chega de <ptAny>* mandar|enviar|escrever|contatar|perturbar|incomodar|mensagens
  nao quero|desejo mais|receber* <ptAny>* <ptTexts>
  me tire|tira|tirem|remova|removam|exclua|excluam da|do|dessa|desta|de|sua|essa* lista|contatos
  me deixe|deixa|deixem em+paz

  keine|nie+wieder|nicht+mehr <deAny>* <deTexts> mehr|bitte|schicken|senden* $
  keine weitere|weiteren|mehr <deTexts>
  schreib|schreibt|schreiben|schick|schickt|schicken|sende|senden|kontaktieren|kontaktiere|kontaktiert sie? mir|mich|uns <deAny>* nicht|nie|keine <deAny>* <deTexts>? mehr|wieder|$
  hor|hort|horen|horn sie|bitte|endlich* auf mir|mich|uns* <deAny>* zu? schreiben|schicken|kontaktieren|belastigen|$
  lass|lasst|lassen sie? mich|uns <deAny>* in+ruhe
  streichen|entfernen|loschen|nehmen|entferne|losche|streiche sie? mich|uns|meine+nummer
  will|mochte|wunsche|wollen keine <deAny>* <deTexts>

  non mandatemi|mandarmi|mandate|mandi|inviatemi|inviarmi|inviate|invii piu|altri|i|vostri|questi|nessun|a|mai* <itTexts>|piu
  non mi? scrivetemi|scrivermi|scrivete|scriva|contattatemi|contattarmi|contatti|contattate|disturbatemi|disturbarmi|disturbate|disturbi $|piu|mai
  non voglio|vogliamo|desidero piu? ricevere? piu|i|vostri|altri|questi* <itTexts>
  !non smettila|smettetela|smettete|smetti|smetta|basta|piantala|piantatela di|con mandarmi|inviarmi|scrivermi|contattarmi|disturbarmi|i+messaggi|questi+messaggi
  toglimi|toglietemi|cancellatemi|rimuovetemi|rimuovimi|eliminatemi|mi+tolga|mi+cancelli dalla|da lista|elenco|questa+lista|vostra+lista
  lasciatemi|lasciami|mi+lasci in+pace

  перестаньте|перестань|хватит|прекратите|прекрати|кончаите|кончаи|довольно уже|мне|нам* писать|слать|присылать|отправлять|беспокоить|спамить|доставать|рассылку|эту+рассылку мне|нам? сообщения|смс|спам|это|сюда|больше|пожалуиста|$
  не пишите|пиши|беспокоите|тревожьте мне|нам|меня|больше|сюда|никогда* больше|никогда|$
  не присылаите|присылаи|шлите|шли|отправляите|отправляи|надсилаите|надо+присылать|надо+слать мне|нам|больше|ваши|эти|никаких* сообщения|сообщении|смс|рекламу|спам|больше
  удалите|удали|уберите|сотрите мои+номер|меня|этот+номер $|из
  отстаньте|отстань от+меня|$
  припиніть|перестаньте мені писати|надсилати

  لا ترسل|ترسلوا|ترسلي|ترسلون|تبعث|تبعثوا|تبعتو لي|لنا|الي|اي|مزيد|المزيد|من|بعد|مرة|اخرى|اخري|تاني* رسايل|رسالة|الرسايل|$
  لا تراسلني|تراسلوني|تراسليني|تزعجني|تزعجوني|تكتب+لي|تكتبوا+لي
  لا اريد|ارغب في|استلام|تلقي|استقبال|اي|مزيد|المزيد|من|هذه* رسايل|الرسايل|رسايلكم
  توقف|توقفوا|توقفي|كفى|كفوا عن مراسلتي|ارسال|الارسال|ازعاجي
  احذف|احذفوا|احذفني|امسح|امسحوا|ازل|ازيلوا رقمي|اسمي|من+القايمة

  [请請]?[不别別勿停][要止用]?[再给給我向]{0,5}[发發传傳][送]?[短简簡信讯訊息消垃圾广告廣了给給我]{0,8}
  [请請]?[不别別勿][要]?[再]?[联聯骚騷打][系繫係络絡扰擾]我?了{0,1}
  [请請]?[不别別勿][要]?[再]?[烦煩]我了{0,1}
  我?[不][想要愿願需][要意]?[再]?[收接][到]?[你您们們的]{0,4}[短简簡信讯訊息消垃圾广告廣了]{1,6}
  [もうメールッセジをは]{0,9}送らないで[くだ下さいね]{0,6}|[もうメールッセジをは]{0,9}連絡しないで[くだ下さいね]{0,6}|[もうメールッセジをは]{3,9}しないで[くだ下さいね]{0,6}
  не надо|нужно|смеите мне|нам|больше* писать|слать|присылать
  geen sms|smsjes|berichten meer
  nie pisz|piszcie|wysylaj|wysylajcie|pisac|wysylac do+mnie|mi|wiecej|$
  문자|메시지|메세지|연락 그만? 보내지|하지 마|마세요|마십시오|말아+주세요|말아주세요
  연락하지|문자하지 마|마세요|마십시오|말아+주세요|말아주세요

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
  at work|home|school|[0-9]{1,4}
  so early|late
  waiting|wait|guest|guests|price|shopping|wish|task|punch|class|invite|invitation|passenger|standby|volunteer list|lists
  lista|liste de|d|des espera|invitados|precios|compras|attente|invites|prix
  מרשימת|רשימת ההמתנה|המתנה|האורחים|אורחים|המוזמנים|מוזמנים|הנוסעים|הקניות|קניות
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
  ^ please|pls|plz|just|ok|hey|yo|dude|bro|and|so* stop|quit|cease|unsubscribe|unsub|unsuscribe ~<stopObject> ~<stopObject>? $
  ^ omg|ugh|ffs|smh|wtf|jesus|lord|seriously|dawg|girl|no stop $
  ^ please|pls|plz|kindly|just* discontinue|discontinue+this|refrain|desist|terminate|end+this|deactivate|unenroll|mute|never+again $
  !i|we it|this|you|yall|u|guys must|should|gotta|better|has+to|have+to|needs+to|need+to|got+to stop $
  ^ please|pls|just|now|and|so|ok* cut+it+out|cut+that+out|cut+this+out|knock+it+off|knock+this+off|knock+that+off|enough+of+this|enough+with+this|give+it+a+rest|enough+already|enough+is+enough already|now|please|pls* $
  ^ please|pls|just|so|and|now* remove|delete|erase|scrub it|that|this now|please|pls|immediately? $
  done|sick|tired|fed+up|over|through with|of|by? <any>* <texts> already|now|people? $
  ^ just|please|you* back|buzz|piss|bug|shove|sod off $
  no+more of this|these|that $
  !i|we|they|you|u|why|he|she <not> please|ever* text|message|contact|bother|spam|send+me me|us|my|him|her|them|this|anyone
  remove|delete|take|erase|drop|scratch|get|purge|strike|exclude me|us|my+name|my+number|this+number off|from|out of? _? _? _? list|lists
  unsubscribe|unsubscribed|opt+out|opted+out|opting+out
  not|no|zero|never interested|interest $
  no+longer interested
  dont|do+not|not|never|didnt|no|no+longer give|gave|given|have|got you|my|any* permission|consent $
  get off|out+of my phone $
  remove|delete|lose|erase my name|contact $
  part of stop|quit
  have|need|got to say|tell|ask you? to? stop
  i said quit $
  no texting $|please
  want out $
  want|wanna|like|wish to? stop $
  <texts> are|is so|very|really|just|getting* annoying|ridiculous|harassment|out+of+hand
  <texts> need|needs|have|has|must|better|gotta to? stop|end $
  ^ can|could you not $
  <not> solicit
  no soliciting|solicitation|solicitations $|please
  <stop> hitting me|us|my+phone|my+line
  <not> hit me|us|my up|line|phone
  never|didnt|did+not|dont|havent|do+not sign|signed|subscribe|subscribed|ask|asked|request|requested|consent|consented|opt|opted up|to|for|in|this|these|$
  dont|do+not want anything from+you|else $
  dont|do+not|didnt want|need|like this|these|it|that|any+of+this $
  harassment|harassing|harassed|tcpa|ftc|fcc|dnc
  on|to the|your|a? do+not+call+list|do+not+call|dnc
  report|reporting|reported|blocking|blocked you|u|this|and|your|ur|number|$
  fuck|f|screw you|u|off $
  go away|to+hell
  get lost $
  no me|nos ya? <esSend>|<esPester>|llame|llames|llamen|llama|hable|hables|hablen
  no me|nos interesa|interesan
  no estoy|estamos interesado|interesada|interesados
  deje|deja|dejen|pare|paren de llamar|llamarme|llamarnos
  que ya? paren|pare|pares|dejen|me+saquen|me+quiten|me+saque|me+quite|me+desuscriban ya|por|favor|porfavor* $
  ^ ya|por|favor* ya+estuvo|parale|dejenme|dejeme|dejame|bloquear|remover|suspender bueno|ya|por|favor* $
  ^ ya|por|favor* bajenle|cortenla|cortenle|callense|callate ya? $
  ^ ya|por|favor* no insistan|insista|insistas|molesten|moleste|molestes|manden|mande|mandes|envien|envie|envies|escriban|escriba|escribas|chinguen|jodan|frieguen|texteen|sigan|sigas ya|por|favor* $
  podrian|podria|podrias|pueden|puede|puedes|favor+de|como eliminarme|borrarme|quitarme|sacarme|desuscribirme|salirme|me+borro|me+quito|me+salgo $
  quiero|queremos salirme|salirnos|eliminarme|borrarme $
  !no me|nos pueden|puede|puedes|podrian|podria|podrias borrar|eliminar|quitar|sacar $
  pueden|puede|podrian|podria parar $
  quite|quiten|borra|borre|borren|saque|saquen|elimina|elimine|eliminen mi nombre|contacto $
  como|donde los|lo|te? bloqueo los|este|el? $|numero
  quiteme|quitame|quitenme|saqueme|sacame|saquenme|borrame|borrenme de ahi|aqui|eso|esto
  ya? no quiero+saber nada? $|de+ustedes|de+usted|de+esto
  cancelar|cancelen|cancele|cancela|cancelo|anular mi|la|esta? suscripcion|subscripcion $
  como|donde cancelo esto? $
  no quiero nada|esto|eso $
  pas|plus|aucunement interesse|interessee|interesses
  ne|n m|me|nous? <frSend>|<frPester>|appelez|appelle|telephonez|rappelez pas|plus|jamais
  arrete|arretez|cessez|cesse de|d m|me|nous <frAny>* appeler|telephoner|envoyer
  harcelement|arnaque
  ca|cela suffit maintenant|merci|la|svp|comme+ca? $
  j en ai marre|assez|ras+le+bol $
  ^ assez|resilier|resiliation|plus+rien|plus+jamais|laissez+moi|laisse+moi|degagez|degage|cassez+vous|casse+toi|barrez+vous|barre+toi|on+arrete|on+arrete+la|oubliez+moi|oublie+moi|lache+l+affaire|lachez+l+affaire svp|merci|stp? $
  marre|assez de|d vos|ces|tes|cette|ce <frTexts>
  veux|voudrais|souhaite que vous|tu arretiez|arretes|cessiez $
  foutez|fous|fichez le camp
  veux|voudrais arreter $
  ne veux|souhaite plus rien $
  supprimez|effacez|enlevez|retirez mon nom|adresse $
  לא מעוניין|מעוניינת|מעונין|מעונינת|מעוניינים
  אל|לא תתקשר|תתקשרו|תתקשרי|<heSend>|להתקשר
  <heStop> להתקשר|לצלצל
  הטרדה
  !אל|לא <heStop> עם|את זה|ה?שטויות
  לא רוצה|רוצים|מעוניין|מעוניינת יותר $
  ^ לך|לכו|תתרחק|תתרחקו מפה|מכאן|ממני $
  ^ תעזבו|עזבו|אין+לי+עניין כבר? $
  רוצה|מבקש|מבקשת|אבקש|נא|אנא|בבקשה|אפשר|איך|יכול|יכולה|יכולים|תוכלו להסיר|להפסיק|להתנתק|מסירים|מפסיקים כבר|בבקשה|נא|את+זה* $
  ^ חלאס|להתנתק בבקשה|נא|כבר|די* $
  לא רוצה|רוצים|מעוניין|מעוניינת <heAny>* כלום|לשמוע מכם|ממכם|ממך|יותר|$
  !אל|לא תשכחו|תשכח|תשכחי|שכחו ממני|מהמספר
  !אל|לא בטל|בטלו|תבטל|תבטלו|לבטל את? המנוי|מנוי|ההרשמה
  !אל|לא <heTake> אותי|אותנו בבקשה|נא|כבר|מכאן|מפה|מזה|עכשיו* $
  ^ בבקשה|נא|אנא* תבטל|תבטלו|תבטלי|בטלו|לבטל לי|את+זה|בבקשה|נא|כבר* $
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
  who|how|where gave|did|do|got you|u get|got|find|have? my|this number|info
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
  ^ mi? chiami|chiamatemi|chiamami|telefonatemi
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
  if (item.startsWith('~')) {
    const word = `(?:(?!${wordSource(item.slice(1).replace(/\?$/, ''))})[^ ]+ )`;
    return item.endsWith('?') ? `${word}?` : word;
  }
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
