import type { FastifyInstance, FastifyTypeProvider } from 'fastify';
import { z } from 'zod';
import type { Scope } from '../account.ts';
import type { Context } from '../context.ts';
import { normalizeNumber } from '../phone-number.ts';
import { authenticate, type Permission, requirePermission, requireScope, requireUser } from './auth.ts';
import { invalidRequest } from './errors.ts';

/** Parses a body or query. Throws a 400 that names the first wrong field (section 7). */
export function validate<Schema extends z.ZodType>(schema: Schema, value: unknown, where = 'body'): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw invalidRequest(issue === undefined ? `${where} is malformed` : describeIssue(issue, where));
}

function describeIssue(issue: z.core.$ZodIssue, where: string): string {
  const subject = issue.path.length === 0 ? `the ${where}` : z.core.toDotPath(issue.path);
  if (issue.code === 'unrecognized_keys') {
    return `unknown field ${issue.keys.map((key) => JSON.stringify(key)).join(', ')} in ${subject}`;
  }
  if (issue.code === 'invalid_value') {
    return `${subject} must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
  }
  if (issue.message.endsWith('received undefined')) return `${subject} is required`;
  return `${subject}: ${issue.message}`;
}

/** Section 4: formatted input is accepted and normalized. */
export const phoneNumber = z.string().transform((text, context) => {
  const number = normalizeNumber(text);
  if (number !== null) return number;
  context.addIssue({ code: 'custom', message: `must be a phone number, got ${JSON.stringify(text)}` });
  return z.NEVER;
});

export const linePath = z.object({ line: phoneNumber });

/** A conversation has no id: it is the pair of the account's line and the other party's number (2.5). */
export const pairPath = z.object({ line: phoneNumber, number: phoneNumber });

/** An id in a path. */
export const idField = z
  .string()
  .regex(/^\d{1,15}$/, 'must be an integer')
  .transform(Number);

export const idPath = z.object({ id: idField });

/** A count in a query. */
export const countField = z
  .string()
  .regex(/^\d{1,15}$/, 'must be an integer, 0 or more')
  .transform(Number);

export const instant = z.iso.datetime({ offset: true });

/** Types the handlers of a route by its schemas. */
interface ZodTypes extends FastifyTypeProvider {
  validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown;
}

/** Zod schemas validate the requests of these routes, type their handlers, and stand in the OpenAPI document. */
export type Api = ReturnType<typeof useZod>;

declare module 'fastify' {
  interface FastifySchema {
    /** The name of the operation in the OpenAPI document, in faults and in the conformance suite. */
    operationId?: string;
  }
  interface FastifyContextConfig {
    /** The required scope; routes without one need no credential. */
    scope?: Scope;
    /** The portal permission that OAuth users need (5.2). */
    permission?: Permission;
    /** Refuses API keys with 400 (5.3). */
    needsUser?: boolean;
  }
}

const parts: Record<string, string> = { body: 'body', params: 'path', querystring: 'query', headers: 'headers' };

/** Makes the routes of this instance validate requests with zod. */
export function useZod(app: FastifyInstance) {
  app.setValidatorCompiler<z.ZodType>(({ schema, httpPart = '' }) => (value: unknown) => {
    try {
      // A missing body is valid where every field is optional.
      const given = httpPart === 'body' ? (value ?? {}) : value;
      return { value: validate(schema, given, parts[httpPart]) };
    } catch (error) {
      return { error: error as Error };
    }
  });
  return app.withTypeProvider<ZodTypes>();
}

const noBody = z.strictObject({});

/** Section 7: an unknown body field is 400, also for operations that take no body. */
export function refuseNeedlessBodies(app: FastifyInstance): void {
  app.addHook('preValidation', async ({ body, routeOptions }) => {
    if (routeOptions.schema?.body === undefined && body != null) validate(noBody, body);
  });
}

/** Checks credential, scope and role before validation, so that others learn nothing more. */
export function authorizeRequests(app: FastifyInstance, { store, now }: Pick<Context, 'store' | 'now'>): void {
  app.addHook('onRequest', async (request) => {
    const { scope, permission, needsUser } = request.routeOptions.config;
    if (scope === undefined) return;
    const credential = authenticate(store, request, scope, now().getTime());
    request.credential = credential;
    requireScope(credential, scope);
    if (permission !== undefined) requirePermission(credential, permission);
    if (needsUser) requireUser(request);
  });
}
