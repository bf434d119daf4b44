import { timers, useBeat } from '../src/shared/beat.ts';
import { atEnd } from './at-end.ts';

let hurrying = 0;

/**
 * Until the file or describe that calls this ends, or the test that does: loops come round and rows are due `factor` times as soon.
 * Loops whose names `except` matches have no rounds of their own; whoever kicks them runs them.
 */
export function hurry(factor = 10, except?: RegExp): void {
  useBeat({
    ...timers,
    ms: (ms) => Math.floor(ms / factor),
    after(ms, run, loop) {
      if (loop === undefined) return timers.after(ms, run);
      return except?.test(loop) ? () => undefined : timers.after(ms / factor, run);
    },
  });
  hurrying += 1;
  atEnd(() => {
    hurrying -= 1;
    if (hurrying === 0) useBeat();
  });
}
