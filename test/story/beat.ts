import type { Beat } from '../../src/shared/beat.ts';

interface Entry {
  readonly at: number;
  /** The period of a loop, or how long a timer waits. */
  readonly ms: number;
  readonly run: () => void;
  /** The name of the loop whose next round it is; undefined for a timer. */
  readonly loop: string | undefined;
}

/** Runs loops and timers when the test says so, by the moved clock. One at a time, so every run takes the same course. */
export class StepBeat implements Beat {
  readonly #entries = new Set<Entry>();
  readonly #busy = new Set<Promise<unknown>>();
  /** Loops with other names have no rounds of their own; whoever kicks them runs them. */
  readonly #loops: RegExp;

  constructor(loops: RegExp) {
    this.#loops = loops;
  }

  now = () => Date.now();
  ms = (ms: number) => ms;
  rest = () => Promise.resolve();

  after(ms: number, run: () => void, loop?: string): () => void {
    // Postgres counts microseconds: 2 ms later, it agrees that the time is over.
    const entry = { at: Date.now() + ms + 2, ms, run, loop };
    if (loop === undefined || this.#loops.test(loop)) this.#entries.add(entry);
    return () => void this.#entries.delete(entry);
  }

  busy<T>(work: Promise<T>): Promise<T> {
    const ended: Promise<unknown> = work.then(
      () => this.#busy.delete(ended),
      () => this.#busy.delete(ended),
    );
    this.#busy.add(ended);
    return work;
  }

  /** Runs due timers in the order of their times. Resolves when nothing is in progress. */
  async settle(): Promise<void> {
    do {
      const due = [...this.#entries].filter(({ at, loop }) => loop === undefined && at <= Date.now());
      for (const entry of due.sort((a, b) => a.at - b.at)) this.#begin(entry);
      await Promise.all(this.#busy);
      await new Promise(setImmediate);
    } while (this.#busy.size > 0);
  }

  /** Runs due timers and due loops, and loops with a period of up to `withinMs`. Resolves to whether there was any. */
  async run(withinMs = 0): Promise<boolean> {
    const isDue = ({ at, ms, loop }: Entry) => at <= Date.now() || (loop !== undefined && ms <= withinMs);
    const due = [...this.#entries].filter(isDue);
    for (const entry of due) {
      this.#begin(entry);
      await this.settle();
    }
    return due.length > 0;
  }

  /** The time of the next timer. Loops come and go. */
  nextTimer(): number {
    return Math.min(...[...this.#entries].filter(({ loop }) => loop === undefined).map(({ at }) => at));
  }

  #begin(entry: Entry): void {
    if (this.#entries.delete(entry)) entry.run();
  }
}
