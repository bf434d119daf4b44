/** Texts as people write them, one a line. Certain: the sender gets no automatic text any more. */
export const certainOptOuts = `
Who is this? Stop texting me
STOP i dont want these
stop i dont want these msgs
Who is this?? STOP
wrong number, stop texting me
Wrong person. Please stop.
Hi, I think you have the wrong number. Please remove me from your list. Thanks
I never signed up for this. Unsubscribe
how do i unsubscribe from this
How do I opt out of these texts?
please take me off of your list
Pls take me off this list asap
Take my number off your list!!
TAKE ME OFF YOUR F***ING LIST
stop sending me these messages i am not interested
I'm not interested, please stop contacting me.
not interested, take me off your list
I asked you to stop texting me
I told you to stop!!
I have asked you 3 times to stop texting this number
can you please stop texting me
Could you stop sending me these messages?
Would you please stop texting this number
You need to stop texting me
quit texting me already
Please don't text me anymore, I already bought a house
Don't ever text me again
do not contact me again or i will call my lawyer
Do not message this number again.
I do not want to receive any more text messages from you
i dont want ur texts
I don't want to get these texts anymore
I no longer wish to receive messages
I no longer want to receive these
I would like to unsubscribe
I want to unsubscribe please
i wanna opt out
Opting out
unsubscribe me from this please, thank you
Unsubcribe
unsubscibe please
unsubscirbe
STPO
sotp
Stop!!!! 😡
stop 🖕
Leave me alone!
please leave me alone I don't know you
leave us alone
Lose my number.
lose my number please, thanks
delete my number from your system
Delete me from your contacts
Remove my phone number from your database
No more texts. Thanks.
no more messages from you please
Ok no more texts please
Enough with the texts already
stop spamming me
Stop spam
stop harassing me
Stop bothering me
Stop with the texts
stop blowing up my phone with texts
stop all texts and calls
Stop calling and texting me
please cease all communication
cease contact immediately
do not contact
This is harassment. Do not contact me again.
This is not Maria, stop texting me
You have the wrong number. Stop!
STOP this is the wrong number
please stop wrong person
hi please stop
Thanks but please stop texting
Thanks, but I want to opt out.
my name is not john please remove me
remove me from ur text list
I want off this list
get me off this list
Stop
I said no more texts!
said stop
For the last time STOP TEXTING ME
Why do you keep texting me? Stop
why won't you stop texting me
No. Stop.
no thank you stop texting
Cancel these texts
turn off these text alerts
End these messages please
Stop\u00a0texting\u00a0me
stop.texting.me
I don't wish to be contacted
I do not consent to these messages
Stop, I do not live there anymore
please discontinue these texts
no me mande más mensajes
No me manden mas mensajes por favor
no me mandes mas
No me envíe más mensajes
no me envies mensajes
no me envíen nada más
No me escriba más
no me escribas
no me vuelvas a escribir
No vuelva a mandarme mensajes
no me contacten más
ya no me mande mensajes
ya no me escriban porfa
Ya no quiero recibir mensajes
No quiero recibir más mensajes
no quiero mas mensajes
No quiero sus mensajes
no deseo recibir mensajes de ustedes
deje de mandarme mensajes
Deja de escribirme
dejen de enviarme mensajes por favor
dejen de molestar
deje de molestarme
déjeme en paz
dejame en paz
No me moleste más
no me molesten
Borre mi número
borren mi numero de su lista
elimine mi número por favor
quíteme de la lista
Sáquenme de esta lista
quiteme de su lista por favor
Dame de baja por favor
quiero darme de baja
Deme de baja
¿Quién es? No me escriba más
número equivocado, no me mande más mensajes
quien eres? deja de mandarme mensajes
No gracias, no me mande más
no me interesa, no me escriban
Pare de mandar mensajes
paren de mandar mensajes
alto, no quiero mensajes
basta de mensajes
BAJA por favor
no mas mensajes x favor
ne m'envoyez plus
Ne m'envoyez plus de messages
ne m’envoyez plus rien svp
ne m'envoie plus de sms
N'envoyez plus de messages
ne m'écrivez plus
ne m'écris plus
Ne me contactez plus
ne me contactez plus jamais
ne me dérangez plus
merci de ne plus m'envoyer de messages
Merci de ne plus me contacter
Veuillez ne plus m'envoyer de SMS
je ne veux plus recevoir de messages
Je ne veux plus de vos messages
je veux plus de messages
je ne souhaite plus recevoir vos sms
Je ne souhaite plus être contacté
arrêtez de m'envoyer des messages svp
arrêtez de m'envoyer ça
Arrête de m'envoyer des textos
arretez vos messages
Arrêtez s'il vous plaît
cessez de m'écrire
cessez de me contacter
Retirez-moi de votre liste
retirez moi de la liste svp
supprimez mon numéro
Effacez mon numéro s'il vous plaît
désabonnez-moi
Désinscrivez-moi de votre liste
je veux me désabonner
Je souhaite me désinscrire
Laissez-moi tranquille
laisse moi tranquille
fichez-moi la paix
Qui est-ce ? Ne m'écrivez plus
Mauvais numéro, arrêtez de m'écrire
stop aux messages
STOP PUB
plus de sms svp
תפסיקו לשלוח לי הודעות
תפסיק לשלוח לי הודעות
תפסיקי לשלוח הודעות
די לשלוח לי הודעות
די כבר עם ההודעות
אל תשלחו לי הודעות
אל תשלח לי יותר
אל תשלחו לי יותר הודעות בבקשה
לא לשלוח לי יותר
נא לא לשלוח יותר הודעות
אל תכתבו לי
אל תפנו אלי יותר
לא רוצה לקבל הודעות
אני לא רוצה לקבל יותר הודעות
לא מעוניין לקבל הודעות
לא מעוניינת בהודעות
תורידו אותי מהרשימה
תוריד אותי מהרשימה
הסירו אותי מרשימת התפוצה
תסירו אותי מהרשימה בבקשה
אנא הסירו אותי
בבקשה הסר אותי מהרשימה
מבקש להסיר אותי
אני מבקשת להסיר את המספר שלי
תמחקו את המספר שלי
מחק את המספר שלי
מי זה? תפסיקו לשלוח הודעות
טעות במספר, תפסיקו לשלוח לי
עזבו אותי
תעזבו אותי במנוחה
תפסיקו להציק לי
תפסיקו להטריד אותי
הסרה
הַסֵּר
להפסיק לשלוח
הפסיקו לשלוח לי הודעות
תפסיקו!
Não me mande mais mensagens
pare de me mandar mensagens
não quero receber mais mensagens
me tira dessa lista
Schreiben Sie mir nicht mehr
Bitte keine SMS mehr schicken
hören Sie auf, mir zu schreiben
lassen Sie mich in Ruhe
Schick mir keine Nachrichten mehr
הערט אויף צו שיקן
שיקט מיר נישט מער
Take me off this
I need you to stop texting
Hey stop texting my phone
Whoever this is stop texting me
Dont contact me anymore!!
plz stop
STOP MESSAGING THIS NUMBER
Please stop all communication
You've got the wrong number, please remove
stop it already
Stop sending these
Stop with these messages
enough!! stop
I don't need these texts
I dont need ur messages
Remove this number from your list, this is not Sarah
i am not sarah. stop texting
Never text this number again
do not text here
kindly stop sending text messages to this number
Kindly unsubscribe me
pls unsubscribe
unsubscribe from all
STOP ALL MESSAGES
stop msging me
stop txting me bro
yo stop texting me
I am driving. Stop texting me
No more please
please no more messages to this number
Do not send me any messages
Don't send me anything
Please dont send me anymore messages
Don't send anything else
I didn't sign up for this, stop
Stop. I did not sign up for this.
I'm deaf to this, STOP
take this number off your list
remove my info
erase my number
STOP. We already have a plumber
stop i already have one
I'd like to be removed from your list
Please take me off the text list
can u stop texting me
can you stop sending these
How do I stop these messages?
how can i stop getting these texts
I keep getting these texts, please stop
Please do not text
Don't text
No texts please
block me
I have blocked you, stop
opt-out please
OPT OUT.
please opt me out of future messages
cancel all messages
Cancel subscription to texts
stop calling me and texting me
Stop texting and calling
stop emailing and texting me
No thank you. Remove me
no quiero que me escriban
No quiero que me manden mensajes
Por favor deje de escribirme
Por favor dejen de mandar mensajes a este número
No me mande mensajes
No me mandes nada
No mande más
no manden mas mensajes
no manden nada
No más textos
No más
No me busque más
No me contacte
No me contacte más por favor
Ya no me contacten
Ya basta
Ya basta de mensajes
Ya déjenme en paz
Quite mi número de su lista
quitar mi numero
Quiero que quiten mi número
Elimíneme de su lista
Bórreme de la lista
Bórrenme
Cancelar mensajes
Detener mensajes
quiero dejar de recibir mensajes
No quiero recibir nada de ustedes
No deseo más mensajes
no estoy interesado, no me mande mas mensajes
usted tiene el número equivocado. no me mande mensajes
Quién habla? No me mande mensajes
Parar mensajes
Pare por favor
no escriban mas a este numero
No escriba más
Arrêtez de m'écrire s'il vous plaît
Arrêtez de me texter
Arrêtez les sms
arrete de m'envoyer des messages
Arretez de menvoyer des messages
Ne me textez plus
Ne m'envoyez plus aucun message
Ne m'envoyez rien
ne pas m'envoyer de messages
ne pas me contacter
Plus de messages merci
plus de messages
Je ne veux plus de messages
Je ne veux pas de messages
Je ne veux pas recevoir vos messages
je ne veux plus rien recevoir
Je ne suis pas intéressé, arrêtez
Pas intéressé. Ne m'écrivez plus.
enlevez moi de votre liste
Enlevez-moi de la liste
Enlevez mon numéro
Supprimez-moi de vos contacts
Retirez mon numéro
Effacez mon numero
laissez nous tranquilles
Foutez-moi la paix
stop svp
STOP, vous vous trompez de numéro
Vous avez le mauvais numéro, arrêtez
Désinscription
Se désinscrire
merci d'arrêter de m'envoyer des sms
merci d'arrêter
merci de me retirer de votre liste
pouvez-vous arrêter de m'écrire
pouvez vous me retirer de la liste
תפסיקו לסמס לי
תפסיק כבר
די כבר
די!!
מספיק
מספיק כבר עם ההודעות
אל תשלחו לי יותר כלום
אל תשלח לי הודעות
אל תשלחי לי יותר
אל תסמסו לי
אל תכתוב לי יותר
לא לשלוח לי הודעות
לא לשלוח
לא רוצה הודעות
לא רוצה יותר הודעות
לא רוצה לקבל מכם הודעות
אני לא מעוניין לקבל מכם הודעות
לא מעוניינת לקבל הודעות יותר
תוציאו אותי מהרשימה
תוציאו את המספר שלי מהרשימה
הסירו את המספר שלי
תסירו אותי
להסיר אותי בבקשה
אבקש להסיר אותי
אבקש להסירני
הסירני
תמחקו אותי מהרשימה
תעזבו אותי בשקט
עזוב אותי
זה לא אני, תפסיקו לשלוח הודעות
מי אתם? תפסיקו
טעיתם במספר. תפסיקו לשלוח
הפסיקו להטריד
בבקשה תפסיקו לשלוח
נא הפסיקו לשלוח הודעות
סטופ
stop בבקשה
stop bro
Stop man
bro stop
quit yall
Please refrain from texting me
Refrain from sending me messages
stop texing me
stop textin me
stop texitng me
Stop mesaging me
stop messagin this number
stop sendin me these
dnt text me
donot text me again
stpo texting me
You keep texting me. Quit it
I revoke my consent to receive texts
I withdraw my consent
don't text no more
unsuscribe me plz
unsubcribe me from this list
do not ever send me another text
Don't send me another message
Kindly take my name off
please get my name off your list
stop reaching out to me
Please do not reach out again
don't write me anymore
cómo me doy de baja
Cómo me salgo de esta lista?
no me sigan mandando mensajes
no sigan mandándome mensajes
No me sigas escribiendo
no me estén escribiendo
no quiero que me sigan escribiendo
Me pueden quitar de la lista
¿Me podría sacar de su lista?
quiero que me saquen de la lista
quiero que me borren de su sistema
Como cancelo estos mensajes
ya párenle
dejen de estar mandando mensajes
Je veux que vous arrêtiez
J'aimerais que vous cessiez de m'écrire
Je souhaite que vous me retiriez de la liste
Je voudrais que vous ne m'écriviez plus
Arrêtez tout
Arrêtez ça immédiatement
veuillez cesser
Veuillez arrêter svp
Lâchez-moi
lâche-moi la grappe
supprimez mes coordonnées
Effacez mes données
retirez mon nom de votre liste
הורד אותי מהרשימה
תורידו אותי מהמאגר
אל תיצרו איתי קשר
אל תיצור איתנו קשר יותר
לא ליצור איתי קשר
הפסיקי
אני מבקש שתסירו אותי
רוצה שתמחקו אותי מהרשימה
לא רוצה שתשלחו לי
אני לא רוצה שתכתבו לי
אני מבקשת שתפסיקו
רוצה שתפסיקו לשלוח לי
בטל
תרדו ממני
Non mandatemi più messaggi
non contattatemi
toglietemi dalla lista
Smettetela di scrivermi
lasciatemi in pace
Перестаньте мне писать
Хватит писать
Прекратите слать мне сообщения
удалите мой номер
لا ترسل لي رسائل
لا تراسلني
توقفوا عن مراسلتي
不要再发短信
请不要再给我发信息
別再聯絡我
keine weiteren SMS
Bitte keine weiteren Nachrichten
stop dude
stop lady
stop rn
stop now bro
quit dude
stop texitng
stop texxting me
stop messageing me
pls stop texing this number
dnt msg me
dont send me nothing
I hereby revoke my consent to be contacted
I do not give you permission to text me
Refrain from messaging this number
Take my name off of this
I want to stop getting these
make these texts stop
don't write me
disable texts
put me on the do not text list
don't solicit me
Quiero que me den de baja
cómo me quito de esta lista
como paro estos mensajes
no sigan molestando
no me anden mandando mensajes
dejen de estar molestando
dejen de fregar
me puede borrar de su lista
quiero que me borren
solicito que me den de baja
olvídense de mí
remuévanme
eviten mandarme mensajes
Je veux que vous cessiez
je vous demande de cesser
je veux que vous me supprimiez
Arrêtez maintenant
arrête tout
cessez vos envois
merci de supprimer mes coordonnées
effacez mes coordonnées
supprimez-moi
effacez-moi
je refuse de recevoir vos messages
stop à tout
אני דורש שתסירו אותי
אל תצור איתי קשר
אבקש לא ליצור איתי קשר
לא רוצה שתשלחו לי יותר
לא מעוניין שתשלחו לי
לבטל הודעות
תרד ממני
עוף ממני
איך אני מסיר את עצמי
תחסמו אותי
Non mandatemi messaggi
Smettete di scrivermi
Toglietemi dalla vostra lista
Прекратите писать
Перестань мне писать
Не присылайте мне сообщения
Отстаньте от меня
Уберите меня из списка
لا ترسلوا لي رسائل
لا تراسلوني
احذف رقمي
كفى رسائل
不要给我发短信
别给我发信息
请勿打扰
我不想收到短信
Não me mandem mais nada
Nie pisz do mnie
もう送らないでください
연락하지 마세요
stop yo
quit bro
please stop dude
stopp texting me
stop textng me
stop messagng me
stop harrassing me
do not mesage me
Plz no more textin
I am revoking consent
consent withdrawn
I no longer consent
terminate messages
never ever text me again
Kindly take me off
take off my name from the list
please remove my number from ur phone
throw away my number
I dont know you stop
how many times do i need to tell you to stop
dónde me doy de baja
quiero salir de esta lista
no continúen enviando mensajes
no me estés mandando nada
quiero que me dejen en paz
que me saquen de la lista
¿me pueden dar de baja?
pueden dejar de mandar
párenle con los mensajes
eliminen mis datos
quiero cancelar los mensajes
je veux que vous cessiez de m'envoyer des messages
je veux que vous enleviez mon numéro
Stoppez tout
stoppez les messages
veuillez stopper
cessez tout contact
lâche-moi
enlevez mes coordonnées
הורד אותי מרשימה
תורידו אותי מהרשימה שלכם
תמחקו את הפרטים שלי
אל תצרי איתי קשר
אל תשלחו לי סמסים
הפסק מיד
אני מבקש שתפסיקו לשלוח לי
אני רוצה שתמחקו אותי
בטל אותי
תרדו ממני כבר
`;
