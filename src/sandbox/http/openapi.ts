import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { scopes } from '../account.ts';

/** Sections of the specification; the tags of the document. */
const sections = {
  '4.1': 'Lines and sending',
  '4.2': 'Conversations',
  '4.3': 'Blocking and unread',
  '4.4': 'Drafts and saved replies',
  '4.5': 'Users',
  '4.6': 'Calls',
  '4.7': 'Webhook subscriptions',
  '5.3': 'OAuth',
} as const;

const files = 'Files behind signed links';
const control = 'Control of the sandbox';

const tags = [
  ...Object.entries(sections).map(([section, about]) => ({ name: `${section} ${about}` })),
  { name: files, description: 'Audio and pictures. The signed link is the credential.' },
  { name: control, description: 'Not part of the service: causes events, and sets what an owner or operator would.' },
];

const about = `The telephony account API, as this sandbox implements it. Every request is validated with the schemas shown here.

Every request carries \`Authorization: Bearer …\`. Every success is wrapped as \`{ "data": … }\`, every failure as
\`{ "error": { "type", "message" } }\`: branch on \`type\`. Answers may gain keys at any time; ignore those you do not know.`;

/** The tags of a route of this section. */
export function tag(section: keyof typeof sections): string[] {
  return [`${section} ${sections[section]}`];
}

/** Serves /openapi.json and /docs. Register it before the routes that it describes. */
export async function serveOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Messaging, call history and webhook subscriptions', version: '1', description: about },
      servers: [{ url: '/', description: 'This sandbox' }],
      tags,
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
    transform: (route) => jsonSchemaTransform({ ...route, schema: withTag(route.schema, route.url) }),
    transformObject: (document) => refine(jsonSchemaTransformObject(document)),
  });
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    // Swagger UI sets inline styles; it loads nothing from other hosts.
    transformStaticCSP: (policy) => policy.replace(/style-src [^;]*/, "style-src 'self' 'unsafe-inline'"),
    uiConfig: {
      docExpansion: 'list',
      persistAuthorization: true,
      displayRequestDuration: true,
      defaultModelsExpandDepth: 0,
      tryItOutEnabled: true,
    },
    theme: { title: 'The service · Trunkline sandbox', css: [{ filename: 'sandbox.css', content: css }] },
  });
}

type Schema = Parameters<typeof jsonSchemaTransform>[0]['schema'];

/** Tags the routes that are in no section of the specification. */
function withTag(schema: Schema = {}, url: string): Schema {
  if (url.startsWith('/_sandbox/')) return { tags: [control], ...schema };
  return /^\/(recordings|media)\//.test(url) ? { tags: [files], ...schema } : schema;
}

const css = `
  .swagger-ui .topbar { display: none }
  .swagger-ui .info { margin: 28px 0 20px }
  .swagger-ui .info .title small { vertical-align: middle }
  .swagger-ui .scheme-container { box-shadow: none; padding: 12px 0; border-bottom: 1px solid #d8dce3 }
  .swagger-ui .opblock .opblock-summary-description { text-align: left }
  @media (max-width: 640px) {
    .swagger-ui .wrapper { padding: 0 12px }
    .swagger-ui .opblock .opblock-summary-path { max-width: none; word-break: break-word }
    .swagger-ui .opblock-tag { font-size: 18px }
    .swagger-ui .info .title { font-size: 26px }
  }
`;

type Json = unknown;
type Fields = Record<string, Json>;

/** The parts of an operation that are rewritten here. */
interface Operation {
  parameters?: { schema: Fields }[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Fields }> };
  security?: unknown[];
  responses: Record<string, { description: string; content?: Record<string, { schema: Fields }> }>;
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

/**
 * Rewrites the generated document for people and code generators: one schema per entity, answers that allow further keys
 * (section 9), a description for every status, and the errors of section 7 by status instead of ranges.
 */
export function refine<Given extends Document>(given: Given): Given {
  const document = structuredClone(given);
  for (const [path, methods] of Object.entries(document.paths ?? {})) {
    for (const operation of Object.values(methods as Record<string, Operation>)) refineOperation(operation, path);
  }
  const schemas = { ...document.components?.schemas };
  for (const [name, schema] of Object.entries(schemas)) if (!name.endsWith('Input')) allowFurtherKeys(schema);
  document.components = { ...document.components, schemas };
  pruneSchemas(document, schemas);
  walk(document, (node) => {
    if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
    if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
  });
  return document;
}

