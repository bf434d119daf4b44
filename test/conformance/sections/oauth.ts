import { expect } from 'vitest';
import {
  createProgram,
  discover,
  open,
  type Program,
  postJson,
  redirectUri,
  register,
  sentBack,
  state,
} from '../../sandbox/client/login.ts';
import { type Case, cases } from '../case.ts';
import { ask, baseUrl, filled, scopes, told, userId } from '../service.ts';

const wanted = ['users:read', 'sms:read'];
const program = () => createProgram(baseUrl, wanted);

const afterApproval = (looks: Record<string, (program: Program, code: string) => Promise<void>>) =>
  Object.entries(looks).flatMap(([name, look]) =>
    cases('5.3 control', {
      async [name]() {
        const one = await program();
        await look(one, await one.approve(await userId()));
      },
    }),
  );

/** Section 5.3: the authorization code flow, as an unknown program goes through it. */
export const oauth: readonly Case[] = [
  ...cases('5.3 read', {
    async 'discovery names the three addresses outside the prefix and the scopes'() {
      const metadata = await discover(baseUrl);
      for (const name of ['authorization_endpoint', 'token_endpoint', 'registration_endpoint']) {
        expect(metadata[name]).toMatch(/^https?:\/\//);
        expect(metadata[name]).not.toContain('/api/public/v1');
      }
      expect(metadata.scopes_supported).toEqual(expect.arrayContaining(scopes));
    },
  }),
  ...cases('5.3 control', {
    async 'a client registers with its name and redirect addresses and gets an id'() {
      const { status, body } = await register(baseUrl);
      expect(status).toBeLessThan(300);
      expect(body).toMatchObject({ client_id: filled, redirect_uris: [redirectUri] });
    },
    async 'redirect addresses without TLS, on other hosts, or missing are refused'() {
      const uris = [['http://app.example.com/callback'], ['https://elsewhere.example.net/'], [], undefined];
      for (const redirect_uris of uris) expect((await register(baseUrl, { redirect_uris })).status).toBe(400);
    },
    async 'an address that is not registered to the letter is never redirected to'() {
      const { address } = await program();
      for (const redirect_uri of [`${redirectUri}/`, `${redirectUri}?a=b`, 'https://example.com/', null]) {
        const { status, headers } = await open(address({ redirect_uri }));
        expect([status, headers.get('location')]).toEqual([400, null]);
      }
    },
    async 'a request without PKCE, or with another method than S256, is refused'() {
      const { address } = await program();
      for (const changes of [
        { code_challenge: null, code_challenge_method: null },
        { code_challenge_method: 'plain' },
        { code_challenge_method: null },
        { code_challenge: null },
      ]) {
        const answer = await open(address(changes));
        if (!answer.headers.has('location')) expect(answer.status).toBe(400);
        else expect(sentBack(answer).searchParams.get('error')).toBe('invalid_request');
      }
    },
    async 'an approval leads back with a code and the state, a denial with access_denied and the state'() {
      const { decide } = await program();
      const back = sentBack(await decide('allow', await userId()));
      expect(back.href.startsWith(`${redirectUri}?`)).toBe(true);
      expect(Object.fromEntries(back.searchParams)).toMatchObject({ code: filled, state });
      const denied = Object.fromEntries(sentBack(await decide('deny', await userId())).searchParams);
      expect(denied).toMatchObject({ error: 'access_denied', state });
      expect(denied).not.toHaveProperty('code');
    },
  }),
  ...afterApproval({
    async 'a code gets a bearer token of about an hour that has the granted scopes and no others'({ redeem }, code) {
      const { status, body } = await redeem(code);
      expect(status).toBe(200);
      expect(body).toMatchObject({ token_type: 'Bearer', refresh_token: filled });
      expect(Math.abs(Number(body.expires_in) - 3_600)).toBeLessThan(120);
      expect(body.scope.split(' ').sort()).toEqual(wanted.toSorted());
      await told('listUsers', {}, body.access_token);
      expect((await ask('listWebhooks', {}, body.access_token)).outcome).toBe('403 insufficient_scope webhooks:read');
    },
    async 'a code is good once'({ redeem }, code) {
      expect((await redeem(code)).status).toBe(200);
      expect((await redeem(code)).status).toBe(400);
      expect((await redeem('no-such-code')).status).toBe(400);
    },
    async 'a verifier that does not match the challenge is refused'({ redeem }, code) {
      expect((await redeem(code, { code_verifier: 'x'.repeat(43) })).status).toBe(400);
    },
    async 'another redirect address than that of the approval is refused'({ redeem }, code) {
      expect((await redeem(code, { redirect_uri: 'https://example.com/' })).status).toBe(400);
    },
    async 'the token endpoint takes a form and no JSON'({ endpoints, exchange, verifier }, code) {
      const body = { ...exchange, code, code_verifier: verifier };
      const { status } = await postJson(endpoints.token_endpoint ?? '', body);
      expect(Math.floor(status / 100)).toBe(4);
    },
    async 'a refresh brings new tokens, and the refresh token that was used fails from then on'(
      { redeem, refresh },
      code,
    ) {
      const first = (await redeem(code)).body;
      const second = await refresh(first.refresh_token);
      expect(second.status).toBe(200);
      expect(second.body.access_token).not.toBe(first.access_token);
      expect(second.body.refresh_token).not.toBe(first.refresh_token);
      await told('listUsers', {}, second.body.access_token);
      expect((await refresh(first.refresh_token)).status).toBe(400);
    },
  }),
];
