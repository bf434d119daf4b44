import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify';
import { callRoutes, callSearchRoutes } from '../api/call-routes.ts';
import { blockingRoutes, conversationRoutes } from '../api/conversations.ts';
import { fileRoutes } from '../api/files.ts';
import { draftRoutes, templateRoutes } from '../api/saved-texts.ts';
import { lineRoutes, sendRoutes } from '../api/sending.ts';
import { threadRoutes, unreadRoutes } from '../api/thread-routes.ts';
import { userRoutes } from '../api/users.ts';
import { webhookRoutes } from '../api/webhooks.ts';
import type { Context } from '../context.ts';
import { accountRoutes, credentialRoutes } from '../control/account.ts';
import { eventRoutes, faultRoutes, historyRoutes } from '../control/simulation.ts';
import { injectAnswerFaults } from '../faults/answers.ts';
import { faultNames } from '../faults/faults.ts';
import { oauthRoutes } from '../oauth/routes.ts';
import { authorizeRequests, refuseNeedlessBodies, useZod } from './api.ts';
import { ApiError, errorEnvelope, invalidRequest } from './errors.ts';
import { serveOpenApi } from './openapi.ts';
import { controlPage } from './pages.ts';

/** In the order of section 4. */
const apiRoutes = [
  lineRoutes,
  sendRoutes,
  threadRoutes,
  conversationRoutes,
  blockingRoutes,
  unreadRoutes,
  draftRoutes,
  templateRoutes,
  userRoutes,
  callSearchRoutes,
  callRoutes,
  webhookRoutes,
];

const controlRoutes = [eventRoutes, historyRoutes, accountRoutes, credentialRoutes, faultRoutes];

/** The HTTP server: the API and its OpenAPI document, OAuth, files behind signed links, and the control routes. */
export async function createServer(context: Context): Promise<FastifyInstance> {
  const server = Fastify({
    forceCloseConnections: true,
    // The largest send has ten attachments of 5 MB in base64.
    bodyLimit: 80 * 1024 * 1024,
    // Longer parameters are refused before authentication.
    routerOptions: { maxParamLength: 8_000 },
    frameworkErrors: (error, _request, reply) => answerError(error, reply),
  });
  server.decorateRequest('credential', null);
  server.setErrorHandler((error: FastifyError, _request, reply) => answerError(error, reply));
  server.setNotFoundHandler((request, reply) =>
    answerError(new ApiError(404, 'not_found', `there is no ${request.method} ${request.url.split('?')[0]}`), reply),
  );
  acceptJson(server);
  controlPage(server, context);
  serveOpenApi(server);

  server.register(
    async (app) => {
      recordRequests(app, context, { withQuery: true });
      authorizeRequests(app, context);
      refuseNeedlessBodies(app);
      injectAnswerFaults(app, context);
      const api = useZod(app);
      for (const routes of apiRoutes) routes(api, context);
    },
    { prefix: '/api/public/v1' },
  );
  server.register(async (app) => {
    recordRequests(app, context, { withQuery: false });
    injectAnswerFaults(app, context);
    oauthRoutes(useZod(app), context);
  });
  server.register(async (app) => fileRoutes(app, context));
  server.register(
    async (app) => {
      const api = useZod(app);
      for (const routes of controlRoutes) routes(api, context);
    },
    { prefix: '/_sandbox' },
  );
  return server;
}

/** A request without a body may carry any content type. */
function acceptJson(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
    if (body.toString().trim() === '') return done(null, undefined);
    done(invalidRequest('the body must be application/json'));
  });
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    const text = body.toString();
    if (text.trim() === '') return done(null, undefined);
    try {
      const value: unknown = JSON.parse(text);
      // Fastify hands over `null` where there is no body.
      done(value === null ? invalidRequest('the body must be an object') : null, value);
    } catch {
      done(invalidRequest('the body is not JSON'));
    }
  });
}

function answerError(error: FastifyError | Error, reply: FastifyReply): FastifyReply {
  if (error instanceof ApiError) {
    if (error.challenge !== undefined) reply.header('www-authenticate', error.challenge);
    return reply.code(error.status).send(errorEnvelope(error.type, error.message, error.scope));
  }
  const isClientError = 'statusCode' in error && error.statusCode !== undefined && error.statusCode < 500;
  if (isClientError) return reply.code(400).send(errorEnvelope('invalid_request', error.message));
  return reply.code(500).send(errorEnvelope('internal_error', 'the sandbox failed to answer'));
}

/**
 * Records each request of the routes registered after it, also when a fault loses the answer: the status is the one
 * that would have arrived. OAuth queries hold secrets, so they are left out.
 */
function recordRequests(
  app: FastifyInstance,
  { history, now }: Pick<Context, 'history' | 'now'>,
  { withQuery }: { withQuery: boolean },
): void {
  app.addHook('onRequest', async (request, reply) => {
    const startedAt = performance.now();
    // Unlike onResponse, 'close' also fires when the connection is cut.
    reply.raw.once('close', () => {
      const fault = faultNames(request.faults ?? []);
      const requestId = request.headers['x-request-id'];
      history.requests.add({
        at: now().toISOString(),
        method: request.method,
        path: withQuery ? request.url : (request.url.split('?')[0] ?? ''),
        status: reply.statusCode,
        key: request.credential?.name ?? null,
        durationMs: Math.round((performance.now() - startedAt) * 1000) / 1000,
        ...(typeof requestId === 'string' && { requestId }),
        ...(fault !== undefined && { fault }),
      });
    });
  });
}
