import { expect, test } from 'vitest';
import { everything, sandboxOfFile, sandboxOfTest } from './client/caller.ts';

const { sandbox, ask, control } = await sandboxOfFile({ calls: 40, threads: 10 });

test('events of all kinds need no input and answer with the ids that they made', async () => {
  const made = async (path: string, body?: object) => {
    const { status, body: answer } = await control('POST', path, body);
    expect(status).toBe(201);
    return answer.data;
  };
  const { line, number, id } = await made('/events/sms');
  expect((await ask('GET', `/sms/conversations/${line}/${number}`)).body.data.messages[0].id).toBe(id);
  const call = await made('/events/call', {});
  expect((await ask('GET', `/calls/${call.id}`)).body.data.id).toBe(call.id);
  const { callId, transcriptIds } = await made('/events/transcript');
  const transcripts = (await ask('GET', `/calls/${callId}/transcripts`)).body.data;
  expect(transcripts.map((one: { id: number }) => one.id)).toEqual(transcriptIds);
});

test.each([
  ['/events/sms', { line: '12125550100' }, 'line'],
  ['/events/sms', { number: 'nobody' }, 'number'],
  ['/events/sms', { sentBy: 1 }, 'sentBy'],
  ['/events/sms', { colour: 1 }, 'colour'],
  ['/events/call', { direction: 'up' }, 'direction'],
  ['/events/call', { group: 'Nobody' }, 'group'],
  ['/events/call', { startTime: 'yesterday' }, 'startTime'],
  ['/keys', {}, 'name'],
])('POST %s refuses %j', async (path, body, named) => {
  const { status, body: answer } = await control('POST', path, body);
  const message = expect.stringContaining(named);
  expect([status, answer.error]).toEqual([400, expect.objectContaining({ type: 'invalid_request', message })]);
});

test('bad input in code is one clear error', async () => {
  await expect(sandbox.emit.sms({ line: 'nowhere' })).rejects.toThrow('line: must be a phone number, got "nowhere"');
  await expect(sandbox.emit.call({ transfers: 9 })).rejects.toThrow('transfers');
});

test('histories give the last entries, oldest first', async () => {
  for (const path of ['/users', '/sms/lines', '/webhooks']) await ask('GET', path);
  const { data } = (await control('GET', '/requests?limit=2')).body;
  expect(data.map(({ path }: { path: string }) => path.split('/v1')[1])).toEqual(['/sms/lines', '/webhooks']);
  expect((await control('GET', '/sends')).body).toEqual({ data: [] });
  expect((await control('GET', '/deliveries?limit=x')).status).toBe(400);
});

test('a reset brings back the seeded state', async () => {
  const state = async () => (await control('GET', '/state')).body;
  const search = async () => (await ask('POST', '/calls/search', { ...everything(), limit: 500 })).body;
  const [before, calls] = [await state(), await search()];
  await sandbox.emit.call();
  await sandbox.emit.sms();
  await control('POST', '/keys', { name: 'other' });
  sandbox.faults({ kind: 'dropped' });
  await ask('POST', '/webhooks', { type: 'AccountSMS', url: 'http://127.0.0.1:1/' });
  expect(await state()).not.toEqual(before);
  expect((await control('POST', '/reset')).status).toBe(204);
  expect([await state(), await search()]).toEqual([before, calls]);
});

test('close waits neither for an answer that latency holds back nor for one that drips', async () => {
  const slow = await sandboxOfTest();
  slow.sandbox.faults({ kind: 'slow', when: 'before', ms: 60_000 });
  const asked = slow.ask('GET', '/users').then(
    ({ status }) => status,
    () => 'cut',
  );
  await slow.sandbox.close();
  expect([200, 503, 'cut']).toContain(await asked);

  const { sandbox: dripping } = await sandboxOfTest();
  dripping.faults({ kind: 'drip', everyMs: 60_000 });
  const headers = { authorization: `Bearer ${dripping.apiKey}` };
  const answer = await fetch(`${dripping.url}/api/public/v1/users`, { headers });
  await dripping.close();
  await expect(answer.text()).rejects.toThrow();
});

test('a port that is taken rejects and leaves nothing open', async () => {
  const { sandbox: first } = await sandboxOfTest();
  await expect(sandboxOfTest({ port: Number(new URL(first.url).port) })).rejects.toThrow(/EADDRINUSE/);
  await first.close();
  await expect(fetch(first.url)).rejects.toThrow();
});

type Schema = { additionalProperties?: boolean };
interface Described {
  operationId?: string;
  parameters: { name: string; in: string; required: boolean }[];
  security?: object[];
  requestBody?: { content: { 'application/json': { schema: Schema } } };
}

test('the OpenAPI document has the steps of OAuth and each parameter of a path, and no request may gain fields', async () => {
  const response = await fetch(`${sandbox.url}/openapi.json`);
  type Document = { openapi: string; paths: Record<string, Record<string, Described>> };
  const { openapi, paths } = (await response.json()) as Document;
  expect(openapi).toMatch(/^3\.1\./);
  const [steps, schemas]: [string[], Schema[]] = [[], []];
  for (const [path, methods] of Object.entries(paths)) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    for (const { operationId, security, parameters, requestBody } of Object.values(methods)) {
      if (operationId === undefined) continue;
      const inPath = parameters.filter((each) => each.in === 'path' && each.required).map(({ name }) => name);
      expect(inPath.sort(), path).toEqual(named.sort());
      if (security === undefined) steps.push(operationId);
      else if (requestBody !== undefined) schemas.push(requestBody.content['application/json'].schema);
    }
  }
  expect(steps.sort()).toEqual(['authorize', 'discoverOAuth', 'getTokens', 'registerClient']);
  expect(schemas.length).toBeGreaterThan(10);
  for (const { additionalProperties } of schemas) expect(additionalProperties).toBe(false);
});

test.each(['/', '/_sandbox/'])('the page at %s says the key and how to provoke events', async (path) => {
  const page = await fetch(sandbox.url + path);
  expect(page.headers.get('content-type')).toContain('text/html');
  const shown = await page.text();
  for (const part of [sandbox.apiKey, 'href="/openapi.json"', '/_sandbox/faults']) expect(shown).toContain(part);
});
