import type { Endpoint, Leg } from '../account.ts';
import type { Random } from '../random.ts';
import { type Directory, type Group, userEndpoint } from './directory.ts';

/** A call's way through the house, as legs one after another; sequence numbers are given later. */
export interface Path {
  legs: Leg[];
  /** Whether someone, nobody, or the mailbox took the call, and whether the caller gave up first. */
  ending: 'answered' | 'voicemail' | 'missed' | 'abandoned';
}

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

/** Customer → menu → queue or huntgroup → agents; or straight to the menu's end. */
export function inboundPath(
  random: Random,
  directory: Directory,
  caller: Endpoint,
  ending: Path['ending'],
  transfers: number,
  group: Group = random.pick(directory.groups),
): Path {
  const legs: Leg[] = [];
  addLeg(legs, caller, directory.ivr, { talkSeconds: random.int(6, 28) });
  if (ending === 'abandoned' && random.chance(0.25)) return { legs, ending };

  const waiting = { ringSeconds: random.int(4, ending === 'abandoned' ? 140 : 60) };
  if (ending === 'abandoned') {
    addLeg(legs, directory.ivr, group.endpoint, { ...waiting, outcome: 'cancel' });
    return { legs, ending };
  }
  addLeg(legs, directory.ivr, group.endpoint, { ...waiting, outcome: ending === 'answered' ? 'answer' : 'noanswer' });

  const agents = group.members.map(userEndpoint);
  const agent = random.pick(agents);
  for (const other of agents) {
    const rang = ending !== 'answered' || random.chance(0.2);
    if (other === agent || !rang) continue;
    addLeg(legs, group.endpoint, other, { ringSeconds: random.int(8, 20), outcome: 'noanswer' });
  }
  if (ending === 'missed') return { legs, ending };
  if (ending === 'voicemail') {
    const mailbox: Endpoint = { type: 'mailbox', name: group.endpoint.name, number: group.endpoint.number };
    addLeg(legs, group.endpoint, mailbox, { talkSeconds: random.int(8, 70) });
    return { legs, ending };
  }
  addLeg(legs, group.endpoint, agent, { ringSeconds: random.int(2, 12), talkSeconds: talkLength(random) });
  addTransfers(random, directory, legs, transfers);
  return { legs, ending };
}

/** One party rings another without menu or group: outbound, internal, or to an agent's own number. */
export function directPath(
  random: Random,
  directory: Directory,
  from: Endpoint,
  to: Endpoint,
  ending: Path['ending'],
  transfers: number,
): Path {
  const legs: Leg[] = [];
  const ringSeconds = random.int(3, ending === 'answered' ? 18 : 32);
  if (ending === 'answered') {
    addLeg(legs, from, to, { ringSeconds, talkSeconds: talkLength(random) });
    addTransfers(random, directory, legs, transfers);
    return { legs, ending };
  }
  const outcome = ending === 'abandoned' ? 'cancel' : random.chance(0.15) ? 'busy' : 'noanswer';
  addLeg(legs, from, to, { ringSeconds, outcome });
  if (ending === 'voicemail') {
    addLeg(legs, from, { ...to, type: 'mailbox' }, { talkSeconds: random.int(8, 70) });
  }
  return { legs, ending };
}

function addTransfers(random: Random, directory: Directory, legs: Leg[], transfers: number): void {
  for (let count = 0; count < transfers; count++) {
    const from = legs.at(-1)?.to;
    if (from === undefined) return;
    const to = random.pick(directory.users.filter((user) => user.id !== from.userId));
    const step = { ringSeconds: random.int(2, 10), talkSeconds: talkLength(random), transferred: true };
    addLeg(legs, from, userEndpoint(to), step);
  }
}

/** Many short talks, a few long ones. */
function talkLength(random: Random): number {
  return 8 + Math.floor(-Math.log(1 - random.next()) * 170);
}

/** Stretches or squeezes the legs so that the whole call lasts exactly so many seconds. */
export function fitDuration(legs: Leg[], seconds: number): void {
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

export function durationOf(legs: readonly Leg[]): number {
  return legs.reduce((sum, leg) => sum + leg.ringSeconds + leg.talkSeconds, 0);
}
