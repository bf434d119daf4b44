import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../../context.ts';
import type { AnswerFault } from '../../faults/answers.ts';
import type { Struck } from '../../faults/lots.ts';
import type { CallWorld } from '../../traffic/calls.ts';
import { distort } from './distortions.ts';
import { refuseLimit, shiftPages, turnPages } from './pages.ts';
import { type Replacement, replacementFor } from './replacements.ts';
import { bomb, isOfTheWire, reset, sendBadly } from './wire.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Faults that befall this request. */
    struck: Struck<AnswerFault>[] | undefined;
  }
}

const jsonType = 'application/json; charset=utf-8';

/**
 * Lets the faults strike the routes registered after it. Of the API they strike behind the guard, so that none hides a
 * wrong credential; the OAuth endpoints have no guard, and are struck only where a fault names them.
 */
export function strike(app: FastifyInstance, world: CallWorld & Pick<Context, 'faults'>): void {
  const { faults, now } = world;
  const isApi = app.prefix !== '';
  const closing = new AbortController();
  const wait = (ms: number) => sleep(ms, undefined, { signal: closing.signal }).catch(() => undefined);
  const none: Struck<AnswerFault>[] = [];

  app.decorateRequest('struck');
  app.addHook('preClose', async () => closing.abort());
  app.addHook('onRoute', ({ schema }) => {
    if (schema?.operationId !== undefined) faults.know(schema.operationId);
  });

  app.addHook('onRequest', async (request, reply) => {
    const path = request.url.slice(app.prefix.length).split('?')[0] ?? '';
    const operationId = request.routeOptions.schema?.operationId;
    const struck = faults.strikeAnswer({ operationId, method: request.method, path, isApi });
    if (struck.length === 0) return;
    request.struck = struck;
    for (const { fault } of struck) if (fault.kind === 'slow' && fault.when === 'before') await wait(fault.ms);
    if (struck.some(({ fault }) => fault.kind === 'reset' && fault.when === 'before')) {
      // What the history shows where no status leaves.
      reply.code(503).hijack();
      return reset(reply.raw);
    }
    const replaced = replacement(struck, 'before');
    if (replaced !== undefined) return put(reply, replaced).send(replaced.body);
    refuseLimit(request, struck);
  });

  app.addHook('preHandler', async (request) => {
    if (request.struck !== undefined) turnPages(world, request, request.struck);
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    const struck = request.struck ?? none;
    if (struck.length === 0) return done(null, payload);
    finish(request, reply, payload, struck).then(
      (sent) => sent !== 'hijacked' && done(null, sent),
      (error: Error) => done(error),
    );
  });

  /** Everything that befalls an answer once the request was carried out, or refused. */
  async function finish(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    struck: Struck<AnswerFault>[],
  ): Promise<Buffer | 'hijacked'> {
    for (const { fault } of struck) {
      if (fault.kind === 'shift' && reply.statusCode === 200) shiftPages(world, request, fault);
    }
    const body = changed(reply, bytesOf(payload), struck);
    for (const { fault } of struck) if (fault.kind === 'slow' && fault.when === 'after') await wait(fault.ms);
    const wire = struck.map(({ fault }) => fault).find(isOfTheWire);
    if (wire === undefined) return body;
    const { 'content-length': _, ...headers } = reply.getHeaders();
    const outgoing = { status: reply.statusCode, headers: withoutAbsent(headers), body };
    reply.hijack();
    await sendBadly(wire, reply.raw, outgoing, closing.signal);
    return 'hijacked';
  }

  /** The body that leaves, with its status and headers set to fit. */
  function changed(reply: FastifyReply, body: Buffer, struck: Struck<AnswerFault>[]): Buffer {
    const replaced = replacement(struck, 'after');
    if (replaced !== undefined) {
      put(reply, replaced);
      return Buffer.from(replaced.body);
    }
    let changed = distort(body, struck);
    for (const { fault } of struck) {
      if (fault.kind === 'contentType') reply.header('content-type', fault.value);
      if (fault.kind === 'truncated') changed = changed.subarray(0, Math.ceil(changed.length / 2));
      if (fault.kind !== 'bomb') continue;
      reply.header('content-encoding', 'gzip').header('content-type', jsonType);
      changed = bomb(fault.bytes);
    }
    return changed;
  }

  function replacement(struck: readonly Struck<AnswerFault>[], moment: 'before' | 'after'): Replacement | undefined {
    return struck.map(({ fault }) => replacementFor(fault, moment, now())).find((each) => each !== undefined);
  }
}

function put(reply: FastifyReply, { status, headers }: Replacement): FastifyReply {
  reply.removeHeader('content-type').removeHeader('content-length');
  return reply.code(status).headers(headers);
}

function bytesOf(payload: unknown): Buffer {
  if (Buffer.isBuffer(payload)) return payload;
  return Buffer.from(typeof payload === 'string' ? payload : '');
}

function withoutAbsent(headers: Record<string, unknown>): Record<string, string | number | readonly string[]> {
  const present = Object.entries(headers).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as Record<string, string | number | readonly string[]>;
}
