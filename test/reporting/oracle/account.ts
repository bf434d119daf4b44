import type { Call, Endpoint, Leg, Line, Message, Transcript, User } from '../../../src/sandbox/account.ts';
import { createRandom, type Random } from '../../../src/sandbox/random.ts';
import { beginOf, dateAfter, hour, oddDays, type Schedule, second } from './clock.ts';

/*
 * An account and what happened on it, drawn from a seed: the truth that the service shows and the oracle counts. The times are
 * those around the two odd midnights or nights of one year; the few that `repeat_callers` needs are days before now.
 */

/** What the reports mean by their words; `reporting.params` is set to it. */
export interface Definitions {
  readonly timeZone: string;
  readonly serviceLevelSeconds: number;
  readonly shortAbandonSeconds: number;
  readonly callbackWindow: number;
  readonly sessionGap: number;
  readonly schedule: Schedule;
  /** The carriers' words, in lower case. */
  readonly deliveryWords: Readonly<Record<string, string>>;
}

export interface AccountCall {
  call: Call;
  /** Read with its legs; else only a search listed it. */
  isWhole: boolean;
  transcripts: Transcript[];
}

export type Verdict = 'opt_out' | 'opt_in' | 'unsure' | 'none';

export interface AccountText {
  message: Message;
  verdict: Verdict;
  /** The ledger sent it for a rule. */
  isOfRule: boolean;
}

export interface Account {
  readonly seed: number;
  readonly random: Random;
  readonly lines: readonly Line[];
  definitions: Definitions;
  users: User[];
  /** Users that the service no longer lists. */
  readonly formerUsers: User[];
  readonly calls: Map<string, AccountCall>;
  readonly texts: Map<number, AccountText>;
  /** Numbers of people who were erased. */
  readonly erased: Set<string>;
  /** Opt-outs in a group that an erasure took away, as it kept them. */
  readonly keptOptOuts: { line: string; number: string; at: number; kind: 'opt_out' | 'unsure' }[];
  /** Begins of the local days that everything happens around. */
  readonly scenes: readonly number[];
  /** Hours, by their begin, that were compared with the call history of the service. */
  readonly comparedHours: Map<number, { reported: number; held: number }>;
  /** Numbers legs and texts, and is never given twice. */
  nextNumber: number;
}

export interface Customer {
  readonly number: string;
  readonly name: string;
}

const zones = ['America/New_York', 'America/Havana', 'Australia/Lord_Howe', 'Asia/Beirut'] as const;
/** The zone that the reports are moved to. */
export const otherZone = (zone: string) => zones[(zones.indexOf(zone as (typeof zones)[number]) + 1) % zones.length];

const everyDay = [1, 2, 3, 4, 5, 6, 7];
const weekSchedules = [
  [
    ...[1, 2, 3, 4, 5, 6].map((isodow) => ({ isodow, opens: 540, closes: 720 })),
    ...[1, 2, 3, 4, 5].map((isodow) => ({ isodow, opens: 780, closes: 1_020 })),
  ],
  everyDay.map((isodow) => ({ isodow, opens: 0, closes: 1_440 })),
  [{ isodow: 7, opens: 0, closes: 360 }, ...[1, 2, 3, 4, 5].map((isodow) => ({ isodow, opens: 480, closes: 1_200 }))],
];

const carrierWords = {
  ...{ delivered: 'delivered', delivrd: 'delivered', sent: 'in_flight', queued: 'in_flight' },
  ...{ failed: 'failed', undelivered: 'failed', unknown: 'unknown' },
};

/** Two names for two people each, and three customers with a name that carriers give to anybody. */
export const customers: readonly Customer[] = [
  ...Array.from({ length: 12 }, (_, at) => ({ number: `1212555${String(1_000 + at)}`, name: `CALLER ${at >> 1}` })),
  { number: '12125551100', name: 'WIRELESS CALLER' },
  { number: '12125551101', name: 'WIRELESS CALLER' },
  { number: '447700900123', name: 'WIRELESS CALLER' },
];