function refineOperation(operation: Operation, path: string): void {
  for (const parameter of operation.parameters ?? []) parameter.schema = typedParameter(parameter.schema);
  const isBodyNeeded = bodySchemas(operation).some(({ required }) => Array.isArray(required) && required.length > 0);
  if (operation.requestBody !== undefined) operation.requestBody.required = isBodyNeeded;
  if (operation.security !== undefined) nameErrors(operation, path);
  else operation.responses = withoutAssumedStatus(operation.responses);
  for (const [status, response] of Object.entries(operation.responses)) {
    const meaning = (isSend(path) ? sendMeanings[status] : undefined) ?? meanings[status] ?? meanings[200] ?? '';
    if (response.description === 'Default Response') response.description = meaning;
    if (status === '204') delete response.content;
    describeHtml(response);
    allowFurtherKeys(response);
  }
}

/** Every endpoint can answer 401, 403 and 500 (section 4); the other statuses follow from its input. */
function nameErrors(operation: Operation, path: string): void {
  const { '4XX': error, '5XX': _failure, ...answers } = operation.responses;
  if (error === undefined) return;
  const takesInput = operation.requestBody !== undefined || (operation.parameters ?? []).length > 0;
  const statuses = [
    ...(takesInput ? ['400'] : []),
    '401',
    '403',
    ...(mayBeMissing(path) ? ['404'] : []),
    ...(isSend(path) ? ['422'] : []),
    '500',
  ];
  const errors = statuses.map((status) => [status, { ...error, description: meanings[status] ?? '' }] as const);
  operation.responses = { ...answers, ...Object.fromEntries(errors) };
}

/** The generator describes HTML answers as JSON. */
function describeHtml(response: Operation['responses'][string]): void {
  const answer = response.content?.['application/json'];
  if (answer?.schema.description === 'HTML') response.content = { 'text/html': answer };
}

/** For a route without a response schema the generator assumes 200; the real status is unknown. */
function withoutAssumedStatus({ 200: assumed, ...responses }: Operation['responses']): Operation['responses'] {
  if (assumed === undefined) return responses;
  return { ...responses, [assumed.content === undefined ? '2XX' : '200']: assumed };
}

/** Entities with an id and blocks can be missing. Conversations and drafts have keys that the client chooses. */
function mayBeMissing(path: string): boolean {
  return /\{(id|callid)\}|\/blocked\/\{number\}/.test(path);
}

function isSend(path: string): boolean {
  return path.endsWith('/sms/messages');
}

/** Queries are text to the validator; the document shows them as integers and booleans. */
function typedParameter(schema: Fields): Fields {
  const { description, default: usual } = schema;
  const notes = { ...(description !== undefined && { description }) };
  if (schema.pattern === '^\\d{1,15}$') return { type: 'integer', minimum: 0, ...notes };
  if (!Array.isArray(schema.enum) || schema.enum.some((word) => word !== 'true' && word !== 'false')) return schema;
  return { type: 'boolean', ...notes, ...(usual !== undefined && { default: usual === 'true' }) };
}

function bodySchemas({ requestBody }: Operation): Fields[] {
  return Object.values(requestBody?.content ?? {}).map(({ schema }) => schema);
}

/** Answers may gain keys (section 9). */
function allowFurtherKeys(schema: unknown): void {
  walk(schema, (node) => {
    if (node.additionalProperties === false) delete node.additionalProperties;
  });
}

/** Removes unreferenced schemas, and the suffix `Input` where only requests use a schema. */
function pruneSchemas(document: Document, schemas: Record<string, unknown>): void {
  for (let hasChanged = true; hasChanged; ) {
    const referenced = new Set<string>();
    walk(document, ({ $ref }) => typeof $ref === 'string' && referenced.add($ref.slice(prefix.length)));
    const unused = Object.keys(schemas).filter((name) => !referenced.has(name));
    for (const name of unused) delete schemas[name];
    hasChanged = unused.length > 0;
  }
  for (const name of Object.keys(schemas)) {
    const plain = name.replace(/Input$/, '');
    if (plain === name || schemas[plain] !== undefined) continue;
    schemas[plain] = schemas[name];
    delete schemas[name];
    walk(document, (node) => {
      if (node.$ref === prefix + name) node.$ref = prefix + plain;
    });
  }
}

const prefix = '#/components/schemas/';

function walk(value: unknown, visit: (node: Fields) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) visit(value as Fields);
  for (const inner of Object.values(value)) walk(inner, visit);
}
