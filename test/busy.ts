/** Milliseconds that this thread computed during some work, whatever else the machine did meanwhile. */
export function busyMs(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/**
 * How many times longer the work takes with sixteen times the input: about 16 where it is linear, 256 where it is
 * quadratic. The fastest of three counts, and nothing counts as faster than a millisecond.
 */
export function growthOf(work: (times: number) => unknown): number {
  const fastest = (times: number) => Math.max(1, Math.min(...[1, 2, 3].map(() => busyMs(() => work(times)))));
  return fastest(16) / fastest(1);
}
