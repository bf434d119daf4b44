import type { Message } from '../account.ts';
import type { Random } from '../random.ts';
import type { Customer, Directory } from './directory.ts';

/** Text conversations by the customer's language: `>` from the customer, `<` from the company. */
const dialogues: Record<Customer['language'], readonly (readonly string[])[]> = {
  en: [
    [
      '>Hi, is someone coming today between 2 and 4?',
      '<Yes, Owen is on his way and should be with you at 2:30.',
      '>great thanks 👍',
      '<You are welcome. He will text when he parks.',
    ],
    ['<Reminder: boiler inspection tomorrow 8–10 am. Reply C to confirm.', '>C', '<Confirmed, see you tomorrow.'],
    ['>STOP'],
    [
      '>Can you send the quote again? I can’t find the e-mail…',
      '<Just sent it. Please check the spam folder too.',
      '>“Got it” — thanks!',
    ],
  ],
  es: [
    [
      '>Hola, ¿pueden venir mañana por la tarde?',
      '<Claro que sí. ¿Le viene bien a las 15:30?',
      '>Perfecto, muchas gracias 🙏',
    ],
  ],
  he: [['>שלום, מתי מגיע הטכנאי?', '<הוא אמור להגיע עד השעה 14:00.', '>תודה רבה!']],
  ar: [['>مرحبا، هل يمكنكم إصلاح السخان اليوم؟', '<نعم، سيصل الفني بين الثالثة والخامسة.', '>شكراً جزيلاً']],
};

/** A group conversation: tenants of one house and the company. */
const groupTurns: readonly string[] = [
  '>Hi all, the heating in the whole building is out since last night',
  '<Thanks for telling us. Owen will be there at 10.',
  '>same on the 3rd floor',
  '>4th floor too 🥶',
  '<The pump is replaced, please tell us if a radiator stays cold.',
  '>all warm again, thank you!',
];

export const reminders: readonly string[] = [
  'Reminder: your maintenance visit is on Thursday between 8 and 10.',
  'It is time for the yearly filter change. Shall we book a visit?',
];

const allTurns = Object.values(dialogues).flat(2);
const turnsOf = (side: '>' | '<') => allTurns.filter((turn) => turn.startsWith(side)).map((turn) => turn.slice(1));

export const openers: readonly string[] = turnsOf('>');
export const replies: readonly string[] = turnsOf('<');

/** `delivery.status` is the carrier's own text (2.6): two carriers with different words. */
export const deliveredWords: readonly string[] = ['delivered', 'DELIVRD'];
export const failedReceipts = [
  { status: 'undelivered', error: '30005 Unknown destination handset' },
  { status: 'UNDELIV', error: 'absent subscriber' },
  { status: 'rejected', error: '30007 Carrier violation' },
] as const;

type Draft = Omit<Message, 'id'>;

interface Source {
  random: Random;
  directory: Directory;
}

const dayMs = 86_400_000;

/** Conversations that ended before `end` (ms). Message ids are in order of sending. */
export function generateThreads(source: Source, count: number, end: number, firstId: number): Message[] {
  const { customers, lines } = source.directory;
  const drafts: Draft[] = [];
  // Every customer gets one thread before any gets two, and each pair of line and customer is used once.
  for (let index = 0; index < Math.min(count, customers.length * lines.length); index++) {
    const customer = customers[index % customers.length] as Customer;
    const line = lines[(index + Math.floor(index / customers.length)) % lines.length]?.number ?? '';
    if (index % 10 === 7) drafts.push(...groupThread(source, line, index, end));
    else drafts.push(...pairThread(source, line, customer, index, end));
  }
  drafts.sort((one, other) => one.sentAt - other.sentAt);
  return drafts.map((draft, index) => ({ id: firstId + index, ...draft }));
}

function pairThread(source: Source, line: string, customer: Customer, index: number, end: number): Draft[] {
  const { random } = source;
  const base = { line, number: customer.number, participants: [] };
  const drafts: Draft[] = [];
  let clock = end - random.int(1, 13) * dayMs - random.int(0, dayMs / 2);
  for (let round = random.int(1, 4); round > 0 && clock < end - 600_000; round--) {
    for (const turn of random.pick(dialogues[customer.language])) {
      drafts.push(messageDraft(source, base, turn, clock, customer.number));
      clock = Math.min(clock + random.int(20, 1500) * 1000, end - 60_000);
    }
    clock += random.int(1, 4) * dayMs;
  }
  drafts.push(...specialMessages(source, base, index, Math.min(clock, end - 30_000), end));
  return drafts;
}

function groupThread(source: Source, line: string, index: number, end: number): Draft[] {
  const { random } = source;
  const size = random.int(2, 4);
  const { customers } = source.directory;
  const participants = Array.from({ length: size }, (_, step) => customers[(index + step * 3 + 1) % customers.length])
    .map((customer) => customer?.number ?? '')
    .filter((number, at, all) => number !== '' && all.indexOf(number) === at)
    .sort();
  const base = { line, number: participants[0] ?? '', participants };
  let clock = end - random.int(1, 10) * dayMs;
  return groupTurns.map((turn) => {
    clock += random.int(30, 900) * 1000;
    return messageDraft(source, base, turn, clock, random.pick(participants));
  });
}

function messageDraft(
  { random, directory }: Source,
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
    // Without a user, an integration sent it.
    ...(random.chance(0.88) ? { sentBy: reader } : {}),
    ...(random.chance(0.93) ? { delivery: delivered(random, sentAt) } : {}),
  };
}

function delivered(random: Random, sentAt: number): NonNullable<Message['delivery']> {
  return { status: random.pick(deliveredWords), error: '', at: sentAt + random.int(1, 20) * 1000 };
}

/** Rare messages: pictures, a scheduled text, a failed receipt, a blocked text. */
function specialMessages(
  { random, directory }: Source,
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
      const receipt = random.pick(failedReceipts);
      return [{ ...sent, text: random.pick(reminders), delivery: { ...receipt, at: at + 4_000 } }];
    }
    case 5:
      return index % 20 === 5 ? [{ ...sent, text: random.pick(reminders), blockReason: 'abusive caller' }] : [];
    default:
      return [];
  }
}
