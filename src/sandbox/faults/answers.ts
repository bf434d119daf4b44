import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { threadParties } from '../api/messages.ts';
import { errorEnvelope, typeOfStatus } from '../http/errors.ts';
import { type CallDeps, callEvent, simulateCall, simulateSms, smsEvent } from '../traffic/events.ts';
import { changeBody } from './bodies.ts';
import type { InjectedFault } from './faults.ts';
import type { AnswerFault, AnswerFaultOf } from './spec.ts';

declare module 'fastify' {
  interface FastifyRequest {
    faults: DrawnFaults | undefined;
  }
}

type DrawnFaults = readonly InjectedFault<AnswerFault>[];

const jsonType = 'application/json; charset=utf-8';

/**
 * Applies the faults to the routes registered after it. In the API they apply after authentication, so that no fault
 * hides a wrong credential; OAuth endpoints get only the faults that name them.
 */
export function injectAnswerFaults(app: FastifyInstance, context: CallDeps): void {
  const { faults, now } = context;
  const isApi = app.prefix !== '';
  const closing = new AbortController();
  const wait = (ms: number) => sleep(ms, undefined, { signal: closing.signal }).catch(() => undefined);

  app.decorateRequest('faults');
  app.addHook('preClose', async () => closing.abort());
  app.addHook('onRoute', ({ schema }) => {
    if (schema?.operationId !== undefined) faults.registerOperation(schema.operationId);
  });

  app.addHook('onRequest', async (request, reply) => {
    const path = request.url.slice(app.prefix.length).split('?')[0] ?? '';
    const operationId = request.routeOptions.schema?.operationId;
    const drawn = faults.drawAnswerFaults({ operationId, method: request.method, path, isApi });
    if (drawn.length === 0) return;
    request.faults = drawn;
    for (const fault of drawn) if (fault.kind === 'slow' && fault.when === 'before') await wait(fault.ms);
    if (drawn.some((fault) => fault.kind === 'reset' && fault.when === 'before')) {
      // No status is sent; the history shows 503.
      reply.code(503).hijack();
      return reset(reply.raw);
    }
    const replacement = replacementOf(drawn, 'before', now());
    if (replacement !== undefined) return setHead(reply, replacement).send(replacement.body);
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.faults === undefined) return done(null, payload);
    answer(request, reply, payload, request.faults).then(
      (sent) => sent !== 'hijacked' && done(null, sent),
      (error: Error) => done(error),
    );
  });

  /** Applies the faults that act after the request was processed or refused. */
  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    drawn: DrawnFaults,
  ): Promise<Buffer | 'hijacked'> {
    for (const fault of drawn) {
      if (fault.kind === 'shift' && reply.statusCode === 200) shiftPages(context, request, fault);
    }
    const body = bodyOf(reply, payload, drawn, now());
    for (const fault of drawn) if (fault.kind === 'slow' && fault.when === 'after') await wait(fault.ms);
    const transport = drawn.find((fault) => isTransportFault(fault));
    if (transport === undefined) return body;
    const { 'content-length': _, ...headers } = reply.getHeaders();
    const present = Object.entries(headers).filter(([, value]) => value !== undefined);
    reply.hijack();
    const outgoing = { status: reply.statusCode, headers: Object.fromEntries(present) as Headers, body };
    await sendWithFault(transport, reply.raw, outgoing, closing.signal);
    return 'hijacked';
  }
}

/** The body to send; sets the status and headers that belong to it. */
function bodyOf(reply: FastifyReply, payload: unknown, drawn: DrawnFaults, now: Date): Buffer {
  const replacement = replacementOf(drawn, 'after', now);
  if (replacement !== undefined) {
    setHead(reply, replacement);
    return Buffer.from(replacement.body);
  }
  const original = Buffer.isBuffer(payload) ? payload : Buffer.from(typeof payload === 'string' ? payload : '');
  let body = changeBody(original, drawn);
  for (const fault of drawn) {
    if (fault.kind === 'contentType') reply.header('content-type', 'text/html');
    if (fault.kind === 'truncated') body = body.subarray(0, Math.ceil(body.length / 2));
    if (fault.kind !== 'bomb') continue;
    reply.header('content-encoding', 'gzip').header('content-type', jsonType);
    body = gzipBomb(fault.bytes);
  }
  return body;
}

