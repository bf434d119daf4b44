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
