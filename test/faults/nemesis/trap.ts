/** When a trap springs, on the way of a question (a statement, a request) and its answer. */
export type Moment = 'unasked' | 'half asked' | 'asked' | 'unanswered' | 'half answered' | 'answered';

/** Bytes to wait for on a wire, and how far they get. */
export interface Trap {
  /** Words in what passes. */
  readonly words: string;
  /** Which side says them; an answer that says them is its own question. Default: whoever connected. */
  readonly saidBy?: 'asking' | 'answering';
  readonly when: Moment;
}

/** How much of some bytes passes, and whether the trap springs with them. */
export interface Verdict {
  readonly passes: Buffer;
  readonly springs: boolean;
}

/** The words may stand across the border of two chunks. */
const longestWords = 80;

/** Watches one connection for the trap that is set at the moment. */
export function createWatch(armed: () => Trap | undefined): (bytes: Buffer, isQuestion: boolean) => Verdict {
  const tails = { true: '', false: '' };
  let awaitsAnswer: Trap | undefined;
  let isSilenced = false;

  return (bytes, isQuestion) => {
    if (isSilenced) return { passes: Buffer.alloc(0), springs: false };
    const side = `${isQuestion}` as const;
    const text = tails[side] + bytes.toString('latin1');
    tails[side] = text.slice(-longestWords);
    const trap = armed();
    if (awaitsAnswer !== trap) awaitsAnswer = undefined;
    if (trap === undefined) return { passes: bytes, springs: false };
    if (awaitsAnswer !== undefined) return isQuestion ? { passes: bytes, springs: false } : sprung(bytes, trap.when);
    const isOurs = isQuestion === (trap.saidBy !== 'answering');
    if (!isOurs || !text.includes(trap.words)) return { passes: bytes, springs: false };
    if (!isQuestion || isBeforeAnswer(trap.when)) return sprung(bytes, trap.when);
    awaitsAnswer = trap;
    return { passes: bytes, springs: false };
  };

  function sprung(bytes: Buffer, when: Moment): Verdict {
    isSilenced = true;
    const share = { unasked: 0, unanswered: 0, 'half asked': 0.5, 'half answered': 0.5, asked: 1, answered: 1 }[when];
    return { passes: bytes.subarray(0, Math.ceil(bytes.length * share)), springs: true };
  }
}

function isBeforeAnswer(when: Moment): boolean {
  return when === 'unasked' || when === 'half asked' || when === 'asked';
}
