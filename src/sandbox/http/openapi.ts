import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { scopes } from '../entities/access.ts';

/** Section of the specification → what it is about; the tags of the document. */
const sections = {
  '4.1': 'Lines and sending',
  '4.2': 'Conversations',
  '4.3': 'Blocking and unread',
  '4.4': 'Drafts and saved replies',
  '4.5': 'Users',
  '4.6': 'Calls',
  '4.7': 'Webhook subscriptions',
} as const;

/** The tag of a section, for the routes that stand in it. */
export function tag(section: keyof typeof sections): string[] {
  return [`${section} ${sections[section]}`];
}

/** Serves /openapi.json and a page to browse it at /docs; register it before the routes that it is to describe. */
export async function serveOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Messaging, call history and webhook subscriptions',
        version: '1',
        description: 'The service as the sandbox implements it. Its schemas validate every request.',
      },
      tags: Object.entries(sections).map(([section, about]) => ({ name: `${section} ${about}` })),
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: `An API key, or an OAuth token with the scope: ${scopes.join(', ')}.`,
          },
        },
      },
    },
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  });
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  await app.register(swaggerUi, { routePrefix: '/docs' });
}
