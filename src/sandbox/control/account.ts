import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Role, roleSchema, scopes, settingsSchema } from '../account.ts';
import type { Context } from '../context.ts';
import { type Api, idPath } from '../http/api.ts';
import { invalidRequest, notFound } from '../http/errors.ts';
import { expireAccessTokens, issueTokens, revokeGrant } from '../oauth/tokens.ts';
import { settingsOf } from '../store/store.ts';

/** GET and PATCH /_sandbox/account, GET and PUT /_sandbox/users/{id}/role: settings of the owner and operator. */
export function accountRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  function requireUserId(id: number): number {
    if (store.users.get(id) === undefined) throw notFound(`the user ${id}`);
    return id;
  }

  api.get('/account', {
    handler: () => ({ data: settingsOf(store) }),
  });

  api.patch('/account', {
    schema: { body: settingsSchema.partial() },
    handler: ({ body }) => {
      const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
      return { data: store.settings.put({ ...settingsOf(store), ...given }) };
    },
  });

  api.get('/users/:id/role', {
    schema: { params: idPath },
    handler: ({ params }) => {
      const held = store.roles.get(requireUserId(params.id));
      return { data: held === undefined ? null : withoutUserId(held) };
    },
  });

  api.put('/users/:id/role', {
    schema: { params: idPath, body: roleSchema },
    handler: ({ params, body }) => {
      const userId = requireUserId(params.id);
      if (store.users.get(userId)?.username === '') throw invalidRequest(`the user ${userId} has no portal access`);
      const visible = Array.isArray(body.users) ? body.users : [];
      const unknown = visible.find((id) => store.users.get(id) === undefined);
      if (unknown !== undefined) throw invalidRequest(`users: ${unknown} is not a user of the account`);
      return { data: withoutUserId(store.roles.put({ userId, ...body })) };
    },
  });
}

function withoutUserId({ userId: _, ...rest }: Role): Omit<Role, 'userId'> {
  return rest;
}

const scopeList = z.array(z.enum(scopes));
const keyBody = z.strictObject({
  name: z.string().min(1),
  scopes: scopeList.default([...scopes]),
  key: z
    .string()
    .regex(/^[\w.~+/=-]{8,200}$/, 'must be 8 to 200 characters that fit an Authorization header')
    .optional(),
});
const keyChange = z.strictObject({ scopes: scopeList });
const keyPath = z.object({ name: z.string() });

const tokenBody = z.strictObject({
  userId: z.int(),
  scopes: scopeList.default([...scopes]),
  expiresInSeconds: z.int().min(0).max(31_536_000).default(3600),
  clientId: z.string().optional(),
});

const ownClient = { clientId: 'sandbox', name: 'the sandbox', redirectUris: [] };

/** API keys and tokens without a login: /_sandbox/keys, /_sandbox/tokens and DELETE /_sandbox/grants. */
export function credentialRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  api.post('/keys', {
    schema: { body: keyBody },
    handler: ({ body }, reply) => {
      const { name, scopes: granted, key = randomBytes(18).toString('base64url') } = body;
      if (store.keys.values().some((other) => other.name === name)) {
        throw invalidRequest(`name: the key ${JSON.stringify(name)} exists already`);
      }
      reply.code(201);
      return { data: store.keys.put({ key, name, scopes: granted }) };
    },
  });

  api.patch('/keys/:name', {
    schema: { params: keyPath, body: keyChange },
    handler: ({ params, body }) => {
      const key = store.keys.values().find(({ name }) => name === params.name);
      if (key === undefined) throw notFound(`the key ${JSON.stringify(params.name)}`);
      return { data: store.keys.put({ ...key, scopes: body.scopes }) };
    },
  });

  api.delete('/keys/:name', {
    schema: { params: keyPath },
    handler: ({ params }, reply) => {
      for (const { key, name } of store.keys.values()) if (name === params.name) store.keys.delete(key);
      reply.code(204).send();
    },
  });

  api.post('/tokens', {
    schema: { body: tokenBody },
    handler: ({ body }, reply) => {
      const { userId, scopes: granted, expiresInSeconds, clientId = ownClient.clientId } = body;
      if (store.roles.get(userId) === undefined) throw invalidRequest(`userId: ${userId} has no portal access`);
      if (store.clients.get(clientId) === undefined) {
        if (clientId !== ownClient.clientId) throw invalidRequest('clientId: no such client is registered');
        store.clients.put({ ...ownClient, createdAt: now().getTime() });
      }
      const grant = { grantId: randomUUID(), clientId, userId, scopes: granted };
      reply.code(201).header('cache-control', 'no-store');
      return { data: { ...issueTokens(store, grant, expiresInSeconds, now().getTime()), client_id: clientId } };
    },
  });

  api.delete('/tokens', {
    handler: (_request, reply) => {
      expireAccessTokens(store);
      reply.code(204).send();
    },
  });

  api.delete('/grants', {
    handler: (_request, reply) => {
      for (const { code } of store.codes.values()) store.codes.delete(code);
      for (const { grantId } of store.refreshTokens.values()) revokeGrant(store, grantId);
      reply.code(204).send();
    },
  });
}
