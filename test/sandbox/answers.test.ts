import { describe, expect, test } from 'vitest';
import { everything, karen, line, sandboxOfFile } from './client/caller.ts';
import { contentLength, overTcp, statusOf } from './client/wire.ts';
import { bareRefusal, proxyPage, redirect, siblings, truncated } from './presets.ts';

type Row = Record<string, unknown>;

const { sandbox, ask, control } = await sandboxOfFile({ calls: 20, threads: 5 });
const users = { path: '/api/public/v1/users' };
const whole = await overTcp(sandbox, users);

const last = () => sandbox.requests().at(-1);

describe('the answer on the wire', () => {
  test('an error has the envelope and its status, and the history names the fault', async () => {
    sandbox.faults({ kind: 'answer', status: 503 });
    const answer = await overTcp(sandbox, users);
    expect([statusOf(answer), JSON.parse(answer.body.toString()).error.type]).toEqual([503, 'internal_error']);
    expect(last()).toMatchObject({ status: 503, fault: 'answer' });
  });

  test.each([
    [proxyPage(502), 502, 'content-type: text/html', /^<html>/],
    [proxyPage(200), 200, 'content-type: text/html', /^<html>/],
    [bareRefusal, 403, 'content-type: application/json', /^\{"message"/],
    [redirect, 302, 'location: /elsewhere', /^$/],
    [{ kind: 'answer', status: 200, body: '' }, 200, 'content-length: 0', /^$/],
    [{ kind: 'answer', status: 429, headers: { 'retry-after': '9' } }, 429, 'retry-after: 9', /"type":"rate_limited"/],
  ] as const)('%j', async (fault, status, header, body) => {
    sandbox.faults(fault);
    const answer = await overTcp(sandbox, users);
    expect(statusOf(answer)).toBe(status);
    expect(answer.head).toContain(header);
    expect(answer.body.toString()).toMatch(body);
  });

  test('a dripping body arrives whole, in many pieces', async () => {
    sandbox.faults({ kind: 'drip', everyMs: 2, bytes: 100 });
    const answer = await overTcp(sandbox, users);
    expect(answer.body).toEqual(whole.body);
    expect(answer.pieces).toBeGreaterThan(20);
  });

  test('a truncated body has a matching length; one that is cut off promised more', async () => {
    sandbox.faults(truncated);
    const short = await overTcp(sandbox, users);
    expect([short.body.length, contentLength(short)]).toEqual([whole.body.length - 20, whole.body.length - 20]);
    sandbox.faults({ kind: 'cutOff' });
    const cut = await overTcp(sandbox, users);
    expect([cut.end, contentLength(cut)]).toEqual(['closed', whole.body.length]);
    expect(cut.body.length).toBeLessThan(whole.body.length);
  });

  test('several faults apply to one answer', async () => {
    sandbox.faults(proxyPage(200), { kind: 'drip', everyMs: 5, bytes: 5 });
    const answer = await overTcp(sandbox, users);
    expect(answer.body.toString()).toMatch(/^<html>/);
    expect(answer.pieces).toBeGreaterThan(2);
    expect(last()?.fault).toBe('answer, drip');
  });

  test('no fault hides a wrong credential', async () => {
    for (const kind of ['reset', 'answer', 'drip'] as const) {
      sandbox.faults({ kind });
      const answer = await overTcp(sandbox, { ...users, key: 'nobody-knows-this' });
      expect([statusOf(answer), answer.end]).toEqual([401, 'closed']);
      expect(last()).not.toHaveProperty('fault');
    }
  });
});

describe('whether the request was processed', () => {
  const subscribing = {
    method: 'POST',
    path: '/api/public/v1/webhooks',
    body: { type: 'AccountSMS', url: 'https://receiver.example.com/' },
  };
  const operation = 'createWebhook';
  const subscriptions = async () => (await ask('GET', '/webhooks')).body.data.length;

  test.each([
    ['before', 0, 0],
    ['after', 1, 0],
    ['midway', 1, 1],
  ] as const)('a connection that is reset %s leaves %i effects and %i heads', async (when, effects, heads) => {
    sandbox.faults({ kind: 'reset', when, operation });
    const answer = await overTcp(sandbox, subscribing);
    expect([answer.end, answer.head === '' ? 0 : 1]).toEqual(['reset', heads]);
    if (heads > 0) expect(answer.body.length).toBeLessThan(contentLength(answer));
    expect(await subscriptions()).toBe(effects);
    const record = sandbox.requests().find(({ method }) => method === 'POST');
    expect(record).toMatchObject({ fault: 'reset', key: 'default', status: effects === 0 ? 503 : 201 });
  });

  test.each([
    ['before', 0],
    ['after', 1],
  ] as const)('another answer %s leaves %i effects', async (when, effects) => {
    sandbox.faults({ kind: 'answer', when, operation });
    expect(statusOf(await overTcp(sandbox, subscribing))).toBe(500);
    expect(await subscriptions()).toBe(effects);
  });

  test('a slow answer was processed long before its first byte', async () => {
    sandbox.faults({ kind: 'slow', ms: 2_000, operation });
    const slow = overTcp(sandbox, subscribing);
    await expect.poll(subscriptions).toBe(1);
    expect((await slow).firstByteMs).toBeGreaterThan(1_900);
  });

  test('a refresh whose answer is lost has used up its token', async () => {
    const tokens = (await control('POST', '/tokens', { userId: karen })).body.data;
    const refresh = {
      method: 'POST',
      path: '/api/v1/oauth/token',
      contentType: 'application/x-www-form-urlencoded',
      body: `grant_type=refresh_token&refresh_token=${tokens.refresh_token}&client_id=${tokens.client_id}`,
    };
    sandbox.faults({ kind: 'reset', when: 'after', operation: 'getTokens', times: 1 });
    expect((await overTcp(sandbox, refresh)).end).toBe('reset');
    expect(last()).toMatchObject({ path: '/api/v1/oauth/token', status: 200, fault: 'reset' });
    expect(statusOf(await overTcp(sandbox, refresh))).toBe(400);
  });
});

describe('the content', () => {
  const rows = async (): Promise<Row[]> => (await ask('GET', '/users')).body.data;
  const search = async () => (await ask('POST', '/calls/search', everything())).body.data;

  test('what lies at a path is missing, null or another value', async () => {
    sandbox.faults({ kind: 'edit', path: 'data' });
    expect((await ask('GET', '/users')).body).toEqual({});
    sandbox.faults(siblings);
    expect((await ask('GET', '/users')).body).toMatchObject({ data: expect.any(Array), paging: { hasMore: true } });
    sandbox.faults({ kind: 'edit', path: 'data.calls', value: [] });
    expect(await search()).toMatchObject({ total: 20, calls: [] });
    sandbox.faults({ kind: 'edit', path: 'data.*.lastName' }, { kind: 'edit', path: 'data.*.title', value: null });
    for (const row of await rows()) {
      expect(row).toMatchObject({ title: null, firstName: expect.any(String) });
      expect(row).not.toHaveProperty('lastName');
    }
  });

  test('the text is rewritten: call ids are numbers', async () => {
    const { id } = (await search()).calls[0];
    sandbox.faults({ kind: 'rewrite', pattern: '"(\\d{9,11}\\.\\d+)"', by: '$1' });
    const { body } = await overTcp(sandbox, { path: `/api/public/v1/calls/${id}` });
    expect(body.toString()).toContain(`"id":${id},`);
    expect(body.toString()).not.toMatch(/":"\d{9,11}\.\d+"/);
  });

  test('an error keeps its fields', async () => {
    sandbox.faults({ kind: 'edit', path: 'error' }, siblings);
    expect((await ask('GET', '/calls/1700000000.1')).body).toEqual({
      error: expect.objectContaining({ type: 'not_found' }),
    });
  });
});

describe('pages', () => {
  test('a call appears in the window that was searched, after each page', async () => {
    sandbox.faults({ kind: 'shift', operation: 'searchCalls' });
    const end = Math.floor(Date.now() / 1000) - 3_600;
    const page = async (offset: number): Promise<{ total: number; calls: { id: string }[] }> =>
      (await ask('POST', '/calls/search', { start: end - 30 * 86_400, end, limit: 5, offset })).body.data;
    const [first, second] = [await page(0), await page(5)];
    expect(second.total).toBe(first.total + 1);
    expect(second.calls[0]?.id).toBe(first.calls[4]?.id);
  });

  test('a message appears in the thread after each page', async () => {
    const number = '12125550142';
    for (let at = 1; at <= 25; at++) await sandbox.emit.sms({ line, number, text: String(at) });
    sandbox.faults({ kind: 'shift', operation: 'readThread' });
    const texts = async (query: string) => {
      const { messages } = (await ask('GET', `/sms/conversations/${line}/${number}?limit=5${query}`)).body.data;
      return messages.map(({ text }: { text: string }) => Number(text));
    };
    expect(await texts('')).toEqual([25, 24, 23, 22, 21]);
    expect((await texts('&offset=5'))[0]).toBe(21);
  });
});
