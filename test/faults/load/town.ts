import type { FaultyService, Resource } from '../deployment/service.ts';
import type { OnOpen } from '../nemesis/proxy.ts';
import type { Random } from '../random.ts';
import { repeat } from './repeat.ts';
import { textMark } from './traffic.ts';

/** What the rules of a town do with the texts of somebody: an answer to each, one greeting in 12 hours, an internal note. */
export type Habit = 'asks' | 'greets' | 'notes';

export interface Person {
  readonly line: string;
  readonly number: string;
  /** Undefined: they are written to by our users. */
  readonly habit: Habit | undefined;
  /** Ids of the texts of their thread that the town made. */
  readonly texts: number[];
}

/** People who write, are written to and call, with the rules that answer them; the service announces all of it. */
export interface Town {
  readonly people: readonly Person[];
  /** Those who were erased. */
  readonly gone: ReadonlySet<Person>;
  /** Whoever has this habit, wrote since then (milliseconds of `Date.now`), and was not erased. */
  writersSince(habit: Habit, at: number): Person[];
  /** They write again. */
  write(person: Person): Promise<void>;
  /** They take no part in the town any more: they only write when told to. */
  leave(person: Person): void;
  stop(): Promise<void>;
}

/** The rules of a town, which do not act on what is older. */
export const townRules = (maxAge: string) => `
budgets: { daily_dollars: 100, per_thread: 10, per_line: 10000, per_account: 50000 }
rules:
  - name: answer
    on: message_received
    if: message.text.contains("open")
    do: [{ reply: 'An answer to {{ message.id }}.' }]
    limits: { quiet_hours: none, quick_answers: 20, max_age: ${maxAge} }
  - name: greet
    on: message_received
    if: message.text.contains("hello")
    do: [{ reply: 'Greetings for {{ message.id }}.' }]
    limits: { per_thread: 1 per 12h, quiet_hours: none, quick_answers: 20, max_age: ${maxAge} }
  - name: note
    on: message_received
    if: message.text.contains("remember")
    do: [{ comment: 'A note about {{ message.id }}.' }]
`;

export const answerTo = (id: number) => `An answer to ${id}.`;
export const greetingFor = (id: number) => `Greetings for ${id}.`;

const words: Readonly<Record<Habit, string>> = {
  asks: 'are you open?',
  greets: 'hello again',
  notes: 'please remember me',
};
/** Shares of what happens; the rest are calls. */
const shares: readonly (readonly [Habit | undefined, number])[] = [
  ['asks', 0.3],
  ['greets', 0.2],
  ['notes', 0.12],
  [undefined, 0.18],
];
/** Who comes for the first time finds no thread in the mirror. */
const shareOfNewcomers = 0.5;
const firstNumber = 19_145_550_000;

export async function startTown(
  service: FaultyService,
  random: Random,
  perSecond: number,
  onOpen: OnOpen,
): Promise<Town> {
  const lines = (await service.read('/sms/lines')).slice(0, 3).map(({ number }) => String(number));
  const [user] = await service.read<Resource[]>('/users');
  const people: Person[] = [];
  const wroteAt = new Map<Person, number>();
  const absent = new Set<Person>();

  function newcomer(habit: Habit | undefined): Person {
    const person = { line: random.pick(lines), number: String(firstNumber + people.length), habit, texts: [] };
    people.push(person);
    return person;
  }

  async function write(person: Person): Promise<void> {
    const { line, number, habit, texts } = person;
    const event =
      habit === undefined
        ? { direction: 'out' as const, sentBy: Number(user?.id), text: `${textMark} ${texts.length}: on our way` }
        : { text: `${textMark} ${texts.length}: ${words[habit]}` };
    const { id } = await service.sms({ line, number, delivery: null, ...event });
    texts.push(id);
    wroteAt.set(person, Date.now());
  }

  async function call(): Promise<void> {
    await service.call({
      direction: 'inbound',
      number: `1646555${random.between(1_000, 9_999)}`,
      transcriptAfterMs: null,
    });
  }

  function happen(): Promise<void> {
    let chance = random.next();
    for (const [habit, share] of shares) {
      if (chance < share) {
        const known = people.filter((person) => person.habit === habit && !absent.has(person));
        // A note names no text to whoever counts requests, so that each thread has one text to be noted.
        const isNew = known.length === 0 || habit === 'notes' || random.next() < shareOfNewcomers;
        return write(isNew ? newcomer(habit) : random.pick(known));
      }
      chance -= share;
    }
    return call();
  }

  const stop = repeat(happen, () => (1_000 / perSecond) * (0.5 + random.next()));
  onOpen(() => stop().catch(() => undefined));
  return {
    people,
    gone: absent,
    writersSince: (habit, at) =>
      people.filter((person) => person.habit === habit && !absent.has(person) && (wroteAt.get(person) ?? 0) >= at),
    write,
    leave: (person) => void absent.add(person),
    stop,
  };
}
