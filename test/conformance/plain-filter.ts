import type { CallSearch } from '../../src/api-client/client.ts';

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

export interface PlainUser {
  id: number;
  username: string;
  extensions: string[];
}

interface Range {
  start?: string | undefined;
  end?: string | undefined;
}

/** What section 4.6 says of the filters, without any cleverness, from what the API itself shows of a call. */
export function plainFilter(
  call: PlainCall,
  { direction, timeZone = 'UTC', filters = {} }: Omit<CallSearch, 'start' | 'end'>,
  users: PlainUser[],
): boolean {
  const numbers = [call.callerNumber, call.calledNumber, call.dialledNumber, call.callerIdExternal];
  const words = [call.callerName, call.callerNumber, call.calledName, call.calledNumber];
  const parties = [call, ...call.legs].flatMap((party) => [
    [party.callerType, party.callerName, party.callerNumber] as const,
    [party.calledType, party.calledName, party.calledNumber] as const,
  ]);
  const met = (types: string[]) => (asked: readonly string[]) =>
    parties.some(([type, name, number]) => types.includes(type) && (asked.includes(name) || asked.includes(number)));
  const inside = met(['user', 'mailbox']);
  const reaches = (asked: readonly string[]) => numbers.some((number) => asked.map(digits).includes(number));
  const within = (value: number) => (range: Range) =>
    value >= Number(range.start ?? 0) && value <= Number(range.end ?? Number.MAX_SAFE_INTEGER);
  const tells = (field: 'callPurpose' | 'callSentiment') => (asked: readonly string[]) =>
    call.transcripts.some(({ [field]: told }) => told !== undefined && asked.includes(told));
  const duringDay = ({ start = '00:00', end = '23:59' }: Range) => {
    const shown = { timeZone, hour: '2-digit', minute: '2-digit' } as const;
    const clock = new Date(call.startTime).toLocaleTimeString('en-GB', shown);
    return start <= end ? clock >= start && clock <= end : clock >= start || clock <= end;
  };
  const ofUsers = (asked: readonly string[]) =>
    inside(
      users
        .filter(({ id, username }) => asked.includes(String(id)) || (username !== '' && asked.includes(username)))
        .flatMap(({ extensions }) => extensions),
    );
  const has = <T>(asked: T | undefined, fits: (asked: T) => boolean) =>
    asked === undefined || (Array.isArray(asked) && asked.length === 0) || fits(asked);
  const lacks = <T>(asked: T | undefined, fits: (asked: T) => boolean) => has(asked, (each) => !fits(each));

  return [
    has(direction, (asked) => call.direction === asked),
    has(filters.directions, (asked) => asked.some((each) => each === call.direction)),
    has(filters.statuses, (asked) => asked.some((each) => each === call.status)),
    has(filters.numbers, reaches),
    lacks(filters.numbersExclude, reaches),
    has(filters.extensions, inside),
    lacks(filters.extensionsExclude, inside),
    has(filters.queues, met(['queue'])),
    lacks(filters.queuesExclude, met(['queue'])),
    has(filters.huntgroups, met(['huntgroup'])),
    lacks(filters.huntgroupsExclude, met(['huntgroup'])),
    has(filters.users, ofUsers),
    has(filters.search, (asked) => words.some((word) => word.toLowerCase().includes(asked.toLowerCase()))),
    has(filters.duration, within(call.durationSeconds)),
    has(filters.talkTime, within(call.talkTimeSeconds)),
    has(filters.waitTime, within(call.durationSeconds - call.talkTimeSeconds)),
    has(filters.timeOfDay, duringDay),
    has(filters.callPurpose, tells('callPurpose')),
    has(filters.callSentiment, tells('callSentiment')),
  ].every(Boolean);
}

function digits(number: string): string {
  const bare = number.replace(/\D/g, '');
  return bare.length === 10 ? `1${bare}` : bare;
}
