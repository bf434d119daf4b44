import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { callRoutes } from '../routes/calls/calls.ts';
import { callSearchRoutes } from '../routes/calls/search.ts';
import { accountRoutes } from '../routes/control/account.ts';
import { credentialRoutes } from '../routes/control/credentials.ts';
import { customerRoutes } from '../routes/control/customers.ts';
import { eventRoutes } from '../routes/control/events.ts';
import { faultRoutes } from '../routes/control/faults.ts';
import { historyRoutes } from '../routes/control/history.ts';
import { settingRoutes } from '../routes/control/settings.ts';
import { fileRoutes } from '../routes/files.ts';
import { landingRoutes } from '../routes/landing.ts';
import { oauthRoutes } from '../routes/oauth/oauth.ts';
import { blockingRoutes } from '../routes/sms/blocking.ts';
import { conversationRoutes } from '../routes/sms/conversations.ts';
import { draftRoutes } from '../routes/sms/drafts.ts';
import { lineRoutes } from '../routes/sms/lines.ts';
import { sendRoutes } from '../routes/sms/send.ts';
import { templateRoutes } from '../routes/sms/templates.ts';
import { threadRoutes } from '../routes/sms/threads.ts';
import { unreadRoutes } from '../routes/sms/unread.ts';
import { userRoutes } from '../routes/users.ts';
import { webhookRoutes } from '../routes/webhooks.ts';
import { describeCommon, guard, speakZod } from './api.ts';
import { Unauthenticated } from './credentials.ts';
import { ApiError, errorEnvelope, invalidRequest } from './errors.ts';
import { serveOpenApi } from './openapi.ts';
import { recordRequests } from './recording.ts';
import { strike } from './strikes/strikes.ts';

/** The routes under the prefix of the API, in the order of section 4. */
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

/** The HTTP side of the sandbox: the API and its document, the files behind signed links, and the control routes. */
export async function createServer(context: Context): Promise<FastifyInstance> {
  const server = Fastify({
    forceCloseConnections: true,
    // The largest send carries ten attachments of 5 MB in base64.
    bodyLimit: 80 * 1024 * 1024,
    // What is longer answers before anybody asks for a credential.
    routerOptions: { maxParamLength: 8_000 },
    frameworkErrors: (error, _request, reply) => answerError(error, reply),
  });
  server.decorateRequest('credential', null);
  server.setErrorHandler((error: FastifyError, _request, reply) => answerError(error, reply));
  server.setNotFoundHandler((request, reply) =>
    answerError(new ApiError(404, 'not_found', `there is no ${request.method} ${pathOf(request)}`), reply),
  );
  acceptJson(server);
  await serveOpenApi(server);

  server.register(
    async (app) => {
      recordRequests(app, context);
      guard(app, context);
      strike(app, context);
      describeCommon(app);
      const api = speakZod(app);
      for (const routes of apiRoutes) routes(api, context);
    },
    { prefix: '/api/public/v1' },
  );
  server.register(async (app) => {
    recordRequests(app, context, { query: false });
    strike(app, context);
    oauthRoutes(speakZod(app), context);
  });
  server.register(async (files) => fileRoutes(files, context));
  server.register(async (pages) => landingRoutes(pages, context));
  server.register(
    async (control) => {
      eventRoutes(control, context);
      historyRoutes(control, context);
      settingRoutes(control, context);
      const api = speakZod(control);
      accountRoutes(api, context);
      credentialRoutes(api, context);
      faultRoutes(api, context);
      customerRoutes(api, context);
    },
    { prefix: '/_sandbox' },
  );
  return server;
}

/** Clients may name any content type where no body is needed and they send none. */
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
      done(null, JSON.parse(text));
    } catch {
      done(invalidRequest('the body is not JSON'));
    }
  });
}

function answerError(error: FastifyError | Error, reply: FastifyReply): FastifyReply {
  if (error instanceof Unauthenticated) reply.header('www-authenticate', error.challenge);
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
