import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Context } from '../../context.ts';
import { scopes } from '../../entities/access.ts';
import type { Api } from '../../http/api.ts';
import { invalidRequest, notFound } from '../../http/errors.ts';
import { dataOf, nothing } from '../../http/fields.ts';
import { expireAccessTokens, issueTokens, revokeGrant } from '../../oauth/tokens.ts';

const scopeList = z.array(z.enum(scopes));
const keyBody = z.strictObject({
  name: z.string().min(1),
  scopes: scopeList.default([...scopes]),
  key: z
    .string()
    .regex(/^[\w.~+/=-]{8,200}$/, 'must be 8 to 200 characters that fit an Authorization header')
    .optional()
    .describe('The key itself; without it one is drawn.'),
});
const keyChange = z.strictObject({ scopes: scopeList });
const keyPath = z.object({ name: z.string() });
const keyAnswer = dataOf(z.object({ key: z.string(), name: z.string(), scopes: scopeList }));

const tokenBody = z.strictObject({
  userId: z.int().describe('A user with portal access.'),
  scopes: scopeList.default([...scopes]),
  expiresInSeconds: z.int().min(0).max(31_536_000).default(3600),
  clientId: z.string().optional().describe('A registered client; without it one of the sandbox itself.'),
});
const tokenAnswer = dataOf(
  z.object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int(),
    refresh_token: z.string(),
    scope: z.string(),
    client_id: z.string().describe('What a refresh has to name.'),
  }),
);

const ownClient = { clientId: 'sandbox', name: 'the sandbox', redirectUris: [] };

/** API keys and users' tokens without the ceremony: POST, PATCH, DELETE /_sandbox/keys; POST, DELETE /_sandbox/tokens. */
export function credentialRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  api.post(
    '/keys',
    { schema: { summary: 'Make an API key', body: keyBody, response: { 201: keyAnswer } } },
    ({ body }, reply) => {
      const { name, scopes: granted, key = randomBytes(18).toString('base64url') } = body;
      if (store.keys.values().some((other) => other.name === name)) {
        throw invalidRequest(`name: there is a key ${JSON.stringify(name)} already`);
      }
      reply.code(201);
      return { data: store.keys.put({ key, name, scopes: granted }) };
    },
  );

  api.patch(
    '/keys/:name',
    {
      schema: {
        summary: 'Give an API key other scopes',
        params: keyPath,
        body: keyChange,
        response: { 200: keyAnswer },
      },
    },
    ({ params, body }) => {
      const key = store.keys.values().find(({ name }) => name === params.name);
      if (key === undefined) throw notFound(`the key ${JSON.stringify(params.name)}`);
      return { data: store.keys.put({ ...key, scopes: body.scopes }) };
    },
  );

  api.delete(
    '/keys/:name',
    { schema: { summary: 'Revoke an API key', params: keyPath, response: { 204: nothing } } },
    ({ params }, reply) => {
      for (const { key, name } of store.keys.values()) if (name === params.name) store.keys.delete(key);
      reply.code(204).send();
    },
  );

  api.post(
    '/tokens',
    { schema: { summary: 'Give out tokens that act for a user', body: tokenBody, response: { 201: tokenAnswer } } },
    ({ body }, reply) => {
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
  );

  api.delete(
    '/tokens',
    { schema: { summary: 'Expire every access token; each can be refreshed', response: { 204: nothing } } },
    (_request, reply) => {
      expireAccessTokens(store);
      reply.code(204).send();
    },
  );

  api.delete(
    '/grants',
    { schema: { summary: 'Revoke every token, as users do in their portal', response: { 204: nothing } } },
    (_request, reply) => {
      for (const { code } of store.codes.values()) store.codes.delete(code);
      for (const { grantId } of store.refreshTokens.values()) revokeGrant(store, grantId);
      reply.code(204).send();
    },
  );
}