/** An answer that replaces the route's own. */
interface Replacement {
  status: number;
  headers?: Record<string, string>;
  body: string;
}

function setHead(reply: FastifyReply, { status, headers = {} }: Replacement): FastifyReply {
  reply.removeHeader('content-type').removeHeader('content-length');
  return reply.code(status).headers(headers);
}

/** The replacement at this moment: the first that a fault gives. */
function replacementOf(drawn: DrawnFaults, moment: 'before' | 'after', now: Date): Replacement | undefined {
  const due = drawn.filter((fault) => 'when' in fault && fault.when === moment);
  return due.map((fault) => replacementFor(fault, now)).find((replacement) => replacement !== undefined);
}

function replacementFor(fault: AnswerFault, now: Date): Replacement | undefined {
  switch (fault.kind) {
    case 'error': {
      const { status, retryAfterSeconds: seconds, retryAfterAs: form } = fault;
      const body = JSON.stringify(errorEnvelope(typeOfStatus(status), 'injected by the sandbox'));
      if (seconds === undefined) return { status, headers: { 'content-type': jsonType }, body };
      const retryAfter = form === 'seconds' ? String(seconds) : new Date(now.getTime() + seconds * 1000).toUTCString();
      return { status, headers: { 'content-type': jsonType, 'retry-after': retryAfter }, body };
    }
    case 'html':
      return { status: fault.status, headers: { 'content-type': 'text/html' }, body: proxyPage(fault.status) };
    case 'bare': {
      const body = JSON.stringify({ message: 'Forbidden by policy', requestId: 'd41d8cd98f00' });
      return { status: fault.status, headers: { 'content-type': jsonType }, body };
    }
    case 'empty':
      return { status: fault.status, body: '' };
    case 'redirect':
      return { status: fault.status, headers: { location: '/elsewhere' }, body: '' };
    default:
      return undefined;
  }
}

function proxyPage(status: number): string {
  return `<html>\r\n<head><title>${status}</title></head>\r\n<body>\r\n<center><h1>${status}</h1></center>\r\n</body>\r\n</html>\r\n`;
}

interface ThreadRead {
  params: { line: string; number: string };
  query: { groupParticipants?: string[] };
}

/** Adds a call to the window that was searched, or a message to the thread that was read. */
function shiftPages(context: CallDeps, request: FastifyRequest, { announce }: AnswerFaultOf<'shift'>): void {
  const operationId = request.routeOptions.schema?.operationId;
  if (operationId === 'searchCalls') {
    const { start, end } = request.body as { start: number; end: number };
    const latest = Math.min(end, Math.floor(context.now().getTime() / 1000));
    if (latest < start) return;
    const startTime = new Date(latest * 1000).toISOString();
    simulateCall(context, callEvent.parse({ startTime, durationSeconds: 0, status: 'missed', announce }));
  }
  if (operationId !== 'readThread') return;
  const read = request as unknown as ThreadRead;
  const parties = threadParties(read.params, read.query.groupParticipants);
  const group = parties.length > 1 ? { participants: parties } : {};
  simulateSms(context, smsEvent.parse({ ...read.params, ...group, announce }));
}

/** Faults of the transport; at most one applies to an answer. */
type TransportFault = AnswerFaultOf<'reset' | 'drip' | 'cutOff'>;

function isTransportFault(fault: AnswerFault): fault is TransportFault {
  return fault.kind === 'drip' || fault.kind === 'cutOff' || (fault.kind === 'reset' && fault.when !== 'before');
}

type Headers = Record<string, string | number | readonly string[]>;

/** Long enough for the written bytes to arrive before the connection ends. */
const arrivalMs = 50;

/** Sends an answer with the fault; resolves when no more bytes follow. */
async function sendWithFault(
  fault: TransportFault,
  response: ServerResponse,
  { status, headers, body }: { status: number; headers: Headers; body: Buffer },
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

/** The client reads ECONNRESET. */
function reset(response: ServerResponse): void {
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

/** A gzip body that decodes to about this many bytes of JSON: one block of spaces, repeated as separate gzip members. */
function gzipBomb(bytes: number): Buffer {
  const block = gzipSync(Buffer.alloc(blockBytes, ' '), { level: 9 });
  const blocks = Array<Buffer>(Math.ceil(bytes / blockBytes)).fill(block);
  return Buffer.concat([gzipSync('{"data":['), ...blocks, gzipSync(']}')]);
}
