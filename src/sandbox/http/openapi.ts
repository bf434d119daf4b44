import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { scopes } from '../entities/access.ts';
import { refine } from './document.ts';

/** Section of the specification → what it is about; the tags of the document. */
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
  { name: files, description: 'Audio and pictures. The link is the secret: no credential is asked for.' },
  { name: control, description: 'Not part of the service: makes things happen, sets what an owner or operator would.' },
];

const about = `The telephony account API, as this sandbox implements it. The schemas that are shown here validate every request.

Every request carries \`Authorization: Bearer …\`. Every success is wrapped as \`{ "data": … }\`, every failure as
\`{ "error": { "type", "message" } }\`: branch on \`type\`. Answers may gain keys at any time; ignore those you do not know.`;

/** What a route that has no description of its own is called. */
const plainSummaries: Record<string, string> = {
  '/recordings/:file': 'Audio of a recorded leg',
  '/media/:file': 'A picture of a message',
  '/_sandbox/events/sms': 'Let a text arrive or go out',
  '/_sandbox/events/call': 'Let a call end',
  '/_sandbox/events/transcript': 'Let a transcript be finished',
  '/_sandbox/requests': 'Requests that were answered, oldest first',
  '/_sandbox/sends': 'Sends that were answered, and what each was charged',
  '/_sandbox/deliveries': 'Deliveries to webhooks',
  '/_sandbox/state': 'How much there is of everything',
  '/_sandbox/reset': 'Back to the seeded state',
};

/** The tag of a section, for the routes that stand in it. */
export function tag(section: keyof typeof sections): string[] {
  return [`${section} ${sections[section]}`];
}

/** Serves /openapi.json and a page to browse it at /docs; register it before the routes that it is to describe. */
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
    transform: (route) => jsonSchemaTransform({ ...route, schema: place(route.schema, route.url) }),
    transformObject: (document) => refine(jsonSchemaTransformObject(document)),
  });
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    // The page sets widths of its own; it loads nothing from elsewhere.
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

/** Gives routes outside the sections of the specification the tag and the name that they stand under. */
function place(schema: Schema | undefined, url: string): Schema {
  const own = url.startsWith('/_sandbox/') ? control : /^\/(recordings|media)\//.test(url) ? files : undefined;
  if (own === undefined) return schema ?? {};
  const summary = plainSummaries[url];
  return { tags: [own], ...(summary !== undefined && { summary }), ...schema };
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