const person = (id: number, firstName: string, lastName: string, extensions: string[]): User => ({
  ...{ id, username: `user.${id}`, firstName, lastName, title: 'Agent', email: `${id}@example.test`, mobile: '' },
  ...{ company: 'Example', timeZone: 'UTC', extension: extensions[0] ?? '', extensions, lines: [], numbers: [] },
  voicemails: [],
});

/** Namesakes, one who has two extensions, two who share one, a desk phone by its name, and one without a name. */
const team = (): User[] => [
  person(4100, 'Marcus', 'Bell', ['201']),
  person(4101, 'Marcus', 'Bell', ['202']),
  person(4102, 'Ana', 'Ruiz', ['203', '200']),
  person(4103, 'Ola', 'Berg', ['209', '204']),
  person(4104, 'Per', 'Lund', ['209', '205']),
  { ...person(4105, '', '', ['206']), username: 'desk.six' },
  { ...person(4106, 'Iris', 'Stone', []), lines: ['207-desk'] },
];

/** A queue and a namesake, a huntgroup, and a queue that has only a name. */
export const groups: readonly Endpoint[] = [
  { type: 'queue', name: 'Service', number: '601' },
  { type: 'queue', name: 'Service', number: '604' },
  { type: 'huntgroup', name: 'Front desk', number: '54344' },
  { type: 'queue', name: 'Overflow', number: '' },
];

const menu: Endpoint = { type: 'ivr', name: 'Main menu', number: '73626' };
const ownNumbers = ['16465550100', '16465550101', '16465550110'];
export const messageLines = ['16465550100', '16465550101'];

/** `301` belongs to nobody. */
const desks = ['201', '202', '203', '200', '209', '204', '205', '206', '207-desk', '301'];
const deskOf = (number: string): Endpoint => ({ type: 'user', name: `Desk ${number}`, number });

export function createAccount(seed: number, now: number): Account {
  const random = createRandom(seed * 7_919 + 17);
  const zone = zones[seed % zones.length] ?? zones[0];
  const year = 2_024 + (seed % 2);
  const scenes = oddDays(year, zone).flatMap((date) => {
    return [-1, 0, 1].map((days) => beginOf(dateAfter(date, days), zone));
  });
  scenes.push(beginOf(`${year}-07-01`, zone), beginOf(`${year}-06-30`, zone));
  const account: Account = {
    seed,
    random,
    lines: messageLines.map((number) => ({ number, name: '', userIds: [], bulkEnabled: false })),
    definitions: {
      timeZone: zone,
      serviceLevelSeconds: random.pick([5, 10, 15, 20, 30, 45, 60, 120]),
      shortAbandonSeconds: random.pick([5, 8, 12]),
      callbackWindow: random.pick([2, 5, 30]) * hour,
      sessionGap: random.pick([4, 24]) * hour,
      schedule: {
        zone,
        hours: weekSchedules[seed % weekSchedules.length] ?? [],
        holidays: [`${year}-07-01`],
      },
      deliveryWords: carrierWords,
    },
    users: team(),
    formerUsers: [],
    calls: new Map(),
    texts: new Map(),
    erased: new Set(),
    keptOptOuts: [],
    scenes,
    comparedHours: new Map(),
    nextNumber: 1_000,
  };
  for (let count = 0; count < 130; count += 1) addCall(account, momentOf(account));
  // Some callers of the last days, and of those before that no longer count.
  for (const days of [0.1, 0.3, 1, 1, 2, 3, 5, 5.9, 6.1, 6.8, 7, 7.2, 9]) {
    const at = Math.floor((now - days * 24 * hour) / second) * second;
    addCall(account, at, { customer: random.pick(customers.slice(0, 3)), isInbound: true });
  }
  for (const line of messageLines) {
    for (const { number } of [...customers, ...customers]) if (random.chance(0.7)) addThread(account, line, [number]);
    for (const members of [customers.slice(1, 3), customers.slice(5, 8), customers.slice(5, 8)]) {
      addThread(
        account,
        line,
        members.map(({ number }) => number),
      );
    }
  }
  linkReturns(account);
  return account;
}

