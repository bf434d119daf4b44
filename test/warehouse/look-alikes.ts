/** Whole messages, one a line, that only look like one. */
export const lookAlikes = `
stop by at 5
Can you stop by tomorrow?
I'll stop by later
I could not stop laughing
The bus stop is closed
non-stop
nonstop
Please don't stop
Please don't stop texting me
Thanks, don't stop
please stop by, thanks
stop by at five please
Please don't send it yet
Don't send this, thanks
No thanks
No, sorry, thanks
No more coffee, thanks
Ya, gracias
ok, stop by
No thanks, I'm good
Hi, thanks
Yes please, thank you
Sorry, wrong number, thanks
Hello
Stop texting my wife, call me instead
stop sending the invoice to my old address
Please stop messages from my tenant
Don't text the address, call
stop the car and text me
can you stop the texts from your driver
not now thanks
Not now, please
the end, thanks
The photo was sent from my iPhone
Are you open? Sent from my iPhone
don't stop
Never stop!
Stop and shop
Is there a stop in Albany?
Stop sign is down on Main St
One stop shop
Did it stop?
When does the rain stop
stop by
Stopwatch
stopover
pit stop
it will not stop leaking
the leak won't stop
Can you make it stop beeping
stop the leak please
Please stop the water
Stop loss order
full stop
unstoppable
the end of the month
In the end yes
weekend
End of June works
when does it end
the end
dead end street
Cancel my appointment
Please cancel my appointment
cancel the 3pm
I need to cancel Tuesday
Can I cancel my order?
cancel order 1182
do I have to pay to cancel
cancelled?
was it cancelled
Cancellation policy?
I quit smoking
quitclaim deed
quit my job
quite
quote
remove the old heater
Please remove the junk
remove stains
can you remove a tree
I want to remove item 2 from the order
Unsubscribe link is broken
how do I unsubscribe my mother
do you have an unsubscribe page
opt
options
option
opt for the second one
out
out of town
I am out
no
No
no thanks
no thank you
nope
not now
not interested in Tuesday
no more than 5
no more milk
alto saxophone
contralto
parker
para mañana
bajada
baja california
Is it sold in Baja California
la baja del precio
salida
no más tarde
ferma qui?
la fermata
basta così, grazie
basta pasta
parece bien
stoppage
stop lights
stoplight
arrêt de bus
l'arrêt est fermé
Halte
haltet ihr Hunde?
die Enden
end date
fin de semana
final
finish
finished
done
durable
during
yes
Yes please
YES
ok
OK stop by whenever
okay
thanks
Thank you!
👍
help
HELP
info
hi
hello
start at 9
when do you start
starting Monday
Start the job on Friday
leave it alone
leave me a message
alone
wrong number
sorry wrong number
who is this
take it off
take me to the list
lose weight
delete
delete the second one
move
stop?y
sto
stp
top
ton
st0ck
call me
text me
don't text, call
do not text me, call me instead
do not call
please text me
text me when you stop for the day
停车场在哪里
取消明天的预约
중지된 건가요
остановка
остановка автобуса
стоплист
не пишите адрес
отменить заказ
הסרטון
די טוב
توقف السيارة امام الباب
बंद है क्या
1
911
5
?
!!!
Don't call me, text me
No text yet
Never got your message
Can you end the call
Cancel the text about Monday
Take me off at five
I'd like to opt for Tuesday
Unsubscribe my wife, not me
no message from you
Don't bother
dont bother, thanks
End of message
end of text
Cancel that message
cancel my text please
Please cancel the text message
Never any text from you
never the message
Never texts me
`;
