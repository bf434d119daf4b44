import type { Message } from '../account.ts';
import { assumptions } from '../assumptions.ts';
import type { Random } from '../random.ts';
import type { Customer } from './customers.ts';
import { dialogues, groupTurns, reminders } from './dialogues.ts';
import type { Directory } from './directory.ts';

type Draft = Omit<Message, 'id'>;

const dayMs = 86_400_000;

/** Conversations that ended before `end` (ms); message ids follow the time they were sent. */
export function inventThreads(
  random: Random,
  directory: Directory,
  count: number,
  end: number,
  firstId: number,
): Message[] {
  const { customers, lines } = directory;
  const drafts: Draft[] = [];
  // Every customer has one thread before any has two, and no pair of line and customer comes twice.
  for (let index = 0; index < Math.min(count, customers.length * lines.length); index++) {
    const customer = customers[index % customers.length] as Customer;
    const line = lines[(index + Math.floor(index / customers.length)) % lines.length]?.number ?? '';
    if (index % 10 === 7) drafts.push(...groupThread(random, directory, line, index, end));
    else drafts.push(...pairThread(random, directory, line, customer, index, end));
  }
  drafts.sort((one, other) => one.sentAt - other.sentAt);
  return drafts.map((draft, index) => ({ id: firstId + index, ...draft }));
}

function pairThread(
  random: Random,
  directory: Directory,
  line: string,
  customer: Customer,
  index: number,
  end: number,
): Draft[] {
  const base = { line, number: customer.number, participants: [] };
  const fitting = dialogues.filter((dialogue) => dialogue.language === customer.language);
  const drafts: Draft[] = [];
  let clock = end - random.int(1, 13) * dayMs - random.int(0, dayMs / 2);
  for (let round = random.int(1, 4); round > 0 && clock < end - 600_000; round--) {
    for (const turn of random.pick(fitting).turns) {
      drafts.push(spoken(random, directory, base, turn, clock, customer.number));
      clock = Math.min(clock + random.int(20, 1500) * 1000, end - 60_000);
    }
    clock += random.int(1, 4) * dayMs;
  }
  drafts.push(...oddities(random, directory, base, index, Math.min(clock, end - 30_000), end));
  return drafts;
}

function groupThread(random: Random, directory: Directory, line: string, index: number, end: number): Draft[] {
  const size = random.int(2, 4);
  const { customers } = directory;
  const participants = Array.from({ length: size }, (_, step) => customers[(index + step * 3 + 1) % customers.length])
    .map((customer) => customer?.number ?? '')
    .filter((number, at, all) => number !== '' && all.indexOf(number) === at)
    .sort();
  const base = { line, number: participants[0] ?? '', participants };
  let clock = end - random.int(1, 10) * dayMs;
  return groupTurns.map((turn) => {
    clock += random.int(30, 900) * 1000;
    return spoken(random, directory, base, turn, clock, random.pick(participants));
  });
}

function spoken(
  random: Random,
  directory: Directory,
  base: Pick<Message, 'line' | 'number' | 'participants'>,
  turn: string,
  sentAt: number,
  speaker: string,
): Draft {
  const isIn = turn.startsWith('>');
  const reader = random.pick(directory.users).id;
  const common = { ...base, text: turn.slice(1), media: [], sentAt, readByAccount: false };
  if (isIn) return { ...common, direction: 'in', from: speaker, readBy: random.chance(0.85) ? [reader] : [] };
  return {
    ...common,
    direction: 'out',
    from: base.line,
    readBy: [reader],
    // Some replies come from an integration: nobody sent them.
    ...(random.chance(0.88) ? { sentBy: reader } : {}),
    ...(random.chance(0.93) ? { delivery: delivered(random, sentAt) } : {}),
  };
}

function delivered(random: Random, sentAt: number): NonNullable<Message['delivery']> {
  return { status: random.pick(assumptions.deliveredWords), error: '', at: sentAt + random.int(1, 20) * 1000 };
}

/** What does not happen in every thread, but in every account. */
function oddities(
  random: Random,
  directory: Directory,
  base: Pick<Message, 'line' | 'number' | 'participants'>,
  index: number,
  at: number,
  end: number,
): Draft[] {
  const sender = random.pick(directory.users).id;
  const common = { ...base, media: [], readByAccount: false };
  const received = { ...common, direction: 'in' as const, from: base.number, readBy: [], sentAt: at };
  const sent = { ...common, direction: 'out' as const, from: base.line, readBy: [sender], sentBy: sender, sentAt: at };
  switch (index % 10) {
    case 1:
      return [{ ...received, text: '', media: [`photo-${index}.jpg`] }];
    case 2:
      return [{ ...received, text: 'that is the leak', media: [`leak-${index}-1.jpg`, `leak-${index}-2.jpg`] }];
    case 3:
      return [{ ...sent, text: random.pick(reminders), scheduledAt: end + random.int(1, 5) * dayMs }];
    case 4: {
      const receipt = random.pick(assumptions.failedReceipts);
      return [{ ...sent, text: random.pick(reminders), delivery: { ...receipt, at: at + 4_000 } }];
    }
    case 5:
      return index % 20 === 5 ? [{ ...sent, text: random.pick(reminders), blockReason: 'abusive caller' }] : [];
    default:
      return [];
  }
}