/** Any moment of the scenes; often close to a midnight, where a day, an hour and a quarter begin at once. */
export function momentOf({ random, scenes }: Account): number {
  const scene = random.pick(scenes);
  const drawn = random.next();
  const after =
    drawn < 0.3 ? random.int(-2_400, 2_400) : drawn < 0.5 ? random.int(0, 4) * 3_600 : random.int(0, 90_000);
  return scene + (drawn < 0.5 && drawn > 0.4 ? after - 1 : after) * second;
}

// Calls

interface CallWishes {
  readonly customer?: Customer;
  readonly isInbound?: boolean;
}

/** Adds a call and answers with its id. */
export function addCall(account: Account, at: number, wishes: CallWishes = {}): string {
  const { random, calls } = account;
  const draft = draftCall(random, wishes);
  const start = at / second;
  const sequence = account.nextNumber;
  account.nextNumber += draft.legs.length;
  draft.legs.forEach((leg, index) => {
    leg.sequence = sequence + index;
  });
  const recent = [...calls.values()].filter(({ call }) => {
    return call.direction === 'inbound' && call.caller.number === draft.caller.number && call.start < start;
  });
  const call: Call = {
    ...draft,
    id: `${start}.${sequence}`,
    start,
    sequence,
    repeated: draft.direction === 'inbound' ? recent.filter((other) => other.call.start > start - 86_400).length : 0,
    transcriptSeed: sequence,
    recordingsAt: draft.recorded ? at : null,
    transcriptsAt: draft.recorded ? at : null,
  };
  calls.set(call.id, {
    call,
    isWhole: random.chance(0.8),
    transcripts: random.chance(0.75) ? transcriptsFor(account, call) : [],
  });
  return call.id;
}

type Draft = Omit<Call, 'id' | 'start' | 'sequence' | 'repeated' | 'transcriptSeed' | 'recordingsAt' | 'transcriptsAt'>;

function draftCall(random: Random, wishes: CallWishes): Draft {
  const kind = wishes.isInbound ? 0 : random.weighted([70, 20, 10]);
  const customer = wishes.customer ?? random.pick(customers);
  const outside: Endpoint = { type: 'external', name: customer.name, number: customer.number };
  const desk = deskOf(random.pick(desks));
  if (kind === 1) return settled(random, 'outbound', desk, outboundLegs(random, desk, outside), customer.number);
  if (kind === 2) {
    const colleague = deskOf(random.pick(desks.filter((number) => number !== desk.number)));
    return settled(random, 'outbound', desk, outboundLegs(random, desk, colleague), colleague.number);
  }
  // Some withhold their number, some show a short one, some are shown as people write them.
  const shown = random.weighted([86, 5, 4, 5]);
  const written = `+${customer.number.slice(0, 1)} (${customer.number.slice(1, 4)}) ${customer.number.slice(4)}`;
  const caller = { ...outside, number: [outside.number, '', '611', written][shown] ?? '' };
  const call = settled(random, 'inbound', caller, inboundLegs(random, caller), random.pick(ownNumbers));
  // Of some the service lists no leg with a conversation: who answered is known, and not when.
  if (call.status !== 'answered' || call.recorded || random.chance(0.6)) return call;
  return { ...call, legs: call.legs.filter((leg) => !isConversation(leg)), transfers: 0 };
}

interface Way {
  readonly legs: Leg[];
  readonly ending: 'answered' | 'voicemail' | 'missed' | 'abandoned';
}

function step(legs: Leg[], from: Endpoint, to: Endpoint, values: Partial<Leg> = {}): void {
  const before = legs.at(-1);
  legs.push({
    ...{
      from,
      to,
      sequence: 0,
      ringSeconds: 0,
      talkSeconds: 0,
      outcome: 'answer',
      recorded: false,
      transferred: false,
    },
    offset: before ? before.offset + before.ringSeconds + before.talkSeconds : 0,
    ...values,
  });
}

