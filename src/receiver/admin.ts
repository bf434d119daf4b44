import { timingSafeEqual } from 'node:crypto';
import basicAuth from '@fastify/basic-auth';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/**
 * Lets only `ADMIN_TOKEN` pass to the routes of this scope: as bearer token, or as the password that a browser asks
 * for. Without a token everybody passes; the settings allow that on loopback only.
 */
export function guardPages(app: FastifyInstance, adminToken: string | undefined): void {
  if (adminToken === undefined) return;
  const expected = Buffer.from(adminToken);
  const isExpected = (given: string) => {
    const bytes = Buffer.from(given);
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  };
  app.register(basicAuth, {
    validate: async (_user: string, password: string) => {
      if (!isExpected(password)) throw Object.assign(new Error('unauthorized'), { statusCode: 401 });
    },
    authenticate: { realm: 'Trunkline' },
  });
  app.addHook('onRequest', (request, reply, done) => {
    if (isExpected(bearerOf(request))) return done();
    app.basicAuth(request, reply, done);
  });
}

function bearerOf({ headers }: FastifyRequest): string {
  const [scheme = '', token = ''] = (headers.authorization ?? '').split(' ', 2);
  return scheme.toLowerCase() === 'bearer' ? token : '';
}
