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
  start?: number;
  end?: number;
  limit?: number;
  offset?: number;
  sort?: { field: string; direction?: string };
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

interface PlainUser {
  id: number;
  username: string;
  extensions: string[];
}

/** A page of the calls, which come newest first, in the order asked for; and how many there are on all pages. */
export function plainSearch(
  calls: readonly PlainCall[],
  { start = 0, end = 1e10, limit = 50, offset = 0, sort, ...request }: PlainRequest,
  users: PlainUser[],
): { total: number; ids: string[] } {
  const found = calls.filter(({ startTime }) => {
    const moment = Date.parse(startTime) / 1000;
    return moment >= start && moment <= end;
  });
  const fitting = found.filter((call) => plainFilter(call, request, users));
  const ids = arranged(fitting, sort).map(({ id }) => id);
  return { total: ids.length, ids: ids.slice(offset, offset + Math.min(limit, 500)) };
}

/** The sort is stable, so what is equal stays newest first; only the oldest first is the newest first turned round. */
function arranged(calls: PlainCall[], sort: PlainRequest['sort']): PlainCall[] {
  if (sort === undefined) return calls;
  const isAscending = sort.direction === 'asc';
  if (sort.field === 'startTime') return isAscending ? calls.toReversed() : calls;
  const shown = (call: PlainCall) => (call as unknown as Record<string, string | number | boolean>)[sort.field];
  const absent = calls.filter((call) => shown(call) === undefined);
  const sorted = calls
    .flatMap((call) => {
      const value = shown(call);
      return value === undefined ? [] : [{ call, value }];
    })
    .sort(({ value: one }, { value: other }) => (isAscending ? 1 : -1) * (Number(one > other) - Number(one < other)))
    .map(({ call }) => call);
  return isAscending ? [...absent, ...sorted] : [...sorted, ...absent];
}

/** What section 4.6 says of the filters, without any cleverness, from what the API itself shows of a call. */
function plainFilter(
  call: PlainCall,
  { direction, timeZone = 'UTC', filters = {} }: PlainRequest,
  users: PlainUser[],
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
  const has = <T>(asked: T | undefined, test: (asked: T) => boolean) =>
    asked === undefined || (Array.isArray(asked) && asked.length === 0) || test(asked);

  const duringDay = ({ start = '00:00', end = '23:59' }: Range) => {
    const clock = new Date(call.startTime).toLocaleTimeString('en-GB', {
      timeZone,
      hour: '2-digit',
      minute: '2-digit',
    });
    return start <= end ? clock >= start && clock <= end : clock >= start || clock <= end;
  };
  const extensionsOf = (asked: string[]) =>
    users
      .filter((user) => asked.includes(String(user.id)) || asked.some((name) => name !== '' && name === user.username))
      .flatMap((user) => user.extensions);
  const words = [call.callerName, call.callerNumber, call.calledName, call.calledNumber].map((word) =>
    word.toLowerCase(),
  );

  return [
    has(direction, (asked) => call.direction === asked),
    has(filters.numbers, (asked) => numbers.some((number) => asked.map(digits).includes(number))),
    has(filters.numbersExclude, (asked) => !numbers.some((number) => asked.map(digits).includes(number))),
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
    has(filters.callPurpose, (asked) =>
      call.transcripts.some((one) => one.callPurpose !== undefined && asked.includes(one.callPurpose)),
    ),
    has(filters.callSentiment, (asked) =>
      call.transcripts.some((one) => one.callSentiment !== undefined && asked.includes(one.callSentiment)),
    ),
  ].every(Boolean);
}

function digits(number: string): string {
  const bare = number.replace(/\D/g, '');
  return bare.length === 10 ? `1${bare}` : bare;
}
