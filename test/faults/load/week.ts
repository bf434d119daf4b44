import type { Deployment } from '../deployment/deployment.ts';
import type { Random } from '../random.ts';
import type { ThreadName } from './keys.ts';
import { textMark } from './traffic.ts';

export type Day = 0 | 1 | 2 | 3 | 4 | 5 | 6;

/** A week of past traffic: calls and texts happen at the service as if it were then, and are announced now. */
export interface Week {
  readonly callIds: readonly string[];
  readonly threads: readonly ThreadName[];
  /** A line of the account. */
  readonly line: string;
  /** How many deliveries never left, or were given up. */
  lost(): Promise<number>;
  /** Lets one thing happen at a share of a day. */
  happen(day: Day, share: number): Promise<void>;
  /** A text comes in of which no webhook tells, from somebody of whom nothing else is known. */
  strangerWrites(): Promise<void>;
}

const dayMs = 86_400_000;

/** Whoever writes calls too, some day of the week, so that there is evidence for every thread. */
const parties = Array.from({ length: 30 }, (_, at) => `1646556${String(1_000 + at * 31)}`);

export async function createWeek({ service }: Deployment, random: Random, from: Date): Promise<Week> {
  const lines = (await service.read('/sms/lines')).slice(0, 3).map(({ number }) => String(number));
  const [line = ''] = lines;
  const threads = new Map<string, ThreadName>();
  const callIds: string[] = [];
  const silent = [...parties];

  async function call(startTime: string, number: string): Promise<void> {
    const isAnswered = random.next() < 0.7;
    const made = await service.call({
      direction: 'inbound',
      status: isAnswered ? 'answered' : 'missed',
      number,
      startTime,
      durationSeconds: random.between(20, 600),
      recorded: isAnswered,
      recordingAfterMs: 0,
      transcriptAfterMs: random.next() < 0.2 ? 0 : null,
    });
    callIds.push(made.id);
  }

  return {
    callIds,
    line,
    get threads() {
      return [...threads.values()];
    },
    async lost() {
      return (await service.deliveries()).filter(({ outcome }) => outcome !== 'delivered').length;
    },
    async happen(day, share) {
      const then = new Date(from.getTime() + (day + share) * dayMs).toISOString();
      const isCall = random.next() < 0.6;
      if (isCall) return call(then, silent.pop() ?? random.pick(parties));
      const text = `${textMark} on day ${day}`;
      const made = await service.sms({ line: random.pick(lines), number: random.pick(parties), text, sentAt: then });
      threads.set(`${made.line}/${made.number}`, made);
    },
    async strangerWrites() {
      await service.sms({ line, number: '13105550177', text: `${textMark} of a stranger`, announce: false });
    },
  };
}
