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
