/** The id of a call that begins at a second. */
export function callId(at: number, second: number): string {
  return `${second}.${100_000 + at}`;
}

/** A call as the API lists it. */
export function callResource(at: number, second: number): Record<string, unknown> {
  const outside = `1718${5_000_000 + ((at * 7_919) % 4_000_000)}`;
  return {
    id: callId(at, second),
    direction: 'inbound',
    status: 'missed',
    statusCode: -1,
    callerType: 'external',
    callerName: 'WIRELESS CALLER',
    callerNumber: outside,
    calledType: 'user',
    calledName: 'Front Desk',
    calledNumber: String(100 + (at % 300)),
    dialledNumber: `1845555${9_000 + (at % 40)}`,
    callerIdInternal: '',
    callerIdExternal: outside,
    startTime: new Date(second * 1_000).toISOString(),
    endTime: new Date((second + 24) * 1_000).toISOString(),
    durationSeconds: 24,
    talkTimeSeconds: 0,
    transferred: 0,
    abandoned: true,
    recorded: false,
    repeated: at % 5,
  };
}

/** A call as the API shows it by itself. */
export function callWithLegs(at: number, second: number): Record<string, unknown> {
  const call = callResource(at, second);
  const leg = (sequence: number) => ({
    uniqueId: `${second}.${500_000_000 + at * 2 + sequence}`,
    callId: call.id,
    status: 'noanswer',
    callerNumber: call.callerNumber,
    calledNumber: call.calledNumber,
    startTime: call.startTime,
    durationSeconds: 12,
    talkTimeSeconds: 0,
    recorded: false,
  });
  return { ...call, legs: [leg(0), leg(1)] };
}
