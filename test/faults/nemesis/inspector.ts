import { once } from 'node:events';
import { vi } from 'vitest';
import type { Part } from '../deployment/part.ts';

/** Options of Node that let a process be inspected, once it is told to, at a port of its choice. */
export const inspectable = '--inspect-port=0';

/** Has a running process evaluate something, through the inspector that every Node has and SIGUSR1 opens. */
export async function evaluateIn(part: Part, expression: string): Promise<void> {
  const from = part.output.length;
  part.signal('SIGUSR1');
  const address = await vi.waitUntil(() => /Debugger listening on (ws:\S+)/.exec(part.output.slice(from))?.[1], {
    timeout: 60_000,
    interval: 20,
  });
  const socket = new WebSocket(address);
  await once(socket, 'open');
  const answered = once(socket, 'message');
  socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } }));
  // A process that dies of it does not answer.
  await Promise.race([answered, once(socket, 'close'), once(socket, 'error')]);
  socket.close();
}

/** Keeps the event loop busy for so long: nothing else is done meanwhile, not even a timer. */
export function busyFor(ms: number): string {
  return `{ const end = Date.now() + ${ms}; while (Date.now() < end); }`;
}

export const unhandledRejection = `void Promise.reject(new Error('nobody handles this')); undefined`;
