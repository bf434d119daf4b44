import { fileURLToPath } from 'node:url';
import { type Running, startNode } from '../rig/processes.ts';

const script = (name: string) => fileURLToPath(new URL(`${name}-process.ts`, import.meta.url));

/** The stand-in service with so many calls; ready is its address. */
export function startStandIn(calls: number): Promise<Running<string>> {
  return startNode([script('service'), String(calls)], {}, (line) =>
    line.startsWith('{"url"') ? (JSON.parse(line) as { url: string }).url : undefined,
  );
}

/** The stand-in service in which calls end when it is told so; ready is its address. */
export function startLiveStandIn(): Promise<Running<string>> {
  return startNode([script('live')], {}, (line) =>
    line.startsWith('{"url"') ? (JSON.parse(line) as { url: string }).url : undefined,
  );
}

/** Runs one of the measuring processes to its end; resolves to what it printed. */
export async function measureIn<Result>(
  name: 'reader' | 'backfill',
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Result> {
  const run = await startNode([script(name), ...args], environment, (line) =>
    line.startsWith('{"seconds"') ? (JSON.parse(line) as Result) : undefined,
  );
  await run[Symbol.asyncDispose]();
  return run.ready;
}
