import { z } from 'zod';
import { type Call, type Endpoint, type Leg, partiesOf } from '../account.ts';
import type { Random } from '../random.ts';
import { rfc3339 } from '../time.ts';
import { type Customer, type Directory, type Group, userEndpoint } from './directory.ts';

/** For `repeated` and `calledBack` (2.9). */
export const repeatWindowSeconds = 86_400;

/** What calls are generated from. */
interface Source {
  random: Random;
  directory: Directory;
}

/** Who took the call: a person, a mailbox, nobody, or nobody before the caller hung up. */
type Ending = 'answered' | 'voicemail' | 'missed' | 'abandoned';

type Step = Partial<Pick<Leg, 'ringSeconds' | 'talkSeconds' | 'outcome' | 'transferred'>>;

function addLeg(legs: Leg[], from: Endpoint, to: Endpoint, step: Step): void {
  const before = legs.at(-1);
  legs.push({
    from,
    to,
    sequence: 0,
    offset: before === undefined ? 0 : before.offset + before.ringSeconds + before.talkSeconds,
    ringSeconds: step.ringSeconds ?? 0,
    talkSeconds: step.talkSeconds ?? 0,
    outcome: step.outcome ?? 'answer',
    recorded: false,
    transferred: step.transferred ?? false,
  });
}

/** Customer → menu → queue or huntgroup → agents, or a hang-up in the menu. */
function inboundLegs(source: Source, caller: Endpoint, ending: Ending, transfers: number, given?: Group): Leg[] {
  const { random, directory } = source;
  const group = given ?? random.pick(directory.groups);
  const legs: Leg[] = [];
  addLeg(legs, caller, directory.ivr, { talkSeconds: random.int(6, 28) });
  if (ending === 'abandoned' && random.chance(0.25)) return legs;

  const waiting = { ringSeconds: random.int(4, ending === 'abandoned' ? 140 : 60) };
  if (ending === 'abandoned') {
    addLeg(legs, directory.ivr, group.endpoint, { ...waiting, outcome: 'cancel' });
    return legs;
  }
  addLeg(legs, directory.ivr, group.endpoint, { ...waiting, outcome: ending === 'answered' ? 'answer' : 'noanswer' });

  const agents = group.members.map(userEndpoint);
  const agent = random.pick(agents);
  for (const other of agents) {
    const rang = ending !== 'answered' || random.chance(0.2);
    if (other === agent || !rang) continue;
    addLeg(legs, group.endpoint, other, { ringSeconds: random.int(8, 20), outcome: 'noanswer' });
  }
  if (ending === 'missed') return legs;
  if (ending === 'voicemail') {
    const mailbox: Endpoint = { type: 'mailbox', name: group.endpoint.name, number: group.endpoint.number };
    addLeg(legs, group.endpoint, mailbox, { talkSeconds: random.int(8, 70) });
    return legs;
  }
  addLeg(legs, group.endpoint, agent, { ringSeconds: random.int(2, 12), talkSeconds: talkLength(random) });
  addTransfers(source, legs, transfers);
  return legs;
}

/** A call without menu and group: outbound, internal, or to an agent's own number. */
function directLegs(source: Source, from: Endpoint, to: Endpoint, ending: Ending, transfers: number): Leg[] {
  const { random } = source;
  const legs: Leg[] = [];
  const ringSeconds = random.int(3, ending === 'answered' ? 18 : 32);
  if (ending === 'answered') {
    addLeg(legs, from, to, { ringSeconds, talkSeconds: talkLength(random) });
    addTransfers(source, legs, transfers);
    return legs;
  }
  const outcome = ending === 'abandoned' ? 'cancel' : random.chance(0.15) ? 'busy' : 'noanswer';
  addLeg(legs, from, to, { ringSeconds, outcome });
  if (ending === 'voicemail') {
    addLeg(legs, from, { ...to, type: 'mailbox' }, { talkSeconds: random.int(8, 70) });
  }
  return legs;
}

function addTransfers({ random, directory }: Source, legs: Leg[], transfers: number): void {
  for (let count = 0; count < transfers; count++) {
    const from = legs.at(-1)?.to;
    if (from === undefined) return;
    const to = random.pick(directory.users.filter((user) => user.id !== from.userId));
    const step = { ringSeconds: random.int(2, 10), talkSeconds: talkLength(random), transferred: true };
    addLeg(legs, from, userEndpoint(to), step);
  }
}

/** Seconds, exponentially distributed. */
function talkLength(random: Random): number {
  return 8 + Math.floor(-Math.log(1 - random.next()) * 170);
}

