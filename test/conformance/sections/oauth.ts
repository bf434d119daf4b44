import { expect } from 'vitest';
import type { Case } from '../case.ts';
import { createOAuthClient, discover, type OAuthClient, redirectUri, register, state } from '../harness/oauth.ts';
import { type CaseContext, scopes } from '../harness/suite.ts';

const wanted = ['users:read', 'sms:read'] as const;

async function loggedIn(context: CaseContext) {
  const client = await createOAuthClient(context.baseUrl, wanted);
  const back = await client.decide(await client.authorize(), 'allow', await context.userId());
  return { client, back, code: back.searchParams.get('code') ?? '' };
}

type Look = (context: CaseContext, client: OAuthClient, code: string) => Promise<void>;

function afterApproval(name: string, section: string, look: Look): Case {
  return {
    name,
    section,
    operations: ['getTokens'],
    needs: 'control',
    only: 'bare',
    async run(context) {
      const { client, code } = await loggedIn(context);
      await look(context, client, code);
    },
  };
}

async function registered(context: CaseContext, uris: unknown): Promise<number> {
  const { registration_endpoint } = await discover(context.baseUrl);
  return (await register(registration_endpoint ?? '', { client_name: 'Conformance', redirect_uris: uris })).status;
}

/** Section 5.3: the authorization code flow, as an unknown program goes through it. */
export const oauth: readonly Case[] = [
  {
    name: 'discovery names the three addresses outside the prefix and the scopes',
    section: '5.3',
    operations: ['discoverOAuth'],
    needs: 'read',
    only: 'bare',
    async run(context) {
      const metadata = await discover(context.baseUrl);
      for (const name of ['authorization_endpoint', 'token_endpoint', 'registration_endpoint']) {
        expect(metadata[name]).toMatch(/^https?:\/\//);
        expect(metadata[name]).not.toContain('/api/public/v1');
      }
      expect(metadata.scopes_supported).toEqual(expect.arrayContaining(scopes));
    },
  },
  {
    name: 'a client registers with its name and redirect addresses and gets an id',
    section: '5.3',
    operations: ['registerClient'],
    needs: 'control',
    only: 'bare',
    async run(context) {
      const { registration_endpoint } = await discover(context.baseUrl);
      const asked = { client_name: 'Conformance', redirect_uris: [redirectUri] };
      const { status, body } = await register(registration_endpoint ?? '', asked);
      expect(status).toBeLessThan(300);
      expect(body).toMatchObject({ client_id: expect.stringMatching(/./), redirect_uris: [redirectUri] });
    },
  },
  {
    name: 'redirect addresses without TLS, on other hosts, or missing are refused',
    section: '5.3',
    operations: ['registerClient'],
    needs: 'control',
    only: 'bare',
    async run(context) {
      for (const uris of [['http://app.example.com/callback'], ['https://elsewhere.example.net/'], [], undefined]) {
        expect(await registered(context, uris)).toBe(400);
      }
    },
  },
  {
    name: 'an address that is not registered to the letter is never redirected to',
    section: '5.3',
    operations: ['authorize'],
    needs: 'control',
    only: 'bare',
    async run(context) {
      const client = await createOAuthClient(context.baseUrl, wanted);
      for (const redirect_uri of [`${redirectUri}/`, `${redirectUri}?a=b`, 'https://example.com/', null]) {
        const { status, headers } = await client.authorize({ redirect_uri });
        expect([status, headers.get('location')]).toEqual([400, null]);
      }
    },
  },
  {
    name: 'a request without PKCE, or with another method than S256, is refused',
    section: '5.3',
    operations: ['authorize'],
    needs: 'control',
    only: 'bare',
    async run(context) {
      const client = await createOAuthClient(context.baseUrl, wanted);
      for (const changes of [
        { code_challenge: null, code_challenge_method: null },
        { code_challenge_method: 'plain' },
        { code_challenge_method: null },
        { code_challenge: null },
      ]) {
        const { status, headers } = await client.authorize(changes);
        const location = headers.get('location');
        if (location === null) expect(status).toBe(400);
        else expect(new URL(location).searchParams.get('error')).toBe('invalid_request');
      }
    },
  },
  {
    name: 'an approval leads back with a code and the state, a denial with access_denied and the state',
    section: '5.3',
    operations: ['authorize'],
    needs: 'control',
    only: 'bare',
    async run(context) {
      const { back, client } = await loggedIn(context);
      expect(back.href.startsWith(`${redirectUri}?`)).toBe(true);
      expect([back.searchParams.get('code'), back.searchParams.get('state')]).toEqual([
        expect.stringMatching(/./),
        state,
      ]);
      const denied = await client.decide(await client.authorize(), 'deny', await context.userId());
      const { searchParams } = denied;
      expect([searchParams.get('error'), searchParams.get('state')]).toEqual(['access_denied', state]);
      expect(searchParams.has('code')).toBe(false);
    },
  },
  afterApproval(
    'a code gets a bearer token of about an hour that has the granted scopes and no others',
    '5.3',
    async (context, client, code) => {
      const { status, body } = await client.exchange(code);
      expect(status).toBe(200);
      expect(body).toMatchObject({ token_type: 'Bearer', refresh_token: expect.stringMatching(/./) });
      expect(Math.abs(Number(body.expires_in) - 3_600)).toBeLessThan(120);
      expect(String(body.scope).split(' ').sort()).toEqual([...wanted].sort());
      const token = String(body.access_token);
      expect((await context.ask('listUsers', {}, token)).status).toBe(200);
      expect(await context.ask('listWebhooks', {}, token)).toMatchObject({ status: 403, scope: 'webhooks:read' });
    },
  ),
  afterApproval('a code is good once', '5.3', async (_context, client, code) => {
    expect((await client.exchange(code)).status).toBe(200);
    expect((await client.exchange(code)).status).toBe(400);
    expect((await client.exchange('no-such-code')).status).toBe(400);
  }),
  afterApproval('a verifier that does not match the challenge is refused', '5.3', async (_context, client, code) => {
    expect((await client.exchange(code, { code_verifier: 'x'.repeat(43) })).status).toBe(400);
  }),
  afterApproval(
    'another redirect address than that of the approval is refused',
    '5.3',
    async (_context, client, code) => {
      expect((await client.exchange(code, { redirect_uri: 'https://example.com/' })).status).toBe(400);
    },
  ),
  afterApproval('the token endpoint takes a form and no JSON', '5.3', async (_context, client, code) => {
    const body = { grant_type: 'authorization_code', code, code_verifier: client.verifier, client_id: client.clientId };
    const response = await fetch(client.metadata.token_endpoint ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, redirect_uri: redirectUri }),
    });
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(response.status).toBeLessThan(500);
  }),
  afterApproval(
    'a refresh brings new tokens, and the refresh token that was used fails from then on',
    '5.3',
    async (context, client, code) => {
      const first = (await client.exchange(code)).body;
      const again = {
        grant_type: 'refresh_token',
        refresh_token: String(first.refresh_token),
        client_id: client.clientId,
      };
      const second = await client.tokens(again);
      expect(second.status).toBe(200);
      expect(second.body.access_token).not.toBe(first.access_token);
      expect(second.body.refresh_token).not.toBe(first.refresh_token);
      expect((await context.ask('listUsers', {}, String(second.body.access_token))).status).toBe(200);
      expect((await client.tokens(again)).status).toBe(400);
    },
  ),
];
