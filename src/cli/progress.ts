import { type Bar, Presets, SingleBar } from 'cli-progress';

/** Shows how far a long command is: a bar with a rate and the time left on a terminal, a line now and then elsewhere. */
export interface Progress {
  /** `share` of the whole that is done, from 0 to 1; `count` of what was done in this run. */
  show(share: number, count: number): void;
  end(): void;
}

/** Where a run began to be shown: one that goes on where another was cut off begins in the middle. */
interface Start {
  readonly share: number;
  readonly at: number;
}

type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean };

const lineEveryMs = 10_000;
/** The bar counts in these: shares of the whole. */
const steps = 10_000;

/** Writes to standard error, so that standard output stays free for data. */
export function createProgress(unit: string, stream: Stream = process.stderr): Progress {
  const began = performance.now();
  const progress = stream.isTTY ? barProgress(unit, began, stream) : lineProgress(unit, began, stream);
  let furthest = 0;
  return {
    show(share, count) {
      // What is to be done can grow on the way; what was shown as done stays done.
      furthest = Math.max(furthest, Math.min(1, share));
      progress.show(furthest, count);
    },
    end: progress.end,
  };
}

function barProgress(unit: string, began: number, stream: Stream): Progress {
  const bar: Bar = new SingleBar(
    {
      format: `{bar} {percentage}%  {count} ${unit}  {rate}/s  {left} left`,
      stream,
      hideCursor: true,
      etaBuffer: 50,
    },
    Presets.shades_classic,
  );
  let start: Start | undefined;
  const words = (share: number, count: number) => ({ count, rate: rateOf(count, began), left: leftOf(share, start) });
  bar.start(steps, 0, words(0, 0));
  return {
    show(share, count) {
      start ??= { share, at: performance.now() };
      bar.update(Math.floor(share * steps), words(share, count));
    },
    end: () => bar.stop(),
  };
}

function lineProgress(unit: string, began: number, stream: Stream): Progress {
  let saidAt = began;
  let start: Start | undefined;
  return {
    show(share, count) {
      start ??= { share, at: performance.now() };
      if (performance.now() - saidAt < lineEveryMs) return;
      saidAt = performance.now();
      const percent = Math.floor(share * 100);
      stream.write(`${percent}%, ${count} ${unit}, ${rateOf(count, began)}/s, ${leftOf(share, start)} left\n`);
    },
    end: () => undefined,
  };
}

function rateOf(count: number, began: number): number {
  return Math.round(count / Math.max(0.001, (performance.now() - began) / 1_000));
}

function leftOf(share: number, start: Start | undefined): string {
  if (share >= 1) return '0 s';
  if (start === undefined || share <= start.share) return '?';
  const seconds = Math.round(((performance.now() - start.at) / 1_000) * ((1 - share) / (share - start.share)));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
