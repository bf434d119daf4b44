import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Context } from '../../context.ts';
import { scopes } from '../../entities/access.ts';
import { faultSpec } from '../../faults.ts';
import { invalidRequest } from '../../http/errors.ts';
import { validate } from '../../http/validation.ts';

const keyBody = z.strictObject({
  name: z.string().min(1),
  scopes: z.array(z.enum(scopes)).default([...scopes]),
  /** The key itself; without it one is drawn. */
  key: z
    .string()
    .regex(/^[\w.~+/=-]{8,200}$/, 'must be 8 to 200 characters that fit an Authorization header')
    .optional(),
});

/** POST /_sandbox/faults, keys and reset; DELETE /_sandbox/keys/{name} revokes. */
export function settingRoutes(app: FastifyInstance, { faults, store, reset }: Context): void {
  app.get('/faults', () => ({ data: faults.current() }));
  app.post('/faults', ({ body }) => ({ data: faults.set(validate(faultSpec, body ?? {})) }));

  app.post('/keys', ({ body }, reply) => {
    const { name, scopes: granted, key = randomBytes(18).toString('base64url') } = validate(keyBody, body);
    if (store.keys.values().some((other) => other.name === name)) {
      throw invalidRequest(`name: there is a key ${JSON.stringify(name)} already`);
    }
    reply.code(201);
    return { data: store.keys.put({ key, name, scopes: granted }) };
  });

  app.delete<{ Params: { name: string } }>('/keys/:name', ({ params }, reply) => {
    for (const { key, name } of store.keys.values()) if (name === params.name) store.keys.delete(key);
    return reply.code(204).send();
  });

  app.post('/reset', async (_request, reply) => {
    await reset();
    return reply.code(204).send();
  });
}
