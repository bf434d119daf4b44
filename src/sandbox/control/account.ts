import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Role, roleSchema, scopes, settingsSchema } from '../account.ts';
import type { Context } from '../context.ts';
import { type Api, dataOf, idPath, noContent } from '../http/api.ts';
import { invalidRequest, notFound } from '../http/errors.ts';
import { expireAccessTokens, issueTokens, revokeGrant, tokenAnswer } from '../oauth/tokens.ts';
import { settingsOf } from '../store/store.ts';

/** GET and PATCH /_sandbox/account, GET and PUT /_sandbox/users/{id}/role: settings of the owner and operator. */
export function accountRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  function requireUserId(id: number): number {
    if (store.users.get(id) === undefined) throw notFound(`the user ${id}`);
    return id;
  }

  api.get('/account', {
    schema: { summary: 'Settings of the owner and operator', response: { 200: dataOf(settingsSchema) } },
    handler: () => ({ data: settingsOf(store) }),
  });

  api.patch('/account', {
    schema: {
      summary: 'Change some settings',
      body: settingsSchema.partial(),
      response: { 200: dataOf(settingsSchema) },
    },
    handler: ({ body }) => {
      const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
      return { data: store.settings.put({ ...settingsOf(store), ...given }) };
    },
  });

  api.get('/users/:id/role', {
    schema: {
      summary: 'Portal role of a user; null without portal access',
      params: idPath,
      response: { 200: dataOf(roleSchema.nullable()) },
    },
    handler: ({ params }) => {
      const held = store.roles.get(requireUserId(params.id));
      return { data: held === undefined ? null : withoutUserId(held) };
    },
  });

  api.put('/users/:id/role', {
    schema: {
      summary: 'Change the portal role of a user',
      params: idPath,
      body: roleSchema,
      response: { 200: dataOf(roleSchema) },
    },
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

function withoutUserId({ userId: _, ...rest }: Role): z.output<typeof roleSchema> {
  return rest;
}

const scopeList = z.array(z.enum(scopes));
const keyBody = z.strictObject({
  name: z.string().min(1),
  scopes: scopeList.default([...scopes]),
  key: z
    .string()
    .regex(/^[\w.~+/=-]{8,200}$/, 'must be 8 to 200 characters that fit an Authorization header')
    .optional()
    .describe('The key itself; by default a random one.'),
});
const keyChange = z.strictObject({ scopes: scopeList });
const keyPath = z.object({ name: z.string() });
const keyAnswer = dataOf(z.object({ key: z.string(), name: z.string(), scopes: scopeList }));

const tokenBody = z.strictObject({
  userId: z.int().describe('A user with portal access.'),
  scopes: scopeList.default([...scopes]),
  expiresInSeconds: z.int().min(0).max(31_536_000).default(3600),
  clientId: z.string().optional().describe('A registered client; by default the sandbox itself.'),
});
const issuedTokens = dataOf(tokenAnswer.extend({ client_id: z.string().describe('Required for a refresh.') }));

const ownClient = { clientId: 'sandbox', name: 'the sandbox', redirectUris: [] };

/** API keys and tokens without a login: /_sandbox/keys, /_sandbox/tokens and DELETE /_sandbox/grants. */
export function credentialRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  api.post('/keys', {
    schema: { summary: 'Create an API key', body: keyBody, response: { 201: keyAnswer } },
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
    schema: {
      summary: 'Change the scopes of an API key',
      params: keyPath,
      body: keyChange,
      response: { 200: keyAnswer },
    },
    handler: ({ params, body }) => {
      const key = store.keys.values().find(({ name }) => name === params.name);
      if (key === undefined) throw notFound(`the key ${JSON.stringify(params.name)}`);
      return { data: store.keys.put({ ...key, scopes: body.scopes }) };
    },
  });

  api.delete('/keys/:name', {
    schema: { summary: 'Revoke an API key', params: keyPath, response: { 204: noContent } },
    handler: ({ params }, reply) => {
      for (const { key, name } of store.keys.values()) if (name === params.name) store.keys.delete(key);
      reply.code(204).send();
    },
  });

  api.post('/tokens', {
    schema: { summary: 'Issue tokens for a user', body: tokenBody, response: { 201: issuedTokens } },
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
    schema: { summary: 'Expire every access token; each can be refreshed', response: { 204: noContent } },
    handler: (_request, reply) => {
      expireAccessTokens(store);
      reply.code(204).send();
    },
  });

  api.delete('/grants', {
    schema: { summary: 'Revoke every token, as users do in their portal', response: { 204: noContent } },
    handler: (_request, reply) => {
      for (const { code } of store.codes.values()) store.codes.delete(code);
      for (const { grantId } of store.refreshTokens.values()) revokeGrant(store, grantId);
      reply.code(204).send();
    },
  });
}
