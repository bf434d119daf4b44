import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { AnswerFault, AnswerFaultOf } from '../../faults/answers.ts';

/** Faults of how an answer travels; at most one can befall it. */
export type WireFault = AnswerFaultOf<'reset' | 'drip' | 'cutOff'>;

export function isOfTheWire(fault: AnswerFault): fault is WireFault {
  return fault.kind === 'drip' || fault.kind === 'cutOff' || (fault.kind === 'reset' && fault.when !== 'before');
}

/** An answer as it would have left. */
export interface Outgoing {
  status: number;
  headers: Record<string, string | number | readonly string[]>;
  body: Buffer;
}

/** Long enough that what was written arrives before what ends the connection. */
const arrivalMs = 50;

/** Sends an answer as the fault wants it; resolves when nothing more will come. */
export async function sendBadly(
  fault: WireFault,
  response: ServerResponse,
  { status, headers, body }: Outgoing,
  signal: AbortSignal,
): Promise<void> {
  if (fault.kind === 'reset' && fault.when === 'after') return reset(response);
  response.writeHead(status, { ...headers, 'content-length': body.length });
  if (fault.kind === 'drip') return drip(fault, response, body, signal);
  response.write(body.subarray(0, Math.ceil(body.length / 2)));
  await sleep(arrivalMs, undefined, { signal }).catch(() => undefined);
  if (fault.kind === 'reset') reset(response);
  else response.socket?.end();
}

/** The other side reads ECONNRESET instead of an answer. */
export function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}

async function drip(
  { everyMs, bytes }: AnswerFaultOf<'drip'>,
  response: ServerResponse,
  body: Buffer,
  signal: AbortSignal,
): Promise<void> {
  response.flushHeaders();
  for (let at = 0; at < body.length; at += bytes) {
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    if (response.destroyed || signal.aborted) return;
    response.write(body.subarray(at, at + bytes));
  }
  response.end();
}

const blockBytes = 1024 ** 2;

/** A gzip body that decodes to about so many bytes of JSON: one block of blanks over and over, each a member of its own. */
export function bomb(bytes: number): Buffer {
  const block = gzipSync(Buffer.alloc(blockBytes, ' '), { level: 9 });
  const blocks = Array<Buffer>(Math.ceil(bytes / blockBytes)).fill(block);
  return Buffer.concat([gzipSync('{"data":['), ...blocks, gzipSync(']}')]);
}
