/** Milliseconds that this thread computed during some work, whatever else the machine did meanwhile. */
export function busyMs(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
