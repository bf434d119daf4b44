import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { scopes } from '../account.ts';
import { errorBody } from './errors.ts';

/** The tags of the document, and the paths that they are for: sections of the specification, and two that are in none. */
const tags = [
  { name: '4.1 Lines and sending', paths: /\/sms\/(lines|messages)$/ },
  { name: '4.2 Conversations', paths: /\/sms\/conversations\// },
  { name: '4.3 Blocking and unread', paths: /\/sms\/(lines\/|unread)/ },
  { name: '4.4 Drafts and saved replies', paths: /\/sms\/(drafts|templates)/ },
  { name: '4.5 Users', paths: /\/users$/ },
  { name: '4.6 Calls', paths: /\/calls\// },
  { name: '4.7 Webhook subscriptions', paths: /\/webhooks/ },
  { name: '5.3 OAuth', paths: /\/oauth/ },
  {
    name: 'Files behind signed links',
    description: 'Audio and pictures. The signed link is the credential.',
    paths: /^\/(recordings|media)\//,
  },
  {
    name: 'Control of the sandbox',
    description: 'Not part of the service: causes events, and sets what an owner or operator would.',
    paths: /^\/_sandbox\//,
  },
];

const about = `The telephony account API, as this sandbox implements it. Every request is validated with the schemas shown here.

Every request carries \`Authorization: Bearer …\`. Every success is wrapped as \`{ "data": … }\`, every failure as
\`{ "error": { "type", "message" } }\`: branch on \`type\`. Answers may gain keys at any time; ignore those you do not know.`;

/** Serves /openapi.json and /docs. Register it before the routes that it describes. */
export async function serveOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Messaging, call history and webhook subscriptions', version: '1', description: about },
      servers: [{ url: '/', description: 'This sandbox' }],
      tags: tags.map(({ paths: _, ...tag }) => tag),
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: `An API key, or an OAuth token that acts for one user. Scopes: ${scopes.join(', ')}.`,
          },
        },
      },
    },
    transform: ({ schema = {}, url, ...route }) => {
      const tagged = tags.filter(({ paths }) => paths.test(url)).map(({ name }) => name);
      return describeRoute({ ...route, url, schema: { ...schema, tags: tagged } });
    },
    transformObject: (document) => complete(describeSchemas(document)),
  });
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    // Swagger UI sets inline styles; it loads nothing from other hosts.
    transformStaticCSP: (policy) => policy.replace(/style-src [^;]*/, "style-src 'self' 'unsafe-inline'"),
    uiConfig: { docExpansion: 'list', persistAuthorization: true, tryItOutEnabled: true },
    theme: { title: 'The service · Trunkline sandbox' },
  });
}

/** How schemas are shown: queries by what their text means, integers without the bounds of JavaScript. */
const zodToJsonConfig: NonNullable<Parameters<typeof createJsonSchemaTransform>[0]['zodToJsonConfig']> = {
  override: ({ zodSchema, jsonSchema }) => {
    const { def } = zodSchema._zod;
    // Answers may gain keys (section 9).
    if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    if (jsonSchema.pattern === '^\\d{1,15}$') {
      delete jsonSchema.pattern;
      Object.assign(jsonSchema, { type: 'integer', minimum: 0 });
    }
    if (jsonSchema.enum?.join() === 'true,false') {
      delete jsonSchema.enum;
      jsonSchema.type = 'boolean';
    }
    if (jsonSchema.type === 'boolean' && jsonSchema.default === 'false') jsonSchema.default = false;
  },
};
const describeRoute = createJsonSchemaTransform({ zodToJsonConfig });
const describeSchemas = createJsonSchemaTransformObject({ zodToJsonConfig });

/** The parts of an operation that are rewritten here. */
interface Operation {
  requestBody?: { required?: boolean; content: Record<string, { schema: { required?: string[] } }> };
  responses: Record<string, { description: string; content?: unknown }>;
}

interface Document {
  paths?: Record<string, unknown> | undefined;
  components?: { schemas?: Record<string, unknown> } | undefined;
}

/** Descriptions of the statuses, after section 7. */
const meanings: Record<string, string> = {
  200: 'Success.',
  201: 'Created.',
  204: 'Success; the body is empty.',
  400: 'A field is missing, malformed or unknown, or a limit is exceeded.',
  401: 'The credential is missing, invalid, revoked or expired; `WWW-Authenticate` names the scope.',
  403: 'The credential lacks the scope (`insufficient_scope`) or the permission (`permission_denied`).',
  404: 'It does not exist on this account.',
  422: 'No rate applies to a destination; nothing was sent.',
  500: 'The service failed.',
};

/** The same for a send (section 7). */
const sendMeanings: Record<string, string> = {
  200: 'Every recipient was skipped; nothing was charged.',
  201: 'Sent and charged.',
};

const isSend = (path: string) => path.endsWith('/sms/messages');

/**
 * Adds the required scope and the errors of section 7 to the documentation of each route that needs a credential. Every
 * endpoint can answer 401, 403 and 500 (section 4); the other statuses follow from its input.
 */
export function documentCommon(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { scope, permission } = route.config ?? {};
    if (scope === undefined) return;
    const notes = [`Scope \`${scope}\`.`, ...(permission === undefined ? [] : [`Portal permission: ${permission}.`])];
    const { response, description = '', ...schema } = route.schema ?? {};
    const takesInput = [schema.body, schema.params, schema.querystring].some((input) => input !== undefined);
    // Entities with an id and blocks can be missing. Conversations and drafts have keys that the client chooses.
    const mayBeMissing = /:(id|callid)\b|\/blocked\/:number/.test(route.url);
    const statuses = [takesInput && 400, 401, 403, mayBeMissing && 404, isSend(route.url) && 422, 500];
    const errors = statuses.filter((status) => status !== false).map((status) => [status, errorBody] as const);
    route.schema = {
      ...schema,
      description: [description, ...notes].filter(Boolean).join(' '),
      security: [{ bearer: [scope] }],
      response: { ...(response as object), ...Object.fromEntries(errors) },
    };
  });
}

/** Completes the generated document: a description for every status, and one schema for each entity. */
function complete<Given extends Document>(document: Given): Given {
  for (const [path, methods] of Object.entries(document.paths ?? {})) {
    for (const operation of Object.values(methods as Record<string, Operation>)) completeOperation(operation, path);
  }
  const schemas = Object.entries(document.components?.schemas ?? {}).filter(([name]) => !name.endsWith('Input'));
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas) } };
}

function completeOperation({ requestBody, responses }: Operation, path: string): void {
  if (requestBody !== undefined) {
    requestBody.required = Object.values(requestBody.content).some(({ schema }) => schema.required !== undefined);
  }
  for (const [status, response] of Object.entries(responses)) {
    const meaning = (isSend(path) ? sendMeanings[status] : undefined) ?? meanings[status] ?? '';
    if (response.description === 'Default Response') response.description = meaning;
    if (status === '204') delete response.content;
  }
  // For a route without a response schema the generator assumes 200; the real status is unknown.
  if (responses[200] === undefined || responses[200].content !== undefined) return;
  responses['2XX'] = responses[200];
  delete responses[200];
}
