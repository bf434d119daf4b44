import type { Call, Endpoint, Message } from '../account.ts';
import { assumptions } from '../assumptions.ts';
import { uniqueIdOf } from '../resources/calls.ts';
import type { Links } from '../resources/links.ts';
import { recipientsOf } from '../resources/messages.ts';
import { localTime } from '../resources/moments.ts';

/** The body of a delivery, before the query values of the subscription's URL are added. */
export type Payload = Record<string, unknown>;

/** A message that came or went, in the captured shape. */
export function smsPayload(message: Message, links: Links): Payload {
  return {
    id: message.id,
    direction: message.direction === 'in' ? 'received' : 'sent',
    startTime: localTime(message.sentAt, assumptions.timeZone),
    fromNumber: message.from,
    toNumber: recipientsOf(message).join(assumptions.groupSeparator),
    message: message.text,
    media: message.media.length === 0 ? null : message.media.map((file) => links.media(file)),
    webhookType: 'AccountSMS',
  };
}

/** A carrier's receipt. Its shape was never seen; assumed to be that of the message with the receipt beside it. */
export function receiptPayload(message: Message, links: Links): Payload {
  const { delivery } = message;
  return { ...smsPayload(message, links), deliveryStatus: delivery?.status, deliveryError: delivery?.error };
}

/** A call that ended, in the captured shape. For a user's subscription only the type differs (assumed). */
export function endedCallPayload(call: Call, links: Links, type: 'AccountEndedCalls' | 'UserEndedCalls'): Payload {
  const recorded = call.legs.find((leg) => leg.recorded);
  const isIncoming = call.direction === 'inbound';
  return {
    callId: call.id,
    direction: directionWord(call),
    status: call.status === 'unknown' ? 'answered' : call.status,
    webhookType: type,
    callerNumber: call.caller.number,
    ...(isIncoming
      ? { externalCallerId: call.caller.number, externalCallerName: call.caller.name }
      : { calledNumber: call.called.number, calledName: call.called.name }),
    callDuration: call.duration,
    talkDuration: call.talk,
    ...(recorded === undefined ? {} : { recordingUrl: links.recording(uniqueIdOf(call, recorded)) }),
    cdrs: call.legs.map((leg) => ({
      status: leg.outcome === 'busy' ? 'noanswer' : leg.outcome,
      callerType: partyWord(leg.from),
      calledType: partyWord(leg.to),
      calledNumber: leg.to.number,
      talkDuration: leg.talkSeconds,
    })),
  };
}

export type LiveStatus = 'ringing' | 'answered' | 'ended';

/** A moment of a call in progress, in the captured shape. */
export function liveCallPayload(call: Call, status: LiveStatus): Payload {
  const first = call.legs[0];
  const leg = (status === 'answered' ? call.legs.find((one) => one.to === call.called) : undefined) ?? first;
  const startedAt = localTime(call.start * 1000, assumptions.timeZone);
  return {
    callId: call.id,
    UniqueId: leg === undefined ? call.id : uniqueIdOf(call, leg),
    direction: directionWord(call),
    status,
    destinationType: partyWord(leg?.to ?? call.called),
    destinationName: leg?.to.name ?? '',
    destinationNumber: leg?.to.number ?? '',
    sendType: partyWord(leg?.from ?? call.caller),
    sendName: leg?.from.name ?? '',
    sendNumber: leg?.from.number ?? '',
    calledNumber: call.dialled,
    callerIdExternal: call.callerIdExternal,
    callStartTime: startedAt,
    startTime: localTime((call.start + (leg?.offset ?? 0)) * 1000, assumptions.timeZone),
    webhookType: 'AccountRealTimeCalls',
  };
}

/** Finished transcripts of a call. Never seen in the wild; assumed to carry ids only. */
export function transcriptionPayload(callId: string, transcriptId: number): Payload {
  return { callId, transcriptId, webhookType: 'AccountAITranscription' };
}

function directionWord(call: Call): string {
  if (call.internal) return 'Internal';
  return call.direction === 'inbound' ? 'incoming' : 'outgoing';
}

/** Deliveries say `phone` where call history says `user`. */
function partyWord(endpoint: Endpoint): string {
  return endpoint.type === 'user' ? 'phone' : endpoint.type;
}
