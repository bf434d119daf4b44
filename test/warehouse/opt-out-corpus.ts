/** Texts as people write them, one a line. Each list says what the gate has to make of its texts. */

/** Certain: the sender gets no automatic text any more. */
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

/** Not certain enough to be kept for good, but nobody should answer by machine. */
export const doubtfulTexts = `
not interested
Stop calling me
I'm reporting you
this is harassment
don't text me at work
Don't text me, call me
Please don't text me after 9pm
please don't message me while I'm driving
Stop texting my wife, call me instead
do not text me, call me instead
stop sending the invoice to my old address
if you stop texting me I will call you
stop sending them until Monday
I never subscribed
Reported and blocked
no me interesa
no me escriba al correo viejo
no me mande mensajes por la noche
dejen de llamar
pas intéressé
Ne m'envoyez pas de SMS le soir
arrêtez de m'appeler
לא מעוניין
אל תתקשרו אלי
Unsubscribe my wife, not me
Can I opt out of the warranty?
This number is on the do not call list. Remove it
when will you stop texting me
Text me again and I'll sue. Stop
Don't text my husband the price, it's a surprise
אל תשלחו שליח היום
stop omg
omg stop
Stop dawg
please stop habibi
stop ya creep
unsubscribe Maria
cut it out
knock it off
Knock it off already
Please discontinue
who gave you my number? remove it
How did you get my number? Delete it
enough already
piss off
this has to stop
I'm sick of these texts
take me off the waiting list please
Please remove me from the guest list
sáquenme de la lista de espera
retirez-moi de la liste d'attente
תורידו אותי מרשימת ההמתנה
תורידו אותי
quiero que paren
ya estuvo
no molesten
ça suffit
j'en ai marre de vos messages
תבטלו
stop idiot
stop spammer
stop pleaseee
you don't have my permission
kindly refrain
discontinue
cut that out
knock it off already!!
give it a rest
buzz off
get out of my phone
remove it please
delete it
I'd like to stop
I'm done with these messages
so sick of these texts
Your texts are annoying
the texts need to stop
can you not
no longer interested
deactivate
add me to do not call list
no solicitation
stop hitting my phone
don't hit my line
cómo me borro
ya no sigan
no jodan
quítame de ahí
quiero que me quiten
ya estuvo bueno
ya déjenme
cancelar suscripción
anular suscripción
lâche l'affaire
fichez le camp
j'en ai assez de vos messages
marre de vos sms
assez
résilier
תפסיקו עם זה
מספיק עם זה
לא רוצה מכם כלום
בטל מנוי
לבטל
להתנתק
איך אפשר להסיר
take me off the delivery list
stop fool
stop friend
stop bitch
stop lol
Stop jesus
stop contactng me
I no longer give permission
knock this off
terminate
end this
lose my contact
I don't subscribe to this
you again? stop
stop i said
what part of stop don't you understand
how many times do I have to say stop
quiero salirme
me pueden eliminar
pueden parar
no insista
córtenla
ya cállense
quiten mi nombre
como los bloqueo
je veux arrêter
on arrête là
dégagez
cassez-vous
supprimez mon nom
retirez mon nom
plus jamais
תורידו אותי מכאן
אל תתקשרו ואל תשלחו
תפסיקו את זה
תבטלו לי את זה
לכו מפה
תתרחקו ממני
עזבו
אני לא רוצה יותר
`;

