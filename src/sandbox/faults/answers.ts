import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { threadParties } from '../api/thread-routes.ts';
import type { Context } from '../context.ts';
import { errorEnvelope, typeOfStatus } from '../http/errors.ts';
import { type CallDeps, callEvent, simulateCall, simulateSms, smsEvent } from '../traffic/events.ts';
import type { AnswerFault, AnswerFaultOf } from './spec.ts';

declare module 'fastify' {
  interface FastifyRequest {
    faults: DrawnFaults | undefined;
  }
}

type DrawnFaults = readonly AnswerFault[];

/**
 * Applies the faults to the routes registered after it. In the API they apply after authentication, so that no fault
 * hides a wrong credential; OAuth endpoints get only the faults that name them.
 */
export function injectAnswerFaults(app: FastifyInstance, context: CallDeps & Pick<Context, 'faults'>): void {
  const { faults } = context;
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
    const other = otherAnswer(drawn, 'before');
    if (other !== undefined) return reply.send(setHead(reply, other));
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
    const body = bodyOf(reply, payload, drawn);
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
function bodyOf(reply: FastifyReply, payload: unknown, drawn: DrawnFaults): Buffer {
  const other = otherAnswer(drawn, 'after');
  if (other !== undefined) return Buffer.from(setHead(reply, other));
  const original = Buffer.isBuffer(payload) ? payload : Buffer.from(typeof payload === 'string' ? payload : '');
  return drawn.reduce(changed, original);
}

/** The answer that replaces the route's own at this moment: the first that a fault gives. */
function otherAnswer(drawn: DrawnFaults, moment: 'before' | 'after'): AnswerFaultOf<'answer'> | undefined {
  return drawn.filter((fault) => fault.kind === 'answer').find((fault) => fault.when === moment);
}

/** Sets status and headers of another answer, and returns its body. */
function setHead(reply: FastifyReply, { status, headers, body }: AnswerFaultOf<'answer'>): string {
  reply.removeHeader('content-type').removeHeader('content-length').code(status);
  if (body === undefined) reply.header('content-type', 'application/json; charset=utf-8');
  reply.headers(headers);
  return body ?? JSON.stringify(errorEnvelope(typeOfStatus(status), 'injected by the sandbox'));
}

/** Applies a fault that changes the content. A body without `data` keeps its fields. */
function changed(body: Buffer, fault: AnswerFault): Buffer {
  if (fault.kind === 'rewrite')
    return Buffer.from(body.toString().replaceAll(new RegExp(fault.pattern, 'g'), fault.by));
  if (fault.kind !== 'edit' || !body.toString().startsWith('{"data":')) return body;
  const envelope: unknown = JSON.parse(body.toString());
  edit(envelope, fault.path.split('.'), fault.value);
  return Buffer.from(JSON.stringify(envelope));
}

/** Sets what lies at the path; `*` stands for each item. */
function edit(part: unknown, [key = '', ...rest]: string[], value: unknown): void {
  if (typeof part !== 'object' || part === null) return;
  const fields = part as Record<string, unknown>;
  for (const name of key === '*' ? Object.keys(fields) : [key]) {
    if (rest.length > 0) edit(fields[name], rest, value);
    else if (value === undefined) delete fields[name];
    else fields[name] = value;
  }
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
