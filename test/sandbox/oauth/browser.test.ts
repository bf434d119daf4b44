import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { launchBrowser } from '../../browser.ts';
import { authorizationUrl, redeem, register } from './login.ts';

describe('the consent page in a browser', () => {
  let sandbox: Sandbox;
  let browser: Browser;
  let program: Server;
  let redirectUri: string;
  let clientId: string;

  beforeAll(async () => {
    sandbox = await createSandbox({ calls: 0, threads: 0, plainLoopbackRedirects: true });
    program = createServer((_request, response) => response.end('back at the program'));
    program.listen(0, '127.0.0.1');
    await once(program, 'listening');
    redirectUri = `http://127.0.0.1:${(program.address() as AddressInfo).port}/callback`;
    clientId = (await register(sandbox.url, { client_name: 'Trunkline', redirect_uris: [redirectUri] })).body.client_id;
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    program.closeAllConnections();
    program.close();
    await sandbox.close();
  });

  const everything = 'webhooks:read webhooks:write reports:read users:read sms:read sms:write sms:send recordings:read';
  async function show(width: number): Promise<{ page: Page; said: string[] }> {
    const page = await browser.newPage({ viewport: { width, height: 800 } });
    const said: string[] = [];
    page.on('console', (message) => said.push(message.text()));
    const scope = `${everything} messages:read messages:write`;
    await page.goto(authorizationUrl(sandbox.url, clientId, { redirect_uri: redirectUri, scope }));
    return { page, said };
  }

  test.each([1280, 390])('at %i pixels a user allows a part, and the program gets it', async (width) => {
    const { page, said } = await show(width);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    await page.getByLabel('Sign in as').selectOption({ label: 'Karen Whitfield, Billing manager' });
    await page.getByLabel('Send texts and pictures').uncheck();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(`${redirectUri}?**`);
    const callback = new URL(page.url()).searchParams;
    expect(callback.get('state')).toBe('a state');
    const { body } = await redeem(sandbox.url, clientId, callback.get('code') ?? '', { redirect_uri: redirectUri });
    expect(body.scope).not.toContain('sms:send');
    expect(body.scope.split(' ')).toHaveLength(9);
    expect(said.filter((text) => !text.includes('favicon'))).toEqual([]);
    await page.close();
  });

  test('denying needs no choice of a user, and allowing does', async () => {
    const { page } = await show(390);
    await page.getByRole('button', { name: 'Allow' }).click();
    expect(await page.evaluate('document.activeElement.id')).toBe('user');
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.waitForURL(`${redirectUri}?**`);
    expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied');
    await page.close();
  });

  test('going back brings a new form instead of the one that was answered', async () => {
    const { page } = await show(1280);
    const ticket = () => page.locator('input[name=ticket]').inputValue();
    const first = await ticket();
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.waitForURL(`${redirectUri}?**`);
    await page.goBack();
    expect(await ticket()).not.toBe(first);
    await page.close();
  });

  test('a request that cannot be trusted shows a page that fits too', async () => {
    const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
    await page.goto(authorizationUrl(sandbox.url, 'nobody'));
    expect(await page.getByRole('heading').textContent()).toBe('This login cannot continue');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await page.close();
  });
});