/** Scales the legs so that the call lasts exactly `seconds`. */
function fitDuration(legs: Leg[], seconds: number): void {
  const total = durationOf(legs);
  let left = seconds;
  let offset = 0;
  for (const [index, leg] of legs.entries()) {
    const isLast = index === legs.length - 1;
    leg.offset = offset;
    leg.ringSeconds = isLast && leg.talkSeconds === 0 ? left : scale(leg.ringSeconds, seconds, total, left);
    left -= leg.ringSeconds;
    leg.talkSeconds = isLast && leg.talkSeconds > 0 ? left : scale(leg.talkSeconds, seconds, total, left);
    left -= leg.talkSeconds;
    offset += leg.ringSeconds + leg.talkSeconds;
  }
}

function scale(part: number, seconds: number, total: number, left: number): number {
  return total === 0 ? 0 : Math.min(left, Math.floor((part * seconds) / total));
}

function durationOf(legs: readonly Leg[]): number {
  return legs.reduce((sum, leg) => sum + leg.ringSeconds + leg.talkSeconds, 0);
}

/** The legs of an inbound call on a given way. Each begins where the one before ended. */
function orderedLegs({ random, directory }: Source, caller: Endpoint, way: NonNullable<CallOptions['legs']>): Leg[] {
  const legs: Leg[] = [];
  const group = random.pick(directory.groups);
  const user = userEndpoint(random.pick(group.members));
  let from = caller;
  for (const { calledType, status: outcome, ...seconds } of way) {
    const own = { ...group.endpoint, type: calledType };
    const to = { ivr: directory.ivr, user, queue: own, huntgroup: own, mailbox: own, external: caller }[calledType];
    addLeg(legs, from, to, { ...seconds, outcome });
    // Telephones ring, and the caller stays where it was.
    if (calledType !== 'user') from = to;
  }
  return legs;
}

/** What a call can be told to be; everything else is generated. */
export const callWishes = z.strictObject({
  direction: z.enum(['inbound', 'outbound', 'internal']).optional(),
  status: z.enum(['answered', 'missed', 'voicemail', 'unknown']).optional(),
  /** Whether the caller of a missed call hung up first. */
  abandoned: z.boolean().optional(),
  /** Name or number of the queue or huntgroup that an inbound call reaches. */
  group: z.string().optional(),
  durationSeconds: z.int().min(0).max(86_400).optional(),
  transfers: z.int().min(0).max(5).optional(),
  recorded: z.boolean().optional(),
  /** The way of an inbound call, leg by leg; its durations and its recording are taken as given. */
  legs: z
    .array(
      z.strictObject({
        calledType: z.enum(['ivr', 'queue', 'huntgroup', 'user', 'mailbox', 'external']),
        status: z.enum(['answer', 'noanswer', 'cancel', 'busy']).default('answer'),
        ringSeconds: z.int().min(0).max(3_600).default(0),
        talkSeconds: z.int().min(0).max(86_400).default(0),
      }),
    )
    .min(1)
    .max(20)
    .optional(),
});
/** `customer` is the outside party. */
type CallOptions = z.output<typeof callWishes> & { customer?: Customer | undefined };

/** A call without start, id and artefact times. */
type CallDraft = Omit<Call, keyof Start | 'sequence' | 'repeated' | 'recordingsAt' | 'transcriptsAt'>;
type Start = Pick<Call, 'id' | 'start' | 'startTime' | 'endTime'>;

const kinds = ['inbound', 'outbound', 'internal'] as const;

export function generateCall(source: Source, options: CallOptions = {}): CallDraft {
  const { random, directory } = source;
  const kind = options.direction ?? kinds[random.weighted([66, 27, 7])] ?? 'inbound';
  const ending = endingOf(random, kind, options);
  const transfers = ending === 'answered' ? (options.transfers ?? random.weighted([90, 8, 2])) : 0;
  const { caller, legs: drawn, dialled } = routeCall(source, kind, ending, transfers, options);
  if (options.durationSeconds !== undefined) fitDuration(drawn, options.durationSeconds);
  const legs = options.legs ? orderedLegs(source, caller, options.legs) : drawn;

  const people = legs.filter((leg) => isConversation(leg) && leg.talkSeconds > 0);
  const isAnswered = ending === 'answered';
  const recorded =
    isAnswered && people.length > 0 && (options.recorded ?? (kind !== 'internal' && random.chance(0.85)));
  if (recorded) for (const leg of people) leg.recorded = true;
  const isMessage = options.legs !== undefined && options.recorded === true && ending === 'voicemail';
  if (isMessage) for (const leg of legs) leg.recorded = leg.to.type === 'mailbox';

  const called = (people.at(0) ?? legs.at(-1))?.to ?? directory.ivr;
  const agent = [caller, called].find((party) => party.userId !== undefined);
  const status = options.status === 'unknown' ? 'unknown' : statusOf(ending);
  return {
    direction: kind === 'inbound' ? 'inbound' : 'outbound',
    internal: kind === 'internal',
    status,
    statusCode: statusCodeOf(status, people.length),
    ...partiesOf(caller, called),
    dialledNumber: dialled,
    callerIdInternal: agent?.number ?? '',
    callerIdExternal: kind === 'inbound' ? caller.number : kind === 'outbound' ? directory.mainNumber : '',
    durationSeconds: options.legs ? (options.durationSeconds ?? durationOf(legs)) : durationOf(legs),
    talkTimeSeconds: isAnswered ? people.reduce((sum, leg) => sum + leg.talkSeconds, 0) : 0,
    transferred: transfers,
    abandoned: ending === 'abandoned',
    recorded: recorded || isMessage,
    caller,
    called,
    legs,
    transcriptSeed: random.int(1, 2 ** 31),
  };
}

