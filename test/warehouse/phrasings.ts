/** Whole messages, one a line, that take their sender out. */
export const optOuts = `
STOP
STOP❗️
Stop ‼️
STOP ⛔️ thanks
❤️ stop ✌🏼
Unsubscribe from this list
Please unsubscribe me from your list
stop
Opt out please
opt out now
Stop texting me please
Stop texting me now
Please stop all texts
Please stop sending me all these messages!
stop sending me these
Quit sending texts to my phone
do not text this number
Don't text me any more
Do not send me any more texts
Please don't send me messages
No more texts please
Please no more texts
No more messages, thank you
No more, please
Sorry, no more texts
Please remove this number from your list
Remove me from this list
Take me off this list
No más mensajes, gracias
No mas por favor
Ya no más, gracias
No me escriban, por favor
Ok, stop, thanks
STOP STOP STOP STOP STOP STOP STOP STOP STOP STOP STOP STOP STOP STOP STOP STOP STOP
Stop, thanks
Stop. Thank you very much
No thanks, stop
Hi, please stop. Thanks!
ok stop
Yes, stop please
sorry, wrong number, please stop
UNSUB
unsub please
Stop. Sent from my iPhone
Please stop texting me. Sent from my Galaxy
Стоп, пожалуйста
Stop por favor
Basta, grazie
Bitte aufhören, danke
Arrêtez, s’il vous plaît
Arrêtez de m’écrire
Arrête de m'écrire stp
הסר בבקשה
Stop
 Stop.
STOP!
stop!!!
"STOP"
(stop)
*stop*
S T O P
S.T.O.P.
s-t-o-p
stopppp
stooooop
STOP 🛑
🛑 stop 🛑
STOP STOP STOP
stop stop
ＳＴＯＰ
st​op
Stop please
please stop
Please STOP!
pls stop
just stop
stop now
stop it
stop this
Stop all
STOPALL
stop-all
StopAll
stop texting
Stop texting me
STOP TEXTING ME!!!
stop messaging me
stop sending
stop sending me texts
Stop sending me messages.
stop sending messages
stop contacting me
please stop texting me
please stop contacting me
stop the texts
Stop these messages
stop texts
unsubscribe
UNSUBSCRIBE
Unsubscribe.
unsubscribe me
unsubscribe please
Please unsubscribe me
please unsubscribe
unsubscribe all
i want to unsubscribe
cancel
CANCEL
Cancel!
cancel texts
cancel messages
end
END
End.
quit
QUIT
quit texting me
opt out
OPT-OUT
opt-out
OptOut
opt me out
please opt me out
I want to opt out
i would like to opt out
remove
REMOVE
remove me
Remove me please
please remove me
Remove me from your list
please remove me from your list
remove my number
delete my number
lose my number
take me off
Take me off your list
take me off the list
revoke
do not text
Do not text me
Do not contact me
do not message me
don't text me
Don’t text me
dont text me
Don't contact me
dont text me anymore
do not text me again
do not contact me again
no more
no more texts
No more messages!
leave me alone
please leave me alone
cease and desist
wrong number stop
PARAR
parar
Alto
ALTO
baja
BAJA
Detener
detente
cancelar
Cancelar.
basta
¡Basta!
salir
dar de baja
Darme de baja
no más
No mas mensajes
ya no más
no me escriban
deja de escribirme
por favor pare
borrar
Arrêt
ARRET
arrêter
Arrêtez
arrêtez svp
stop svp
STOP SMS
désabonner
Désabonnement
se désabonner
me désinscrire
annuler
plus de messages
STOPP
stopp!
abmelden
Abmelden
Abbestellen
bitte abmelden
bitte stop
Bitte aufhören
aufhören
kündigen
keine SMS mehr
Keine Nachrichten mehr
hör auf
sair
SAIR
Pare
pare!
descadastrar
não quero mais
Não envie mais
me tire da lista
ferma
Fermati
basta messaggi
cancellami
disiscrivi
annulla
non scrivetemi più
afmelden
Uitschrijven
stoppen
geen berichten meer
avsluta
avregistrera
afmeld
lopeta
wypisz
Rezygnuję
przestań
nie piszcie
odhlásit
dur
DUR
iptal
İptal
hinto
tigil
dừng
Hủy
ngừng gửi
berhenti
batal
sispann
стоп
СТОП
Стоп!
отписаться
Отписка
отмена
хватит
не пишите
Не пишите мне
больше не пишите
скасувати
спри
σταμάτα
ΤΕΛΟΣ
Διαγραφή
הסר
הסר!
הסירו
להסיר
הסר אותי
תסירו אותי
נא להסיר
די
תפסיקו לשלוח
ביטול
توقف
أوقف
إلغاء
إيقاف
الغاء الاشتراك
أوقف الرسائل
قف
बंद
बंद करो
रोकें
मत भेजो
停
停止
退订
退訂
取消
取消订阅
拒收
配信停止
解除
ストップ
やめて
중지
그만
수신거부
해지
หยุด
ยกเลิก
never text me again
Never contact me again!
Don't ever text me again
stop fucking texting me
end texts
Cancel messages
no more sms
I'd like to opt out
Opt out of messages
Unsubscribe me from this
please unsubscribe me from all of your lists
Unsubscribe from all
take my number off your list
I said STOP
Reply STOP
Stop to end
STOP2END
cancel all
no me envíen mensajes
quiero darme de baja por favor
stop met berichten
wypisz mnie
Avbryt
не пишите мне больше
Don't bother me again
Never bother us
Never send me any more messages
Cancel text
cancel my text messages
`;