const queueWaits = [0, 2, 5, 8, 9, 12, 15, 20, 30, 45, 61, 130];
/** Often to the second of a threshold. */
const patience = [5, 5, 8, 8, 12, 12, 20, 20, 40];

/** Straight to a desk, or through a menu and up to two queues; then perhaps passed on, to people or back into a queue. */
function inboundLegs(random: Random, caller: Endpoint): Way {
  const legs: Leg[] = [];
  const ending =
    (['answered', 'voicemail', 'missed', 'abandoned'] as const)[random.weighted([50, 15, 12, 23])] ?? 'missed';
  let from = caller;
  if (random.chance(0.6)) {
    step(legs, caller, menu, { talkSeconds: random.int(0, 30) });
    if (ending === 'abandoned' && random.chance(0.3)) return { legs, ending };
    from = menu;
  }
  const desk = deskOf(random.pick(desks));
  if (from === caller && random.chance(0.4)) {
    const ringSeconds = random.pick([0, 3, 5, 8, 10, 12, 20, 21, 40]);
    if (ending !== 'answered') {
      step(legs, caller, desk, { ringSeconds, outcome: ending === 'abandoned' ? 'cancel' : 'noanswer' });
      if (ending === 'voicemail') step(legs, caller, mailbox(desk), { talkSeconds: random.int(5, 40), recorded: true });
      return { legs, ending };
    }
    step(legs, caller, desk, { ringSeconds, talkSeconds: random.int(1, 400) });
  } else {
    const queues = random.chance(0.35) ? [random.pick(groups), random.pick(groups)] : [random.pick(groups)];
    for (const [at, queue] of queues.entries()) {
      const isLast = at === queues.length - 1;
      const outcome =
        !isLast || ending === 'voicemail' || ending === 'missed'
          ? 'noanswer'
          : ending === 'answered'
            ? 'answer'
            : 'cancel';
      step(legs, from, queue, { ringSeconds: random.pick(ending === 'abandoned' ? patience : queueWaits), outcome });
      from = queue;
    }
    if (ending === 'abandoned') return { legs, ending };
    for (const number of random.chance(0.4) ? [random.pick(desks), random.pick(desks)] : []) {
      step(legs, from, deskOf(number), { ringSeconds: random.int(1, 15), outcome: 'noanswer' });
    }
    if (ending === 'voicemail') step(legs, from, mailbox(from), { talkSeconds: random.int(5, 40), recorded: true });
    if (ending !== 'answered') return { legs, ending };
    step(legs, from, desk, { ringSeconds: random.int(0, 9), talkSeconds: random.int(1, 400) });
  }
  passOn(random, legs);
  return { legs, ending };
}

const mailbox = ({ name, number }: Endpoint): Endpoint => ({ type: 'mailbox', name, number });

function outboundLegs(random: Random, desk: Endpoint, to: Endpoint): Way {
  const legs: Leg[] = [];
  const isAnswered = random.chance(0.65);
  const ringSeconds = random.int(1, 30);
  step(
    legs,
    desk,
    to,
    isAnswered ? { ringSeconds, talkSeconds: random.int(1, 300) } : { ringSeconds, outcome: 'noanswer' },
  );
  if (isAnswered && random.chance(0.2))
    step(legs, desk, deskOf(random.pick(desks)), { ringSeconds: 4, talkSeconds: 30, transferred: true });
  return { legs, ending: isAnswered ? 'answered' : 'missed' };
}

/** Transfers: from desk to desk, or from a desk through one or two queues to another desk. */
function passOn(random: Random, legs: Leg[]): void {
  const times = random.weighted([65, 25, 10]);
  for (let count = 0; count < times; count += 1) {
    let from = legs.at(-1)?.to ?? menu;
    for (const queue of random.pick([[], [random.pick(groups)], [random.pick(groups), random.pick(groups)]])) {
      step(legs, from, queue, { ringSeconds: random.int(0, 60), transferred: from.type === 'user' });
      from = queue;
    }
    const desk = deskOf(random.pick(desks));
    step(legs, from, desk, {
      ringSeconds: random.int(0, 20),
      talkSeconds: random.int(1, 200),
      transferred: from.type === 'user',
    });
  }
}

