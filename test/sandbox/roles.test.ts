import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { type Ask, caller, everything } from './client/caller.ts';

const userId = 4128;
const full = { users: 'all', phoneNumbers: true, callReports: true, allowRecordings: true };

let sandbox: Sandbox;
let ask: Ask;
let control: Ask;
let callId: string;
let token: string;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 5, threads: 2 });
  ask = caller(sandbox);
  control = caller(sandbox, '/_sandbox');
  callId = (await sandbox.emit.call({ status: 'answered', recorded: true, recordingAfterMs: 0 })).id;
});
afterAll(() => sandbox.close());
beforeEach(async () => {
  await control('PUT', `/users/${userId}/role`, full);
  await control('PATCH', '/account', { sensitiveContent: false });
  token = await tokenFor(userId);
});

async function tokenFor(id: number, scopes?: string[]): Promise<string> {
  return (await control('POST', '/tokens', { userId: id, ...(scopes && { scopes }) })).body.data.access_token;
}

const unrestricted = '16465550101';
const ofBilling = '16465550102';
const number = '12125550100';

const pathOf = (path: string) => path.replace('{callid}', callId);

/** The families of 5.2, each with its endpoints and the role that lacks its permission. */
const families = [
  [{ users: null }, 'Users', [['GET', '/users']]],
  [
    { phoneNumbers: false },
    'Phone numbers',
    [
      ['GET', '/sms/lines'],
      ['POST', '/sms/messages', { from: unrestricted, to: [number], message: 'hello' }],
      ['GET', `/sms/conversations/${unrestricted}/${number}`],
      ['POST', `/sms/conversations/${unrestricted}/${number}/resolve`, {}],
      ['POST', `/sms/conversations/${unrestricted}/${number}/reopen`],
      ['POST', `/sms/conversations/${unrestricted}/${number}/assign`, { userId }],
      ['POST', `/sms/conversations/${unrestricted}/${number}/comments`, { comment: 'a note' }],
      ['POST', `/sms/conversations/${unrestricted}/${number}/read`, { messageIds: [1] }],
      ['DELETE', `/sms/conversations/${unrestricted}/${number}/messages/1`],
      ['DELETE', `/sms/conversations/${unrestricted}/${number}`],
      ['POST', `/sms/lines/${unrestricted}/blocked`, { number }],
      ['GET', `/sms/lines/${unrestricted}/blocked/${number}`],
      ['GET', '/sms/unread'],
      ['POST', `/sms/lines/${unrestricted}/read`, {}],
      ['PUT', '/sms/drafts/one', { message: 'later' }],
      ['DELETE', '/sms/drafts/one'],
    ],
  ],
  [
    { callReports: false },
    'Call reports',
    [
      ['POST', '/calls/search', everything()],
      ['GET', '/calls/{callid}'],
      ['GET', '/calls/{callid}/recordings'],
      ['GET', '/calls/{callid}/transcripts'],
    ],
  ],
  [
    { allowRecordings: false },
    'allow recordings',
    [
      ['GET', '/calls/{callid}/recordings'],
      ['GET', '/calls/{callid}/transcripts'],
    ],
  ],
] as const;

const rows = families.flatMap(([lack, words, endpoints]) =>
  endpoints.map(([method, path, body]) => ({ method, path, body: body as unknown, lack, words })),
);

test.each(rows)('$method $path wants the permission $words of a user, with whatever scopes', async (row) => {
  const { method, path, body, lack, words } = row;
  await control('PUT', `/users/${userId}/role`, { ...full, ...lack });
  const refused = await ask(method, pathOf(path), body, token);
  expect(refused.status).toBe(403);
  expect(refused.body).toEqual({ error: { type: 'permission_denied', message: expect.any(String) } });
  expect(words === 'Phone numbers' || refused.body.error.message.includes(words)).toBe(true);

  expect((await ask(method, pathOf(path), body)).status).not.toBe(403);
  await control('PUT', `/users/${userId}/role`, full);
  expect((await ask(method, pathOf(path), body, token)).status).not.toBe(403);
});

test('without allow recordings, calls can still be searched and read', async () => {
  await control('PUT', `/users/${userId}/role`, { ...full, allowRecordings: false });
  expect((await ask('POST', '/calls/search', everything(), token)).status).toBe(200);
  expect((await ask('GET', `/calls/${callId}`, undefined, token)).status).toBe(200);
});

