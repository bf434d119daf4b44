interface Party {
  callerType: string;
  callerName: string;
  callerNumber: string;
  calledType: string;
  calledName: string;
  calledNumber: string;
}

/** A call as the API shows it, legs and transcripts included. */
export interface PlainCall extends Party {
  id: string;
  direction: string;
  status: string;
  dialledNumber: string;
  callerIdExternal: string;
  startTime: string;
  durationSeconds: number;
  talkTimeSeconds: number;
  legs: Party[];
  transcripts: { callPurpose?: string; callSentiment?: string }[];
}

interface Range {
  start?: string;
  end?: string;
}

export interface PlainRequest {
  direction?: string;
  timeZone?: string;
  filters?: Partial<
    Record<
      | 'numbers'
      | 'numbersExclude'
      | 'extensions'
      | 'extensionsExclude'
      | 'queues'
      | 'queuesExclude'
      | 'huntgroups'
      | 'huntgroupsExclude'
      | 'users'
      | 'directions'
      | 'statuses'
      | 'callPurpose'
      | 'callSentiment',
      string[]
    >
  > & { search?: string } & Partial<Record<'duration' | 'talkTime' | 'waitTime' | 'timeOfDay', Range>>;
}

/** What section 4.6 says of the filters, without any cleverness, from what the API itself shows of a call. */
export function plainFilter(
  call: PlainCall,
  { direction, timeZone = 'UTC', filters = {} }: PlainRequest,
  users: { id: number; extensions: string[] }[],
): boolean {
  const parties = [call, ...call.legs].flatMap((party) => [
    [party.callerType, party.callerName, party.callerNumber] as const,
    [party.calledType, party.calledName, party.calledNumber] as const,
  ]);
  const numbers = [call.callerNumber, call.calledNumber, call.dialledNumber, call.callerIdExternal];
  const met = (types: string[], asked: string[]) =>
    parties.some(([type, name, number]) => types.includes(type) && (asked.includes(name) || asked.includes(number)));
  const within = (value: number, range: Range) =>
    value >= Number(range.start ?? 0) && value <= Number(range.end ?? Number.MAX_SAFE_INTEGER);
  const has = <T>(asked: T | undefined, test: (asked: T) => boolean) => asked === undefined || test(asked);

  const duringDay = ({ start = '00:00', end = '23:59' }: Range) => {
    const clock = new Date(call.startTime).toLocaleTimeString('en-GB', {
      timeZone,
      hour: '2-digit',
      minute: '2-digit',
    });
    return start <= end ? clock >= start && clock <= end : clock >= start || clock <= end;
  };
  const extensionsOf = (ids: string[]) =>
    users.filter((user) => ids.includes(String(user.id))).flatMap((user) => user.extensions);
  const words = [call.callerName, call.callerNumber, call.calledName, call.calledNumber].map((word) =>
    word.toLowerCase(),
  );

  return [
    has(direction, (asked) => call.direction === asked),
    has(filters.numbers, (asked) => numbers.some((number) => asked.includes(number))),
    has(filters.numbersExclude, (asked) => !numbers.some((number) => asked.includes(number))),
    has(filters.extensions, (asked) => met(['user', 'mailbox'], asked)),
    has(filters.extensionsExclude, (asked) => !met(['user', 'mailbox'], asked)),
    has(filters.queues, (asked) => met(['queue'], asked)),
    has(filters.queuesExclude, (asked) => !met(['queue'], asked)),
    has(filters.huntgroups, (asked) => met(['huntgroup'], asked)),
    has(filters.huntgroupsExclude, (asked) => !met(['huntgroup'], asked)),
    has(filters.users, (asked) => met(['user', 'mailbox'], extensionsOf(asked))),
    has(filters.directions, (asked) => asked.includes(call.direction)),
    has(filters.statuses, (asked) => asked.includes(call.status)),
    has(filters.search, (asked) => words.some((word) => word.includes(asked.toLowerCase()))),
    has(filters.duration, (range) => within(call.durationSeconds, range)),
    has(filters.talkTime, (range) => within(call.talkTimeSeconds, range)),
    has(filters.waitTime, (range) => within(call.durationSeconds - call.talkTimeSeconds, range)),
    has(filters.timeOfDay, duringDay),
    has(filters.callPurpose, (asked) => call.transcripts.some((one) => asked.includes(one.callPurpose ?? ''))),
    has(filters.callSentiment, (asked) => call.transcripts.some((one) => asked.includes(one.callSentiment ?? ''))),
  ].every(Boolean);
}