export const isConversation = ({ to, outcome, talkSeconds }: Leg) =>
  outcome === 'answer' && talkSeconds > 0 && (to.type === 'user' || to.type === 'external');

/** What the service says of a call as a whole, from its legs. */
function settled(random: Random, direction: Call['direction'], caller: Endpoint, way: Way, dialled: string): Draft {
  const { legs, ending } = way;
  const people = legs.filter(isConversation);
  const isAnswered = ending === 'answered';
  const isUnknown = random.chance(0.05);
  if (isAnswered && random.chance(0.6)) for (const leg of people) leg.recorded = true;
  const isInternal = direction === 'outbound' && legs[0]?.to.type === 'user';
  const last = legs.at(-1);
  return {
    direction,
    internal: isInternal,
    status: isUnknown ? 'unknown' : ending === 'abandoned' ? 'missed' : ending,
    answeredBy: isAnswered ? Math.max(1, people.length) : 0,
    caller,
    called: (people[0] ?? last)?.to ?? menu,
    dialled,
    callerIdInternal: '',
    callerIdExternal: direction === 'inbound' ? caller.number : isInternal ? '' : random.pick(ownNumbers),
    duration: last ? last.offset + last.ringSeconds + last.talkSeconds : 0,
    talk: isAnswered ? people.reduce((sum, leg) => sum + leg.talkSeconds, 0) : 0,
    hasEnd: !isUnknown,
    transfers: legs.filter(({ transferred }) => transferred).length,
    abandoned: ending === 'abandoned' && !isUnknown,
    recorded: legs.some(({ recorded }) => recorded),
    legs,
  };
}

/** The service names the call that returned some of the abandoned ones; it may name one that is not there. */
function linkReturns({ random, calls }: Account): void {
  for (const each of calls.values()) {
    const { call } = each;
    if (!call.abandoned || !random.chance(0.2)) continue;
    const returns = [...calls.values()].find(({ call: { direction, called, start } }) => {
      return direction === 'outbound' && called.number === call.caller.number && start > call.start;
    });
    each.call = { ...call, calledBack: returns?.call.id ?? '1600000000.1' };
  }
}

const heardNames = ['Marcus Bell', 'Marcus', 'ANA', '', undefined];
const purposes = ['Billing', 'Repair', undefined];
const sentiments = ['positive', 'negative', '', undefined];
const maybe = <Value>(random: Random, value: Value) => (random.chance(0.6) ? value : undefined);

export function transcriptsFor(account: Account, call: Call): Transcript[] {
  const { random } = account;
  const recorded = call.legs.filter((leg) => leg.recorded);
  return recorded.filter(() => random.chance(0.85)).map((leg) => transcriptFor(random, call, leg));
}

export function transcriptFor(random: Random, call: Call, leg: Leg): Transcript {
  const digits = `${call.start + leg.offset}${leg.sequence}`;
  const turns = random.int(0, 5);
  const optional = {
    callPurpose: random.pick(purposes),
    callSentiment: random.pick(sentiments),
    customerSatisfactionScore: maybe(random, random.int(0, 10)),
    agentPerformanceScore: maybe(random, random.int(0, 10)),
    agentName: random.pick(heardNames),
    agentSpeaker: maybe(random, random.int(0, 1)),
    actionRequiredNote: 'Call back',
    shortSummary: 'Asked for a date',
  };
  const transcript: Transcript = {
    id: leg.sequence,
    callId: call.id,
    // Some file names tell nothing of the leg.
    recording: random.chance(0.85) ? `rec-${digits}.wav` : 'rec.wav',
    segments: Array.from({ length: turns }, (_, at) => ({
      ...{ start: at * 4, end: at * 4 + random.int(1, 12) / 4, speaker: random.int(0, 1), text: 'words' },
    })),
    bulletPoints: [],
    actionRequired: random.chance(0.3),
    urgentActionRequired: random.chance(0.15),
    customKpis: random.chance(0.7)
      ? [
          { name: 'Greeting', ...given({ value: maybe(random, random.int(0, 5)) }), note: '' },
          { name: 'Upsell', ...given({ value: maybe(random, 1) }), note: '' },
        ]
      : [],
  };
  return { ...transcript, ...given(optional) } as Transcript;
}

