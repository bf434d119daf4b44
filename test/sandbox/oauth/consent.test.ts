import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { authorizationUrl, decide, open, register, ticketOf } from './login.ts';

let sandbox: Sandbox;
let clientId: string;
let late = 0;
beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0, now: () => new Date(Date.now() + late) });
  clientId = (await register(sandbox.url, { client_name: 'Mirror <b>&"co"' })).body.client_id;
});
afterAll(() => sandbox.close());

test('the page names the program, its address, the users with portal access and what is asked for', async () => {
  const { status, headers, body } = await open(authorizationUrl(sandbox.url, clientId));
  expect(status).toBe(200);
  expect(headers.get('content-type')).toContain('text/html');
  expect(body).toContain('<b>Mirror &#60;b&#62;&#38;&#34;co&#34;</b> asks to act for you');
  expect(body).toContain('app.example.com');
  expect(body).toContain('Karen Whitfield, Billing manager');
  expect(body).not.toContain('Owen Bell');
  expect([...body.matchAll(/name="scope" value="([^"]+)" checked/g)].map(([, scope]) => scope)).toEqual([
    'users:read',
    'sms:read',
  ]);
});

test('the page loads nothing, runs nothing, cannot be framed, and its form leads to the program alone', async () => {
  const { headers, body } = await open(authorizationUrl(sandbox.url, clientId));
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toMatch(/^default-src 'none'; form-action 'self' https:\/\/app\.example\.com;/);
  expect(policy).toContain("frame-ancestors 'none'");
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(body).not.toMatch(/<script|\son\w+=|style="/);
});

test.each(['allow', 'deny'])('a form is answered once: after %s it leads nowhere', async (decision) => {
  const address = authorizationUrl(sandbox.url, clientId);
  const form = { ticket: ticketOf((await open(address)).body), user: '4100', scope: 'sms:read', decision };
  await decide(address, form);
  const { status, headers, body } = await decide(address, { ...form, decision: 'allow' });
  expect({ status, location: headers.get('location') }).toEqual({ status: 400, location: null });
  expect(body).toContain('answered already');
});

test('a form that is too old, or that nobody was shown, leads nowhere', async () => {
  const address = authorizationUrl(sandbox.url, clientId);
  const ticket = ticketOf((await open(address)).body);
  late += 600_001;
  for (const each of [ticket, 'made-up']) {
    const form = { ticket: each, user: '4100', scope: 'sms:read', decision: 'allow' };
    expect((await decide(address, form)).status).toBe(400);
  }
  expect((await decide(address, { decision: 'allow' })).body).toContain('is invalid');
});
