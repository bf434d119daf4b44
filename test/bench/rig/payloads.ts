/** How many conversations the load is spread over. */
export const threadCount = 1_000;

const lines = Array.from({ length: 10 }, (_, at) => `1845555${String(9_000 + at)}`);
const words =
  'the appointment was moved to next week because parts arrive late please confirm with a short reply thank you ';

/** A captured AccountSMS delivery of about one KB, of one of the threads. */
export function textDelivery(thread: number): string {
  return JSON.stringify({
    id: 110_000_000 + thread,
    direction: 'received',
    startTime: '2026-04-21T18:47:50-04:00',
    fromNumber: `1718${String(5_550_000 + thread)}`,
    toNumber: lines[thread % lines.length],
    message: words.repeat(7).slice(0, 770),
    media: null,
    webhookType: 'AccountSMS',
    secret: 'an-echoed-query-value',
  });
}

/** A captured AccountEndedCalls delivery of about one KB, of the call of that id, or else of one that no other `at` names. */
export function callDelivery(at: number, callId = `${1_780_000_000 + Math.floor(at / 10)}.${100_000 + at}`): string {
  const leg = {
    status: 'noanswer',
    callerType: 'ivr',
    calledType: 'huntgroup',
    calledNumber: '54344',
    talkDuration: 0,
  };
  return JSON.stringify({
    callId,
    direction: 'incoming',
    status: 'missed',
    webhookType: 'AccountEndedCalls',
    callerNumber: `1718${String(5_000_000 + (at % 4_000_000))}`,
    externalCallerName: 'WIRELESS CALLER',
    callDuration: 60,
    talkDuration: 0,
    recordingUrl: 'https://example.com/recordings/op.mp3',
    cdrs: Array.from({ length: 7 }, () => leg),
  });
}