test('a scope narrows what a role allows', async () => {
  const narrow = await tokenFor(userId, ['reports:read']);
  expect((await ask('GET', `/calls/${callId}`, undefined, narrow)).status).toBe(200);
  const { status, body } = await ask('GET', `/calls/${callId}/recordings`, undefined, narrow);
  expect({ status, ...body.error }).toMatchObject({
    type: 'insufficient_scope',
    scope: 'recordings:read',
    status: 403,
  });
});

test('a missing scope is told before a missing permission', async () => {
  await control('PUT', `/users/${userId}/role`, { ...full, callReports: false });
  const narrow = await tokenFor(userId, ['sms:read']);
  expect((await ask('GET', `/calls/${callId}`, undefined, narrow)).body.error.type).toBe('insufficient_scope');
});

test('a user sees themself and the users that the role shows', async () => {
  const seen = async () => (await ask('GET', '/users', undefined, token)).body.data.map(({ id }: { id: number }) => id);
  const everybody = (await ask('GET', '/users')).body.data.map(({ id }: { id: number }) => id);
  expect(await seen()).toEqual(everybody);
  await control('PUT', `/users/${userId}/role`, { ...full, users: [4107, 4170] });
  expect((await seen()).sort()).toEqual([4107, userId, 4170]);
  await control('PUT', `/users/${userId}/role`, { ...full, users: [] });
  expect(await seen()).toEqual([userId]);
});

test('a line that is assigned to others is not there for a user, and one assigned to nobody is', async () => {
  const dispatcher = await tokenFor(4114);
  const lines = async (credential?: string) =>
    (await ask('GET', '/sms/lines', undefined, credential)).body.data.map((line: { number: string }) => line.number);
  expect(await lines()).toContain(ofBilling);
  expect(await lines(token)).toContain(ofBilling);
  expect(await lines(dispatcher)).not.toContain(ofBilling);
  expect(await lines(dispatcher)).toContain(unrestricted);

  const read = (line: string, credential?: string) =>
    ask('GET', `/sms/conversations/${line}/${number}`, undefined, credential);
  expect((await read(ofBilling, dispatcher)).body.error.type).toBe('permission_denied');
  expect((await read(ofBilling, token)).status).toBe(200);
  expect((await read(unrestricted, dispatcher)).status).toBe(200);
});

test('with sensitive content, recordings are there for nobody, and everything else is', async () => {
  await control('PATCH', '/account', { sensitiveContent: true });
  for (const credential of [sandbox.apiKey, token]) {
    const { status, body } = await ask('GET', `/calls/${callId}/recordings`, undefined, credential);
    expect({ status, type: body.error?.type }).toEqual({ status: 403, type: 'permission_denied' });
    expect((await ask('GET', `/calls/${callId}`, undefined, credential)).status).toBe(200);
    expect((await ask('GET', `/calls/${callId}/transcripts`, undefined, credential)).status).toBe(200);
  }
  await control('PATCH', '/account', { sensitiveContent: false });
  expect((await ask('GET', `/calls/${callId}/recordings`)).status).toBe(200);
});

test('an operation for a user refuses an API key with 400', async () => {
  for (const [path, body] of [
    [`/sms/lines/${unrestricted}/read`, {}],
    ['/sms/templates', { title: 'Hours', body: 'We are open.' }],
  ] as const) {
    const { status, body: answer } = await ask('POST', path, body);
    expect({ status, type: answer.error.type }).toEqual({ status: 400, type: 'invalid_request' });
    expect((await ask('POST', path, body, token)).status).toBeLessThan(300);
  }
});

test('the front desk reads no reports, a manager hears recordings, nobody without portal access logs in', async () => {
  const role = async (id: number) => (await control('GET', `/users/${id}/role`)).body.data;
  const users: { id: number; title: string; username: string }[] = (await ask('GET', '/users')).body.data;
  for (const { id, title, username } of users) {
    if (id === userId) continue;
    const given = await role(id);
    if (username === '') expect(given).toBeNull();
    else
      expect([given.callReports, given.allowRecordings]).toEqual([title !== 'Front desk', title.endsWith('manager')]);
  }
});
