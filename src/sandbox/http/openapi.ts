import type { FastifyInstance, RouteOptions } from 'fastify';
import { z } from 'zod';

const about = `The telephony account API, as this sandbox implements it; /_sandbox controls the sandbox and is not part of the service.
Every request is validated with the schemas shown here. Every success is wrapped as { "data": … }, every failure as
{ "error": { "type", "message" } }. Answers may gain keys at any time.`;

/** Serves /openapi.json: the routes that are registered after it, with the schemas that validate their requests. */
export function serveOpenApi(server: FastifyInstance): void {
  const paths: Record<string, Record<string, object>> = {};
  const document = {
    openapi: '3.1.0',
    info: { title: 'Messaging, call history and webhook subscriptions', version: '1', description: about },
    servers: [{ url: '/' }],
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    paths,
  };
  server.get('/openapi.json', () => document);
  server.addHook('onRoute', (route) => {
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}');
    for (const method of [route.method].flat()) {
      if (method !== 'HEAD') paths[path] = { ...paths[path], [method.toLowerCase()]: describe(route) };
    }
  });
}

function describe({ schema = {}, config }: RouteOptions): object {
  const { operationId, params, querystring, body } = schema;
  return {
    ...(operationId !== undefined && { operationId }),
    ...(config?.scope !== undefined && { security: [{ bearer: [config.scope] }] }),
    parameters: [...parametersIn('path', params), ...parametersIn('query', querystring)],
    ...(body !== undefined && { requestBody: { content: { 'application/json': { schema: inputOf(body) } } } }),
    responses: { default: { description: 'Data or an error.' } },
  };
}

function parametersIn(place: 'path' | 'query', schema: unknown): object[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = inputOf(schema);
  return Object.entries(properties).map(([name, shape]) => ({
    name,
    in: place,
    required: required.includes(name),
    schema: shape,
  }));
}

/** What a request may hold, before it is normalized. */
function inputOf(schema: unknown): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(schema as z.ZodType, { io: 'input', unrepresentable: 'any' });
}
