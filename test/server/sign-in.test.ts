import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createContext } from '../../src/context.ts';
import { signInLink } from '../../src/server/auth.ts';
import { registerPages } from '../../src/server/pages.ts';
import { createReceiver } from '../../src/server/receiver.ts';
import { databaseForTest } from '../stores/databases.ts';
import { captureLog } from '../world/log.ts';
import { adminToken, migrated, settingsFor } from './receiver.ts';

const captured = captureLog();
const publicUrl = 'https://mirror.example';
const context = await createContext(settingsFor(await databaseForTest(migrated), { PUBLIC_URL: publicUrl }), {
  log: captured.log,
  name: 'test',
  maxConnections: 3,
});
const receiver = await createReceiver(context, (app) => registerPages(app, context));
afterAll(async () => {
  await receiver.close();
  await context[Symbol.asyncDispose]();
});

const link = () => signInLink(receiver.url, adminToken);
const open = (url: string, headers: Record<string, string> = {}) => fetch(url, { redirect: 'manual', headers });
const cookieOf = (answer: Response) => answer.headers.get('set-cookie') ?? '';
const signedIn = async () => ({ cookie: cookieOf(await open(link())).split(';')[0] ?? '' });
const refusals = async () => {
  const metrics = await open(`${receiver.url}/metrics`, { authorization: `Bearer ${adminToken}` });
  return Number(/refused_total\{reason="admin_token"\} (\d+)/.exec(await metrics.text())?.[1] ?? 0);
};

describe('a sign-in link', () => {
  test('sets a cookie and leads to an address without its code', async () => {
    const answer = await open(link());
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/']);
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(cookieOf(answer)).toMatch(/; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/);
    expect(link() + cookieOf(answer)).not.toContain(adminToken);
    for (const path of ['/', '/deliveries.csv', '/api/status', '/metrics']) {
      expect((await open(`${receiver.url}${path}`, await signedIn())).status, path).toBe(200);
    }
  });

  test.each([
    ['a proxy that says so', { 'x-forwarded-proto': 'https' }],
    ['PUBLIC_URL', { host: 'mirror.example' }],
  ])('sets a cookie for https alone where %s tells of it', async (_, headers) => {
    const { request } = await import('node:http');
    const cookies = await new Promise((resolve, reject) => {
      request(link(), { headers: headers as Record<string, string> }, (answer) => {
        answer.resume();
        resolve(answer.headers['set-cookie']?.join());
      })
        .on('error', reject)
        .end();
    });
    expect(cookies).toMatch(/; Secure$/);
  });

  test('that is changed, or of another token, is a guess like any other, and is not logged', async () => {
    const before = await refusals();
    const code = new URL(link()).searchParams.get('code') ?? '';
    const later = code.replace(/^\d+/, (expiry) => String(Number(expiry) + 1));
    const others = [
      later,
      `${code}0`,
      code.slice(0, -1),
      new URL(signInLink(receiver.url, 'x')).searchParams.get('code'),
    ];
    for (const other of others) {
      const answer = await open(`${receiver.url}/sign-in?code=${other}`, { accept: 'text/html' });
      expect([answer.status, cookieOf(answer)]).toEqual([401, '']);
      expect(await answer.text()).toContain('This link has expired');
    }
    expect(await refusals()).toBe(before + others.length);
    expect(captured.text()).toContain('A request had a wrong ADMIN_TOKEN');
    for (const each of [...others, code, adminToken]) expect(captured.text()).not.toContain(each);
  });

  test('that is opened again by a browser that has signed in leads on, even when it is no longer valid', async () => {
    expect((await open(`${receiver.url}/sign-in?code=old`, await signedIn())).status).toBe(303);
    expect((await open(`${receiver.url}/sign-in`)).status).toBe(401);
  });

  test('ends after an hour, and what it signed in after a month', async () => {
    const began = 1_800_000_000_000;
    vi.useFakeTimers({ toFake: ['Date'], now: began });
    onTestFinished(() => void vi.useRealTimers());
    const [code, { cookie }] = [link(), await signedIn()];
    const statusAfter = async (milliseconds: number, url: string, headers: Record<string, string> = {}) => {
      vi.setSystemTime(began + milliseconds);
      return (await open(url, headers)).status;
    };
    const page = `${receiver.url}/api/status`;
    expect(await statusAfter(3_599_000, code)).toBe(303);
    expect(await statusAfter(3_601_000, code)).toBe(401);
    expect(await statusAfter(3_601_000, page, { cookie: `other=1; ${cookie}` })).toBe(200);
    expect(await statusAfter(31 * 86_400_000, page, { cookie })).toBe(401);
  });
});

/** A form that says who acts. */
const by = (who: string) => new URLSearchParams({ who });

describe('a browser that has signed in', () => {
  const act = (headers: Record<string, string>) =>
    fetch(`${receiver.url}/do/sends/resume`, { method: 'POST', redirect: 'manual', headers, body: by('Pat') });

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of this site', { 'sec-fetch-site': 'same-site' }],
    ['another origin', { origin: 'https://elsewhere.example' }],
    ['no page at all', {}],
    ['no page, with a bearer token that is wrong', { authorization: 'Bearer x' }],
  ])('acts on nothing that %s asks for', async (_, headers) => {
    expect((await act({ ...(await signedIn()), ...(headers as Record<string, string>) })).status).toBe(403);
  });

  test('acts on its own pages, which is logged as of a session', async () => {
    expect((await act({ ...(await signedIn()), 'sec-fetch-site': 'same-origin' })).status).toBe(303);
    expect(captured.text()).toContain('"signIn":"session"');
  });
});

test.each([
  ['the token with a blank', ` ${adminToken}`],
  ['the token with a word', `${adminToken} admin`],
  ['the token in capitals', adminToken.toUpperCase()],
])('a user name that is %s is not logged', async (_, user) => {
  const headers = { authorization: `Basic ${btoa(`${user}:${adminToken}`)}`, 'sec-fetch-site': 'same-origin' };
  const before = captured.text().length;
  await fetch(`${receiver.url}/do/sends/resume`, { method: 'POST', redirect: 'manual', headers, body: by('Pat') });
  const logged = captured.text().slice(before);
  expect(logged).toContain('"signIn":"basic"');
  expect(logged).not.toContain('"user"');
});
