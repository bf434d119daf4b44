import type { Target } from '../../../src/inbox/targets.ts';
import {
  type Account,
  type AccountCall,
  type AccountText,
  addCall,
  addText,
  customers,
  isConversation,
  momentOf,
  otherZone,
  transcriptFor,
} from './account.ts';
import { fullNumber } from './calls.ts';
import { hour, second } from './clock.ts';

/** What happens to an account later. Each answers with the targets that have to be read for it. */

const everyone = { kind: 'users', key: 'all' } as const;

export const callTarget = (id: string): Target => ({ kind: 'call', key: id });

export function threadTarget({ message: { line, number, participants } }: AccountText): Target {
  return {
    kind: 'thread',
    key: [line, number, ...(participants.length > 0 ? [participants.join(',')] : [])].join('/'),
  };
}

export function changeAccount(account: Account): Target[] {
  const { random, calls, texts } = account;
  const targets: Target[] = [];
  for (const each of calls.values()) {
    if (random.chance(0.3)) targets.push(...changeCall(account, each));
  }
  for (const text of [...texts.values()]) if (random.chance(0.25)) targets.push(changeText(account, text));
  for (let count = 0; count < 15; count += 1) {
    const id = addCall(account, momentOf(account));
    if (calls.get(id)?.isWhole) targets.push(callTarget(id));
    // Until an hour is compared, nobody knows of a call that was not read.
    else calls.delete(id);
  }
  return [...targets, ...changeTeam(account)];
}

function changeCall(account: Account, each: AccountCall): Target[] {
  const { random, calls, comparedHours } = account;
  const { call } = each;
  const { id: key } = call;
  const wasWhole = each.isWhole;
  each.isWhole = true;
  switch (random.int(0, wasWhole ? 7 : 3)) {
    case 0: {
      calls.delete(call.id);
      const compared = comparedHours.get(Math.floor((call.start * second) / hour) * hour);
      if (compared) compared.held -= 1;
      return [callTarget(key)];
    }
    case 1:
      // What became of it was not known, or is told otherwise; its end is told late.
      each.call = { ...call, ...lateEnding(random.pick(['answered', 'missed', 'voicemail', 'unknown'])) };
      break;
    case 2:
      each.call = { ...call, calledBack: random.pick([...calls.keys()]) };
      break;
    case 3:
      break;
    case 4:
      each.transcripts = [];
      break;
    case 5:
      each.transcripts = each.transcripts.map((transcript) => ({
        ...transcript,
        customerSatisfactionScore: random.int(0, 10),
        callSentiment: 'late',
        actionRequired: !transcript.actionRequired,
      }));
      break;
    case 6:
      lateRecording(account, each);
      break;
    case 7:
      // The last leg turns out not to have been, as of a transfer that failed.
      if (call.legs.length > 1 && !call.legs.at(-1)?.recorded) each.call = withoutLastLeg(call);
  }
  return [callTarget(key), { kind: 'recordings', key }, { kind: 'transcripts', key }];
}

function lateEnding(status: AccountCall['call']['status']) {
  return { status, hasEnd: true, abandoned: status === 'missed', answeredBy: status === 'answered' ? 1 : 0 };
}

function lateRecording({ random }: Account, each: AccountCall): void {
  const { call } = each;
  const legs = call.legs.map((leg) =>
    leg.talkSeconds > 0 && leg.to.type === 'user' ? { ...leg, recorded: true } : leg,
  );
  const at = call.start * second;
  if (!legs.some(({ recorded }) => recorded)) return;
  each.call = { ...call, legs, recorded: true, recordingsAt: at, transcriptsAt: at };
  each.transcripts = legs.filter(({ recorded }) => recorded).map((leg) => transcriptFor(random, each.call, leg));
}