function given<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}

// Texts

/** Words of customers, and whether they opt out, by what people mean. */
const inboundWords: readonly (readonly [string, Verdict])[] = [
  ['When will you come?', 'none'],
  ['Thanks', 'none'],
  ['Please stop by at five', 'unsure'],
  ['STOP', 'opt_out'],
  ['Stop.', 'opt_out'],
  ['please stop', 'opt_out'],
  ['leave me alone', 'unsure'],
  ['START', 'opt_in'],
  ['unstop', 'opt_in'],
];

/** One segment and two of the GSM alphabet, three and one of any other. */
const outboundWords = ['We are on our way', `${'o'.repeat(159)}{`, 'Мы уже едем '.repeat(13), 'Déjà là – ça va'];

const receipts = [
  ...[undefined, undefined, ['delivered', ''], ['DELIVRD', ''], ['Sent', ''], ['failed', '30005'], ['undelivered', '']],
  ...[
    ['martian', ''],
    ['martian', '30007'],
    ['', '30008'],
    ['', ''],
    ['queued', ''],
    ['unknown', ''],
  ],
] as const;

function addThread(account: Account, line: string, parties: readonly string[]): void {
  const { random } = account;
  let at = momentOf(account);
  for (let count = random.int(1, 8); count > 0; count -= 1) {
    addText(account, line, parties, at);
    const { sessionGap } = account.definitions;
    at +=
      random.pick([1, 20, 300, 3_600, 3 * 3_600, sessionGap / second, sessionGap / second + 1, 30 * 3_600]) * second;
  }
}

/** Adds a text to a thread; a group has several parties. */
export function addText(account: Account, line: string, parties: readonly string[], at: number): AccountText {
  const { random, texts } = account;
  account.nextNumber += 1;
  const participants = parties.length > 1 ? parties.toSorted() : [];
  const number = participants[0] ?? parties[0] ?? '';
  const isInbound = random.chance(0.55);
  const [words, verdict] = random.chance(0.5) ? (['Hello', 'none'] as const) : random.pick(inboundWords);
  const sender = random.weighted([50, 30, 20]);
  const receipt = random.pick(receipts);
  const message: Message = {
    id: account.nextNumber,
    line,
    number,
    participants,
    direction: isInbound ? 'in' : 'out',
    from: isInbound ? random.pick(participants.length > 0 ? participants : [number]) : line,
    text: isInbound ? words : (outboundWords[account.nextNumber % outboundWords.length] ?? ''),
    media: random.chance(0.15) ? ['photo.jpg'] : [],
    sentAt: at,
    readBy: [],
    readByAccount: false,
    ...(!isInbound && {
      // A rule may send with the login of a user.
      ...((sender === 0 || (sender === 1 && random.chance(0.4))) && { sentBy: 4_100 + random.int(0, 2) }),
      ...(receipt && { delivery: { status: receipt[0], error: receipt[1], at: at + 5 * second } }),
      ...(random.chance(0.12) && { blockReason: 'spam' }),
      ...(random.chance(0.06) && { scheduledAt: Date.parse('2099-01-01T00:00:00Z') }),
    }),
  };
  const text = {
    message,
    verdict: isInbound ? verdict : 'none',
    isOfRule: !isInbound && sender === 1,
  } satisfies AccountText;
  texts.set(message.id, text);
  return text;
}
