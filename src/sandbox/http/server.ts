import { setTimeout as sleep } from 'node:timers/promises';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { callRoutes } from '../routes/calls/calls.ts';
import { callSearchRoutes } from '../routes/calls/search.ts';
import { eventRoutes } from '../routes/control/events.ts';
import { historyRoutes } from '../routes/control/history.ts';
import { settingRoutes } from '../routes/control/settings.ts';
import { fileRoutes } from '../routes/files.ts';
import { conversationRoutes } from '../routes/sms/conversations.ts';
import { lineRoutes } from '../routes/sms/lines.ts';
import { userRoutes } from '../routes/users.ts';
import { webhookRoutes } from '../routes/webhooks.ts';
import { authenticate, requireScope, Unauthenticated } from './credentials.ts';
import { ApiError, errorEnvelope, invalidRequest, typeOfStatus } from './errors.ts';

/** The HTTP side of the sandbox: the API, the files behind signed links, and the control routes. */
export function createServer(context: Context): FastifyInstance {
  const server = Fastify({
    forceCloseConnections: true,
    // The largest send carries ten attachments of 5 MB in base64.
    bodyLimit: 80 * 1024 * 1024,
    routerOptions: { maxParamLength: 500 },
    frameworkErrors: (error, _request, reply) => answerError(error, reply),
  });
  server.decorateRequest('credential', null);
  server.setErrorHandler((error: FastifyError, _request, reply) => answerError(error, reply));
  server.setNotFoundHandler((request, reply) =>
    answerError(new ApiError(404, 'not_found', `there is no ${request.method} ${pathOf(request)}`), reply),
  );
  acceptJson(server);

  server.register(
    async (api) => {
      recordRequests(api, context);
      guard(api, context);
      lineRoutes(api, context);
      conversationRoutes(api, context);
      userRoutes(api, context);
      callSearchRoutes(api, context);
      callRoutes(api, context);
      webhookRoutes(api, context);
    },
    { prefix: '/api/public/v1' },
  );
  server.register(async (files) => fileRoutes(files, context));
  server.register(
    async (control) => {
      eventRoutes(control, context);
      historyRoutes(control, context);
      settingRoutes(control, context);
    },
    { prefix: '/_sandbox' },
  );
  return server;
}

/** Clients may send `Content-Type: application/json` without a body where none is needed. */
function acceptJson(server: FastifyInstance): void {
  server.removeContentTypeParser('application/json');
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    const text = body.toString();
    if (text.trim() === '') return done(null, undefined);
    try {
      done(null, JSON.parse(text));
    } catch {
      done(invalidRequest('the body is not JSON'));
    }
  });
}

function recordRequests(api: FastifyInstance, { history, now }: Context): void {
  api.addHook('onResponse', async (request, reply) => {
    history.requests.add({
      at: now().toISOString(),
      method: request.method,
      path: request.url,
      status: reply.statusCode,
      key: request.credential?.name ?? null,
      durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
    });
  });
}

/** Credential and scope first, then the faults, so that a fault never hides a wrong credential. */
function guard(api: FastifyInstance, { store, faults }: Context): void {
  const closing = new AbortController();
  api.addHook('preClose', async () => closing.abort());

  api.addHook('onRequest', async (request) => {
    const { scope } = request.routeOptions.config;
    if (scope !== undefined) {
      request.credential = authenticate(store, request, scope);
      requireScope(request.credential, scope);
    }
    const { latencyMs, errorRate, status, retryAfterSeconds } = faults.current();
    if (latencyMs > 0) await sleep(latencyMs, undefined, { signal: closing.signal }).catch(() => undefined);
    if (errorRate > 0 && faults.random.chance(errorRate)) throw new InjectedError(status, retryAfterSeconds);
  });
}

class InjectedError extends ApiError {
  readonly retryAfterSeconds: number | null;

  constructor(status: number, retryAfterSeconds: number | null) {
    super(status, typeOfStatus(status), 'injected by the sandbox');
    this.name = 'InjectedError';
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

function answerError(error: FastifyError | Error, reply: FastifyReply): FastifyReply {
  if (error instanceof Unauthenticated) reply.header('www-authenticate', error.challenge);
  if (error instanceof InjectedError && error.retryAfterSeconds !== null) {
    reply.header('retry-after', error.retryAfterSeconds);
  }
  if (error instanceof ApiError) {
    return reply.code(error.status).send(errorEnvelope(error.type, error.message, error.scope));
  }
  const isOurs = 'statusCode' in error && error.statusCode !== undefined && error.statusCode < 500;
  if (isOurs) return reply.code(400).send(errorEnvelope('invalid_request', error.message));
  return reply.code(500).send(errorEnvelope('internal_error', 'the sandbox failed to answer'));
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?')[0] ?? '';
}