function withoutLastLeg(call: AccountCall['call']): AccountCall['call'] {
  const legs = call.legs.slice(0, -1);
  const last = legs.at(-1);
  const duration = last ? last.offset + last.ringSeconds + last.talkSeconds : 0;
  const talking = legs.filter(isConversation);
  return {
    ...{ ...call, legs, duration, transfers: 0 },
    called: (talking[0] ?? last)?.to ?? call.called,
    talk: talking.reduce((sum, leg) => sum + leg.talkSeconds, 0),
  };
}

const later = [
  { status: 'delivered', error: '' },
  { status: 'undelivered', error: '30003' },
  { status: 'martian', error: '' },
];

function changeText(account: Account, text: AccountText): Target {
  const { random, texts } = account;
  const { message } = text;
  const target = threadTarget(text);
  const parties = message.participants.length > 0 ? message.participants : [message.number];
  switch (random.int(0, 4)) {
    case 0:
      texts.delete(message.id);
      break;
    case 1: {
      const { scheduledAt: _, ...sent } = message;
      text.message = sent;
      break;
    }
    case 2:
      addText(account, message.line, parties, message.sentAt + random.int(-600, 7_200) * second);
      break;
    case 3:
      if (message.direction === 'out') {
        text.message = { ...message, delivery: { ...random.pick(later), at: message.sentAt + 60 * second } };
      }
      break;
    case 4:
      // All that two parties ever wrote.
      if (random.chance(0.2)) {
        for (const other of [...texts.values()])
          if (threadTarget(other).key === target.key) texts.delete(other.message.id);
      }
  }
  return target;
}

/** One takes another name, one leaves, and one comes who has the extension that nobody had. */
function changeTeam(account: Account): Target[] {
  const { users, formerUsers } = account;
  const [first, second, third, ...others] = users;
  if (!first || !second || !third || formerUsers.length > 0) return [];
  formerUsers.push(third);
  const newcomer = { ...second, id: 4_200, username: 'new.one', extension: '301', extensions: ['301'] };
  account.users = [{ ...first, lastName: 'Bell-Hart' }, second, ...others, newcomer];
  return [everyone];
}

/** Whoever wrote or called most is erased; opt-outs that others said in a group with them are kept. */
export function erasePerson(account: Account): string {
  const { erased, calls, texts, keptOptOuts } = account;
  const numbers = [...calls.values()].flatMap(({ call }) => fullNumber(call.caller.number) ?? []);
  const count = (number: string) => numbers.filter((each) => each === number).length;
  const left = customers.map(({ number }) => number).filter((number) => !erased.has(number));
  const number = left.toSorted((one, other) => count(other) - count(one))[0] ?? '';
  const said = [...texts.values()]
    .filter(({ message, verdict }) => {
      const isHeld = !message.participants.some((each) => erased.has(each));
      return message.participants.includes(number) && isHeld && message.from !== number && verdict !== 'none';
    })
    .toSorted((one, other) => one.message.sentAt - other.message.sentAt);
  for (const texts of Map.groupBy(said, ({ message }) => `${message.line} ${message.from}`).values()) {
    const lastIn = texts.findLastIndex(({ verdict }) => verdict === 'opt_in');
    for (const kind of ['opt_out', 'unsure'] as const) {
      const first = texts.slice(lastIn + 1).find(({ verdict }) => verdict === kind);
      if (first === undefined) continue;
      const { line, from, sentAt } = first.message;
      keptOptOuts.push({ line, number: from, at: sentAt, kind });
    }
  }
  erased.add(number);
  return number;
}

/** Other days, other thresholds, other hours, and a carrier's word that is understood now. */
export function redefine(account: Account): void {
  const { definitions } = account;
  const timeZone = otherZone(definitions.timeZone) ?? 'UTC';
  account.definitions = {
    ...definitions,
    timeZone,
    shortAbandonSeconds: 20,
    serviceLevelSeconds: 30,
    callbackWindow: 48 * hour,
    sessionGap: 2 * hour,
    schedule: { ...definitions.schedule, zone: timeZone, holidays: [] },
    deliveryWords: { ...definitions.deliveryWords, martian: 'failed' },
  };
}
