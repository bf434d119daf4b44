import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller, everything } from '../client/caller.ts';
import { contentLength, overTcp, statusOf, type Wire } from '../client/wire.ts';
import { bareRefusal, proxyPage, redirect, siblings, truncated } from '../presets.ts';

type Row = Record<string, unknown>;

let sandbox: Sandbox;
let ask: Ask;
let whole: Wire;

const users = { path: '/api/public/v1/users' };

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 20, threads: 5 });
  ask = caller(sandbox);
  whole = await overTcp(sandbox, users);
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

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

  test('a dripping answer does not delay the end of the sandbox', async () => {
    const slow = await createSandbox({ calls: 0, threads: 0 });
    slow.faults({ kind: 'drip', everyMs: 60_000 });
    const answer = await fetch(slow.url + users.path, { headers: { authorization: `Bearer ${slow.apiKey}` } });
    await slow.close();
    await expect(answer.text()).rejects.toThrow();
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
    const tokens = (await caller(sandbox, '/_sandbox')('POST', '/tokens', { userId: 4128 })).body.data;
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
  const line = '16465550100';
  const number = '12125550142';
  const thread = `/sms/conversations/${line}/${number}`;
  beforeEach(async () => {
    for (let at = 1; at <= 25; at++) await sandbox.emit.sms({ line, number, text: String(at) });
  });

  async function texts(query: string): Promise<number[]> {
    const { body } = await ask('GET', `${thread}?${query}`);
    return body.data.messages.map(({ text }: { text: string }) => Number(text));
  }

  test('a call appears in the window that was searched, after each page', async () => {
    sandbox.faults({ kind: 'shift', operation: 'searchCalls' });
    const end = Math.floor(Date.now() / 1000) - 3_600;
    const page = async (offset: number) => {
      const { body } = await ask('POST', '/calls/search', { start: end - 30 * 86_400, end, limit: 5, offset });
      return body.data as { total: number; calls: { id: string }[] };
    };
    const first = await page(0);
    const second = await page(5);
    expect(second.total).toBe(first.total + 1);
    expect(second.calls[0]?.id).toBe(first.calls[4]?.id);
  });

  test('a message appears in the thread after each page', async () => {
    sandbox.faults({ kind: 'shift', operation: 'readThread' });
    const [first, second] = [await texts('limit=5'), await texts('limit=5&offset=5')];
    expect(first).toEqual([25, 24, 23, 22, 21]);
    expect(second[0]).toBe(21);
  });
});
