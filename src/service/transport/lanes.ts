import type { Clock } from './clock.ts';

/** Leave for one try to be in flight. Exactly one of its endings is to be called. */
export interface Place {
  answered(): void;
  /** The service takes no more at present; it may have asked to be left alone for so many milliseconds. */
  refused(retryAfterMs?: number): void;
  /** It says nothing about how many the service takes. */
  left(): void;
}

/** The requests that may be in flight at a time: of each operation, and of all. */
export interface Lanes {
  /** Waits for a place; rejects when the signal aborts. */
  enter(operation: string, signal: AbortSignal | undefined): Promise<Place>;
}

export interface LanePolicy {
  /** Milliseconds: the first pause of an operation is drawn from 0 to this, each next one in a row from twice as much. */
  baseMs: number;
  /** Milliseconds: the longest pause. What is asked for beyond it is left to the caller and to the circuit. */
  capMs: number;
  /** Where calls rest they are turned away at once, and need no pause. */
  isResting(operation: string): boolean;
}

// open ──(narrow)──▶ so many as are inside beside the one that was refused ──(rounds of answers while others wait)──▶ one more

/** Lets so many in at a time; all, until it is narrowed. */
interface Gate {
  /** Resolves inside, first come first served; rejects when the signal aborts. Whoever is inside has to leave. */
  enter(signal: AbortSignal | undefined): Promise<void>;
  leave(): void;
  /** One of those inside was one too many; false when it was alone. */
  narrow(): boolean;
  /** One of those inside was welcome. */
  widen(): void;
}

interface Lane extends Gate {
  pausedUntil: number;
  pausesInARow: number;
}

/** Most rounds of answers after which one more is let in: one that is refused for it costs little beside them. */
const mostRounds = 16;

/** Operations that are refused within so many milliseconds of each other share what the service takes. */
const togetherMs = 2_000;

/**
 * A service that takes few requests at a time refuses the others at once, and each refusal shows how many it takes. What is
 * refused beside others of its operation narrows that one alone, or a back-fill would slow today's texts; what is refused
 * alone while another operation is refused too narrows all. What is refused for nothing beside it came too soon: its
 * operation pauses.
 */
export function createLanes({ baseMs, capMs, isResting }: LanePolicy, clock: Clock): Lanes {
  const lanes = new Map<string, Lane>();
  const all = createGate();
  let last = { operation: '', at: 0 };

  function laneOf(operation: string): Lane {
    const lane = lanes.get(operation) ?? { ...createGate(), pausedUntil: 0, pausesInARow: 0 };
    lanes.set(operation, lane);
    return lane;
  }

  function pause(lane: Lane, askedMs = 0): void {
    const own = clock.random() * Math.min(capMs, baseMs * 2 ** lane.pausesInARow);
    lane.pausedUntil = clock.now() + Math.max(own, askedMs <= capMs ? askedMs : 0);
    lane.pausesInARow += 1;
  }

  async function pass(operation: string, lane: Lane, signal: AbortSignal | undefined): Promise<void> {
    const pauseMs = () => (isResting(operation) ? 0 : lane.pausedUntil - clock.now());
    for (let ms = pauseMs(); ms > 0; ms = pauseMs()) await clock.sleep(ms, signal);
    await all.enter(signal);
  }

  return {
    async enter(operation, signal) {
      const lane = laneOf(operation);
      await lane.enter(signal);
      await pass(operation, lane, signal).catch((error: unknown) => {
        lane.leave();
        throw error;
      });
      const left = () => {
        lane.leave();
        all.leave();
      };
      return {
        answered() {
          lane.pausesInARow = 0;
          lane.widen();
          all.widen();
          left();
        },
        refused(retryAfterMs) {
          const now = clock.now();
          const isShared = last.operation !== operation && now - last.at < togetherMs;
          last = { operation, at: now };
          if (lane.narrow()) return left();
          if (!isShared || !all.narrow()) pause(lane, retryAfterMs);
          left();
        },
        left,
      };
    },
  };
}

function createGate(): Gate {
  const waiting = new Set<() => void>();
  let most = Number.POSITIVE_INFINITY;
  let inside = 0;
  let answers = 0;
  // Twice as many each time that one more was too many, half as many when it was not: what was refused once is soon forgotten.
  let rounds = 1;
  let isTrying = false;

  function turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const giveUp = () => {
        waiting.delete(go);
        reject(signal?.reason);
      };
      const go = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      waiting.add(go);
    });
  }

  return {
    async enter(signal) {
      if (inside < most) inside += 1;
      else await turn(signal);
    },
    leave() {
      inside -= 1;
      for (const go of waiting) {
        if (inside >= most) return;
        waiting.delete(go);
        inside += 1;
        go();
      }
    },
    narrow() {
      if (inside === 1) return false;
      most = Math.min(most, inside - 1);
      answers = 0;
      if (isTrying) rounds = Math.min(mostRounds, rounds * 2);
      isTrying = false;
      return true;
    },
    widen() {
      answers = waiting.size > 0 ? answers + 1 : 0;
      if (answers < most * rounds) return;
      if (isTrying) rounds = Math.max(1, rounds / 2);
      most += 1;
      answers = 0;
      isTrying = true;
    },
  };
}
