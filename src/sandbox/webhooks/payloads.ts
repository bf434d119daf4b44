import { accountTimeZone, type Call, type Endpoint, type Message } from '../account.ts';
import { uniqueIdOf } from '../api/call-resource.ts';
import type { Links } from '../api/files.ts';
import { recipientsOf } from '../store/message-table.ts';
import { localTime } from '../time.ts';

/** The body of a delivery, before the query values of the subscription's URL are added. */
export type Payload = Record<string, unknown>;

/** A received or sent message, in the captured format. */
export function smsPayload(message: Message, links: Links): Payload {
  return {
    id: message.id,
    direction: message.direction === 'in' ? 'received' : 'sent',
    startTime: localTime(message.sentAt, accountTimeZone),
    fromNumber: message.from,
    toNumber: recipientsOf(message).join(','),
    message: message.text,
    media: message.media.length === 0 ? null : message.media.map((file) => links.media(file)),
    webhookType: 'AccountSMS',
  };
}

/** A carrier's receipt. Its format was never captured; assumed: the message with two more fields. */
export function receiptPayload(message: Message, links: Links): Payload {
  const { delivery } = message;
  return { ...smsPayload(message, links), deliveryStatus: delivery?.status, deliveryError: delivery?.error };
}

/** An ended call, in the captured format. Assumed: for UserEndedCalls only the type differs. */
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
    callDuration: call.durationSeconds,
    talkDuration: call.talkTimeSeconds,
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

type LiveStatus = 'ringing' | 'answered' | 'ended';

/** A status change of a call in progress, in the captured format. */
export function liveCallPayload(call: Call, status: LiveStatus): Payload {
  const first = call.legs[0];
  const leg = (status === 'answered' ? call.legs.find((one) => one.to === call.called) : undefined) ?? first;
  const startedAt = localTime(call.start * 1000, accountTimeZone);
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
    calledNumber: call.dialledNumber,
    callerIdExternal: call.callerIdExternal,
    callStartTime: startedAt,
    startTime: localTime((call.start + (leg?.offset ?? 0)) * 1000, accountTimeZone),
    webhookType: 'AccountRealTimeCalls',
  };
}

/** A finished transcript. Its format was never captured; assumed: ids only. */
export function transcriptionPayload(callId: string, transcriptId: number): Payload {
  return { callId, transcriptId, webhookType: 'AccountAITranscription' };
}

function directionWord(call: Call): string {
  if (call.internal) return 'Internal';
  return call.direction === 'inbound' ? 'incoming' : 'outgoing';
}

/** Deliveries use `phone` where the call history uses `user`. */
function partyWord(endpoint: Endpoint): string {
  return endpoint.type === 'user' ? 'phone' : endpoint.type;
}
