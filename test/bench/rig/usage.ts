import { readdir, readFile } from 'node:fs/promises';

/** What processes used while something was measured; nothing is known outside Linux. */
export interface Usage {
  /** Cores busy on average, by name. */
  readonly cores: Readonly<Record<string, number>>;
  /** The largest resident memory seen of each, in MB, counted once where a process has no children of note. */
  readonly residentMb: Readonly<Record<string, number>>;
}

/** Linux reports times of processes in hundredths of a second. */
const ticksPerSecond = 100;
const sampleMs = 200;

/** Watches processes, each with its children, while `work` runs. */
export async function watching<T>(
  pids: Readonly<Record<string, number>>,
  work: () => Promise<T>,
): Promise<{ result: T; usage: Usage }> {
  const residentMb: Record<string, number> = {};
  async function sample(): Promise<void> {
    for (const [name, pid] of Object.entries(pids)) {
      residentMb[name] = Math.max(residentMb[name] ?? 0, await residentOf(pid));
    }
  }
  const before = await ticksOf(pids);
  const began = performance.now();
  const timer = setInterval(sample, sampleMs);
  try {
    const result = await work();
    const seconds = (performance.now() - began) / 1_000;
    const after = await ticksOf(pids);
    const cores = Object.fromEntries(
      Object.keys(after).map((name) => [name, ((after[name] ?? 0) - (before[name] ?? 0)) / ticksPerSecond / seconds]),
    );
    // What the machine did besides: this process, and whatever else runs on it.
    cores.others = (cores.machine ?? 0) - Object.keys(pids).reduce((sum, name) => sum + (cores[name] ?? 0), 0);
    delete cores.machine;
    return { result, usage: { cores, residentMb } };
  } finally {
    clearInterval(timer);
  }
}

/** What one request cost each of the watched, in microseconds of a core; what else the machine did, in cores. */
export function costShown(usages: readonly Usage[], perSecond: readonly number[]): string {
  const { each } = costOf(usages, perSecond);
  const costs = Object.entries(each).map(([name, ms]) => `${name} ${Math.round(1_000 * ms)}`);
  const others = usages.reduce((sum, { cores }) => sum + (cores.others ?? 0), 0) / usages.length;
  return `µs of a core for each: ${costs.join(', ')}. Besides: ${others.toFixed(1)} cores busy`;
}

/** What one of something cost each of the watched, and all of them, in milliseconds of a core. */
export function costOf(
  usages: readonly Usage[],
  perSecond: readonly number[],
): { readonly each: Readonly<Record<string, number>>; readonly all: number } {
  const names = Object.keys(usages[0]?.cores ?? {}).filter((name) => name !== 'others');
  const costs = names.map((name): [string, number] => [
    name,
    usages.reduce((sum, { cores }, round) => sum + (1_000 * (cores[name] ?? 0)) / (perSecond[round] ?? 1), 0) /
      usages.length,
  ]);
  return { each: Object.fromEntries(costs), all: costs.reduce((sum, [, cost]) => sum + cost, 0) };
}

async function ticksOf(pids: Readonly<Record<string, number>>): Promise<Record<string, number>> {
  const [all, machine] = await Promise.all([processes(), busyTicks()]);
  const own = Object.entries(pids).map(([name, pid]): [string, number] => [
    name,
    all.reduce(
      (sum, each) => sum + (each.pid === pid ? each.ticks + each.ended : each.parent === pid ? each.ticks : 0),
      0,
    ),
  ]);
  return { ...Object.fromEntries(own), machine };
}

async function busyTicks(): Promise<number> {
  const stat = await readFile('/proc/stat', 'utf8').catch(() => '');
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0] = (stat.split('\n', 1)[0] ?? '')
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return user + nice + system + interrupts + softInterrupts;
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
  /** Those of its children that have ended. */
  readonly ended: number;
}

async function processes(): Promise<Process[]> {
  const names = await readdir('/proc').catch(() => []);
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (name) => {
        const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => undefined);
        if (stat === undefined) return [];
        // The program's name may hold spaces: the fields are counted from its closing bracket.
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        const sum = (first: number, second: number) => Number(fields[first]) + Number(fields[second]);
        return [{ pid: Number(name), parent: Number(fields[1]), ticks: sum(11, 12), ended: sum(13, 14) }];
      }),
  );
  return found.flat();
}

async function residentOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1_024;
}