/** Ordinary texts that hold the same words. */
export const ordinaryTexts = `
can you stop by at 5?
Can you stop by the house tomorrow, please
please stop by when you can
I'll stop by after work. Thanks
Could he stop over on Tuesday?
please cancel my appointment
Can you cancel my 3pm? Thanks
I need to cancel. Can we reschedule?
Cancel Tuesday, Wednesday works
don't stop
Please don't stop, you're doing great
never stop learning
bus stop
I'm at the bus stop
Which stop do I get off at?
I can't stop laughing
cant stop thinking about it
The toilet won't stop running
water won't stop. Can you send someone?
how do I stop the leak
My sink stopped draining. Please text me
The texts stopped coming, please resend
Did you stop sending statements?
I stopped by yesterday, nobody was there
is there a way to stop the alarm from beeping
Please remove the old boiler
can you remove my tree
Please remove my old card from the account
Remove the stain on my carpet and text me a price
take it off my bill please
take 10 dollars off
Can you take me to the list of prices
lose the second item
my number is 845 555 0123
delete the second order please
I quit my job so I need a later date
We end at 5. See you
at the end of the month
When does the sale end?
no more than 5 please
I have no more questions, thank you!
No, that's all. Thank you
No thanks
Not now, maybe next week
I don't want the blue one, send me red
i dont want this color
I don't want to wait, text me a price
Please don't send the truck before noon
don't send it to the old address
dont forget to text me
Don't worry about it
Please don't call, text me
Do not call me, text only
why didn't you text me back
you never texted me
I didn't get your message
No message from you yet
I did not receive any texts from you
Leave the package at the door
leave me a message
please leave it alone until I get there
Please text me when you stop for lunch
I want out of the contract, call me
What options are there?
Who is this?
who dis
wrong number
Sorry, wrong number
Thanks for the messages!
Your texts are great, keep them coming
I want to receive your messages
Please send me more texts about the offer
text me
Please contact me
message me when ready
Is this spam?
My spam folder ate your mail, send again please
I love your texts 😂
Stop and Shop on Main St
The meeting is at the truck stop
what time do you stop working?
Non-stop flight?
We need a door stop
end table price?
the weekend works
please bother to answer
It's no bother
Lista para mañana
para mañana por favor
¿Puede pasar mañana?
No me ha llegado el mensaje
no me mandaron la factura
Mándeme más mensajes por favor
Quiero más información
no quiero el rojo, mándeme el azul
no puedo parar de reír
la parada del bus
¿Dónde paro?
Para el lunes está bien
no me olvide
mi hijo no para de llorar
baja el precio?
¿Cuánto cuesta la baja temporada?
deje el paquete en la puerta
déjeme saber
Déjeme un mensaje
¿Quién es?
número equivocado
Escríbame mañana
no hay problema, escríbame
no llame, escríbame
arrêt de bus
Je suis à l'arrêt de bus
je n'arrête pas de rire
n'arrêtez pas
plus de détails svp
Je veux plus de détails
Envoyez-moi plus d'informations
je n'ai pas reçu votre message
Vous ne m'avez pas envoyé la facture
Ne m'oubliez pas
laissez-moi un message
Laissez le colis devant la porte
Je ne peux plus attendre
Qui est-ce ?
Écrivez-moi demain
fin de journée
C'est la fin du mois
est-ce que je peux annuler mon rendez-vous
לא קיבלתי הודעה
לא קיבלתי את ההודעה שלך
תשלחו לי הודעה
תשלח לי יותר פרטים
די טוב
די יקר
אני בתחנה
מי זה?
טעות במספר
אל תפסיקו
אל תשכחו לשלוח לי
תורידו את המחיר
מתי תשלחו לי?
לא שלחתם לי חשבונית
תמחקו את ההזמנה השנייה
אפשר לבטל את התור?
אני לא מפסיק לצחוק
Kann ich den Termin absagen?
Schreiben Sie mir bitte
Das Ende der Woche passt
Pode me mandar mais fotos?
não para de chover
Stop in anytime
Could you stop at the store
We can stop by around noon
Please let me know when you stop by
I'm not going to stop until I get a refund
The noise doesn't stop
make it stop raining lol
The heater stopped. Text me asap
stop light is out
last stop
It keeps beeping, how do I make it stop?
the order please cancel it
I'd like to cancel my service
Please end the call
End of the week is fine
I don't need the second one
I don't need a receipt
no need to send it
don't send the guy today
Don't forget me
Please remove the charge
Please remove item 3
I need it removed
delete my last message, wrong chat
Can you text me the address?
I got your text
I have no texts from you
no messages yet
I'm interested
not yet
Not today
Never mind
nevermind
never had a problem with you
I never got the bill
Do you have more?
do not enter through the back
Do not use the front door
leave it at the front
leave me the key
take me through the steps
Get me a quote
the list of parts?
off today?
I'm out of town
opt for express please
Do you send reminders by text?
how do I sign up for texts
Yes, keep texting me
You can stop by
no me llegó
no me han mandado la factura
no me diga
No quiero factura
No quiero esperar
no quiero más café
más información por favor
Dejé un mensaje
Deja te llamo
déjeme ver
pare aquí
parada 5
Por favor mándeme la factura
a qué hora cierran?
ya no necesito la cita
ya no quiero la cita
no más tarde de las 5
Je ne veux plus attendre
Je ne veux pas de sucre
je ne veux plus de café
plus tard
Plus de 5 personnes
Pas de problème
pas de souci merci
Ne m'attendez pas
Ne vous inquiétez pas
Envoyez-moi un message
Laissez-moi réfléchir
laissez moi le temps
arrêtez-vous devant la maison
Enlevez la neige svp
enlevez mon nom de la facture
לא תודה
לא רוצה
לא רוצה את האדום
לא צריך
אל תדאגו
די ברור
תורידו לי מהחשבון
תמחק את התמונה
אני רוצה הודעות
לא ראיתי את ההודעה
אין הודעה
תעזבו את החבילה ליד הדלת
מספיק זמן?
Stop working on the roof
Please stop payment
stop crying
Quit worrying
please stop here
Please stop there first
stop delivery tomorrow
Stop 3 please
Hey man
thanks bro
Unsubscribers list
can you remove it
Can you knock it down
They cut it out of the wall
Please refrain from parking there
I was testing the texts
I don't know how to text
No me están mandando los mensajes
sigo esperando
me pueden quitar la multa
quiero que me saquen una cita
¿Cómo cancelo la cita?
no me saquen de la lista
no me estás escribiendo
Je ne veux pas que vous arrêtiez
je veux que vous veniez demain
arrêtez-vous là
supprimez la deuxième commande
תורידו אותי ליד הבית
תוריד אותי בתחנה
אתה יכול להוריד אותי בפינה
אני רוצה שתשלחו לי
צרו איתי קשר
אני מבקש שתתקשרו
לבטל את התור
non posso venire
Напишите мне
перестал работать кран
ارسل لي رسالة
请发短信
不要发货
keine Ahnung
Stop by later
Stop at Walmart
Stop the car
Stop worrying
Stop it lol
Stop #3
Stop both orders
when do you stop
Do I have to stop
they need to stop the leak
my stop
thanks man
hey guys are you open
Delete the photo please
Remove this tile
remove my card
Sorry I'm sick today
I am done with texts for the kids
Please back up
Enough of the paint?
the texting app
send me another text
write me
Do not reach out to the seller yet
revoke the permit
I'm at the guest list
take off
Sorry for the mess
Mesa de centro
no me mandaron mensajes
sigan así
me pueden mandar la lista
quiero que me quiten la basura
cómo cancelo mi pedido
me doy una vuelta
ya estuve ahí
no molestia
cancelar mi suscripción del gimnasio
Je veux que vous passiez
Enlevez mon adresse de la facture
arrêter l'eau
Laisse moi ton numéro
Plus de place
Retirez mon colis
תורידו את הסחורה
תבטל את ההזמנה
תרדו לחניה
ניצור קשר
רוצה שתשלחו לי הצעת מחיר
אני מבקש שתחזרו אליי
הסר את הכתם
lasciami un messaggio
хватит краски?
отправляйте
لا اريد الاحمر
请给我发短信
不要红色的
停车
schreiben Sie mir
Maria stop by
Stop & go
stp merci
Tex
Can you stop for coffee
Could they stop the noise
I have given you my permission
Can you please not use bleach
turn these lights off
enough of the blue
ok forever grateful
Hit me up later
they should stop here
pueden sacarme una cita
sácame de dudas
suspender el servicio de agua
déjame en la esquina
j'en ai assez pour demain
je refuse le devis
comment je paie
pouvez-vous me retirer la dent
די עם הצבע
עוף או בשר
כבר בדרך
אני רוצה להסיר שיער
cambia messaggi
не надо
nie pisz tego
não mande mais pizza
I moved the number
It needs to stop leaking
quit time is 5
The list of guests
לך
I took my offer back
I need to say thanks
end this week
borre el contacto del plomero
cállate lol
laissez-moi tranquillement réfléchir
לא רוצה יותר סוכר
ביטול תור
mesa
Stoop needs work
Texting you now
je prie
stop please at the gate
forever
`;
