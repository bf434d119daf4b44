import { fileURLToPath } from 'node:url';
import { type Running, startNode } from '../rig/processes.ts';

/** The stand-in service in which calls end when it is told so; ready is its address. */
export function startLiveStandIn(): Promise<Running<string>> {
  return startNode([fileURLToPath(new URL('live-process.ts', import.meta.url))], {}, (line) =>
    line.startsWith('{"url"') ? (JSON.parse(line) as { url: string }).url : undefined,
  );
}
