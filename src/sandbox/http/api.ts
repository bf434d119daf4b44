import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteOptions,
} from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import type { Context } from '../context.ts';
import type { Scope } from '../entities/access.ts';
import { type Permission, requirePermission, requireUser } from './access.ts';
import { authenticate, requireScope } from './credentials.ts';
import { errorBody } from './errors.ts';
import { validate } from './validation.ts';

/** Routes whose zod schemas validate requests, type the handlers, and describe the API in its OpenAPI document. */
export type Api = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that the endpoint wants; routes without one are open. */
    scope?: Scope;
    /** The portal permission that it asks of an OAuth user (5.2). */
    permission?: Permission;
    /** Answers 400 to an API key (5.3). */
    needsUser?: boolean;
  }
}

const parts: Record<string, string> = { body: 'body', params: 'path', querystring: 'query', headers: 'headers' };

/** Makes routes of this instance validate with their schemas; answers are described, not checked, by theirs. */
export function speakZod(app: FastifyInstance): Api {
  app.setValidatorCompiler<z.ZodType>(({ schema, httpPart = '' }) => (value: unknown) => {
    try {
      // Where every field is optional, no body says as much as an empty one.
      const given = httpPart === 'body' ? (value ?? {}) : value;
      return { value: validate(schema, given, parts[httpPart]) };
    } catch (error) {
      return { error: error as Error };
    }
  });
  app.setSerializerCompiler(() => JSON.stringify);
  return app.withTypeProvider<ZodTypeProvider>();
}

/** Credential, scope and role first, so that nothing else is told to whoever may not ask. */
export function guard(app: FastifyInstance, { store, now }: Pick<Context, 'store' | 'now'>): void {
  app.addHook('onRequest', async (request: FastifyRequest) => {
    const { scope, permission, needsUser } = request.routeOptions.config;
    if (scope === undefined) return;
    const credential = authenticate(store, request, scope, now().getTime());
    request.credential = credential;
    requireScope(credential, scope);
    if (permission !== undefined) requirePermission(credential, permission);
    if (needsUser) requireUser(request);
  });
}

/** Adds to each route's description what all have in common: the security it asks for and the errors of section 7. */
export function describeCommon(app: FastifyInstance): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    const { scope, permission } = route.config ?? {};
    if (scope === undefined) return;
    const notes = [`Scope \`${scope}\`.`, ...(permission === undefined ? [] : [`Portal permission: ${permission}.`])];
    const { response = {}, description = '', ...schema } = route.schema ?? {};
    route.schema = {
      ...schema,
      description: [description, ...notes].filter(Boolean).join(' '),
      security: [{ bearer: [scope] }],
      response: { ...(response as object), '4xx': errorBody, '5xx': errorBody },
    };
  });
}
