import type { Call, Endpoint, Leg } from '../account.ts';
import type { Random } from '../random.ts';
import type { Customer } from './customers.ts';
import { type Directory, userEndpoint } from './directory.ts';
import { directPath, durationOf, fitDuration, inboundPath, type Path } from './paths.ts';

/** What is wished of a call; everything else is invented. */
export interface CallWish {
  kind?: 'inbound' | 'outbound' | 'internal' | undefined;
  status?: Call['status'] | undefined;
  abandoned?: boolean | undefined;
  /** The outside party. */
  customer?: Customer | undefined;
  /** Name or number of the queue or huntgroup that an inbound call reaches. */
  group?: string | undefined;
  durationSeconds?: number | undefined;
  transfers?: number | undefined;
  recorded?: boolean | undefined;
}

/** A call without its place in time: `placeCall` gives it an id. */
export type CallDraft = Omit<Call, 'id' | 'start' | 'sequence' | 'repeated' | 'recordingsAt' | 'transcriptsAt'>;

const kinds = ['inbound', 'outbound', 'internal'] as const;

export function inventCall(random: Random, directory: Directory, wish: CallWish = {}): CallDraft {
  const kind = wish.kind ?? kinds[random.weighted([66, 27, 7])] ?? 'inbound';
  const ending = endingOf(random, kind, wish);
  const transfers = ending === 'answered' ? (wish.transfers ?? random.weighted([90, 8, 2])) : 0;
  const { caller, path, dialled } = route(random, directory, kind, ending, transfers, wish);
  const { legs } = path;
  if (wish.durationSeconds !== undefined) fitDuration(legs, wish.durationSeconds);

  const people = legs.filter((leg) => isConversation(leg) && leg.talkSeconds > 0);
  const isAnswered = ending === 'answered';
  const recorded = isAnswered && people.length > 0 && (wish.recorded ?? (kind !== 'internal' && random.chance(0.85)));
  if (recorded) for (const leg of people) leg.recorded = true;

  const called = (people.at(0) ?? legs.at(-1))?.to ?? directory.ivr;
  const agent = [caller, called].find((party) => party.userId !== undefined);
  const status = wish.status === 'unknown' ? 'unknown' : statusOf(ending);
  return {
    direction: kind === 'inbound' ? 'inbound' : 'outbound',
    internal: kind === 'internal',
    status,
    answeredBy: isAnswered ? Math.max(1, people.length) : 0,
    caller,
    called,
    dialled,
    callerIdInternal: agent?.number ?? '',
    callerIdExternal: kind === 'inbound' ? caller.number : kind === 'outbound' ? directory.mainNumber : '',
    duration: durationOf(legs),
    talk: isAnswered ? people.reduce((sum, leg) => sum + leg.talkSeconds, 0) : 0,
    hasEnd: status !== 'unknown',
    transfers,
    abandoned: ending === 'abandoned',
    recorded,
    legs,
    script: random.int(1, 2 ** 31),
  };
}

/** Gives a draft its start (unix seconds) and the sequence numbers from `sequence` on, one for each leg. */
export function placeCall(draft: CallDraft, start: number, sequence: number, repeated: number): Call {
  for (const [index, leg] of draft.legs.entries()) leg.sequence = sequence + index;
  return {
    id: `${start}.${sequence}`,
    start,
    sequence,
    ...draft,
    repeated,
    recordingsAt: null,
    transcriptsAt: null,
  };
}

/** The outside party's number; empty on an internal call. */
export function outsideNumber(call: Pick<Call, 'internal' | 'direction' | 'caller' | 'called'>): string {
  if (call.internal) return '';
  return call.direction === 'inbound' ? call.caller.number : call.called.number;
}

function endingOf(random: Random, kind: string, wish: CallWish): Path['ending'] {
  if (wish.status === 'answered' || wish.status === 'unknown') return 'answered';
  if (wish.status === 'voicemail') return 'voicemail';
  const isInbound = kind === 'inbound';
  if (wish.status === 'missed') return (wish.abandoned ?? (isInbound && random.chance(0.8))) ? 'abandoned' : 'missed';
  if (wish.abandoned === true) return 'abandoned';
  const endings = ['answered', 'voicemail', 'abandoned', 'missed'] as const;
  return endings[random.weighted(isInbound ? [72, 10, 14, 4] : [76, 4, 2, 18])] ?? 'answered';
}

function statusOf(ending: Path['ending']): Call['status'] {
  return ending === 'abandoned' ? 'missed' : ending;
}

function isConversation(leg: Leg): boolean {
  return leg.outcome === 'answer' && (leg.to.type === 'user' || leg.to.type === 'external');
}

function route(
  random: Random,
  directory: Directory,
  kind: NonNullable<CallWish['kind']>,
  ending: Path['ending'],
  transfers: number,
  wish: CallWish,
): { caller: Endpoint; path: Path; dialled: string } {
  const agent = random.pick(directory.users);
  const desk = userEndpoint(agent);
  const customer = wish.customer ?? random.pick(directory.customers);
  const outside: Endpoint = { type: 'external', name: customer.name, number: customer.number };
  const direct = (from: Endpoint, to: Endpoint) => directPath(random, directory, from, to, ending, transfers);

  if (kind === 'outbound') return { caller: desk, path: direct(desk, outside), dialled: customer.number };
  if (kind === 'internal') {
    const colleague = userEndpoint(random.pick(directory.users.filter((user) => user.id !== agent.id)));
    return { caller: desk, path: direct(desk, colleague), dialled: colleague.number };
  }
  const own = agent.numbers[0];
  if (own !== undefined && wish.group === undefined && random.chance(0.22)) {
    return { caller: outside, path: direct(outside, desk), dialled: own };
  }
  const group = directory.groups.find(({ endpoint }) => endpoint.name === wish.group || endpoint.number === wish.group);
  const path = inboundPath(random, directory, outside, ending, transfers, group);
  return { caller: outside, path, dialled: directory.mainNumber };
}