/** Sets the start (unix seconds) of a call, and the sequence numbers of its legs from `sequence` on. */
export function finalizeCall(draft: CallDraft, start: number, sequence: number, repeated: number): Call {
  for (const [index, leg] of draft.legs.entries()) leg.sequence = sequence + index;
  const call = { ...draft, sequence, repeated, recordingsAt: null, transcriptsAt: null };
  return { ...call, ...startOf(call, start) };
}

/** What follows from the start of a call. An `unknown` one has no recorded end. */
export function startOf({ sequence, status, durationSeconds }: CallDraft & { sequence: number }, start: number): Start {
  const endTime = status === 'unknown' ? undefined : rfc3339((start + durationSeconds) * 1000);
  return { id: `${start}.${sequence}`, start, startTime: rfc3339(start * 1000), endTime };
}

/** Section 2.9. The code of `unknown` is assumed. */
export function statusCodeOf(status: Call['status'], people: number): number {
  return { missed: -1, voicemail: 0, answered: Math.max(1, people), unknown: -2 }[status];
}

/** The outside party's number; empty on an internal call. */
export function outsideNumber(call: Pick<Call, 'internal' | 'direction' | 'caller' | 'called'>): string {
  if (call.internal) return '';
  return call.direction === 'inbound' ? call.caller.number : call.called.number;
}

function endingOf(random: Random, kind: string, options: CallOptions): Ending {
  if (options.status === 'answered' || options.status === 'unknown') return 'answered';
  if (options.status === 'voicemail') return 'voicemail';
  const isInbound = kind === 'inbound';
  if (options.status === 'missed')
    return (options.abandoned ?? (isInbound && random.chance(0.8))) ? 'abandoned' : 'missed';
  if (options.abandoned === true) return 'abandoned';
  const endings = ['answered', 'voicemail', 'abandoned', 'missed'] as const;
  return endings[random.weighted(isInbound ? [72, 10, 14, 4] : [76, 4, 2, 18])] ?? 'answered';
}

function statusOf(ending: Ending): Call['status'] {
  return ending === 'abandoned' ? 'missed' : ending;
}

function isConversation(leg: Leg): boolean {
  return leg.outcome === 'answer' && (leg.to.type === 'user' || leg.to.type === 'external');
}

function routeCall(
  source: Source,
  kind: NonNullable<CallOptions['direction']>,
  ending: Ending,
  transfers: number,
  options: CallOptions,
): { caller: Endpoint; legs: Leg[]; dialled: string } {
  const { random, directory } = source;
  const agent = random.pick(directory.users);
  const desk = userEndpoint(agent);
  const customer = options.customer ?? random.pick(directory.customers);
  const outside: Endpoint = { type: 'external', name: customer.name, number: customer.number };
  const direct = (from: Endpoint, to: Endpoint) => directLegs(source, from, to, ending, transfers);

  if (kind === 'outbound') return { caller: desk, legs: direct(desk, outside), dialled: customer.number };
  if (kind === 'internal') {
    const colleague = userEndpoint(random.pick(directory.users.filter((user) => user.id !== agent.id)));
    return { caller: desk, legs: direct(desk, colleague), dialled: colleague.number };
  }
  const own = agent.numbers[0];
  if (own !== undefined && options.group === undefined && random.chance(0.22)) {
    return { caller: outside, legs: direct(outside, desk), dialled: own };
  }
  const group = directory.groups.find(
    ({ endpoint }) => endpoint.name === options.group || endpoint.number === options.group,
  );
  const legs = inboundLegs(source, outside, ending, transfers, group);
  return { caller: outside, legs, dialled: directory.mainNumber };
}
