import { expect } from 'vitest';
import type { Case } from '../case.ts';
import { row } from '../case.ts';
import type { Request } from '../operation.ts';
import type { OperationId } from '../operations.ts';
import { outcome } from '../stage/reply.ts';
import { type Stage, scopes } from '../stage/stage.ts';

const all = scopes.filter((scope) => scope !== null);

/** A token of a user whose role is set for the case. */
function tokenWith(role: Record<string, unknown>) {
  return async (stage: Stage) => {
    const { data } = await stage.bare('listUsers');
    const { id } = data.find((user: { title: string }) => user.title === 'Billing manager');
    await stage.control.role(id, {
      users: 'all',
      phoneNumbers: true,
      callReports: true,
      allowRecordings: true,
      ...role,
    });
    return stage.control.token(id, all);
  };
}

const denied = { status: 403, type: 'permission_denied' } as const;
const lastCall = async (stage: Stage): Promise<Request> => ({ path: { callid: (await stage.control.call({})).id } });
const freshPair = async (stage: Stage): Promise<Request> => ({ path: { ...(await stage.freshPair()) } });

const texting: readonly [OperationId, (stage: Stage) => Promise<Request>][] = [
  [
    'sendMessage',
    async (stage) => ({ body: { from: await stage.line(), to: [stage.freshNumber()], message: 'hello' } }),
  ],
  ['readThread', freshPair],
  ['resolveConversation', freshPair],
  ['commentOnConversation', async (stage) => ({ ...(await freshPair(stage)), body: { comment: 'a note' } })],
  ['assignConversation', async (stage) => ({ ...(await freshPair(stage)), body: { userId: null } })],
  ['reopenConversation', freshPair],
  ['markMessages', async (stage) => ({ ...(await freshPair(stage)), body: { messageIds: [1] } })],
  ['deleteMessage', async (stage) => ({ path: { ...(await stage.freshPair()), id: 1 } })],
  ['deleteThread', freshPair],
  ['blockSender', async (stage) => ({ path: { line: await stage.line() }, body: { number: stage.freshNumber() } })],
  ['getBlockedSender', freshPair],
  ['markLineRead', async (stage) => ({ path: { line: await stage.line() }, body: {} })],
];

const byRole = (
  operation: OperationId,
  clause: '5.2/users' | '5.2/phone-numbers' | '5.2/recordings' | '5.2/call-reports',
  role: Record<string, unknown>,
  request: Request | ((stage: Stage) => Promise<Request>),
) =>
  row({
    name: `${operation} is denied to a user whose role lacks ${Object.keys(role).join()}`,
    clauses: [clause, '7/403-role', '5/token'],
    operation,
    needs: 'control',
    request,
    as: tokenWith(role),
    expect: denied,
  });

const aWeek = () => {
  const end = Math.floor(Date.now() / 1000) + 60;
  return { start: end - 7 * 86_400, end };
};

/** Sections 5 to 5.2: credentials, scopes, roles. */
export const access: readonly Case[] = [
  byRole('listUsers', '5.2/users', { users: null }, {}),
  byRole('searchCalls', '5.2/call-reports', { callReports: false }, { body: aWeek() }),
  byRole('getCall', '5.2/call-reports', { callReports: false }, lastCall),
  byRole('listRecordings', '5.2/recordings', { allowRecordings: false }, lastCall),
  byRole('listTranscripts', '5.2/recordings', { allowRecordings: false }, lastCall),
  ...texting.map(([operation, request]) => byRole(operation, '5.2/phone-numbers', { phoneNumbers: false }, request)),
  {
    name: 'an API key may do all of it without any role',
    clauses: ['5/key'],
    operations: ['listUsers', 'searchCalls', 'listLines'],
    needs: 'read',
    async run(stage) {
      for (const [id, request] of [
        ['listUsers', {}],
        ['listLines', {}],
        ['searchCalls', { body: aWeek() }],
      ] as const) {
        expect((await stage.ask(id, request)).status).toBe(200);
      }
    },
  },
  row({
    name: 'a key that may write texts may not send them',
    clauses: ['5.1/write-cannot-send'],
    operation: 'sendMessage',
    needs: 'control',
    request: async (stage) => ({ body: { from: await stage.line(), to: [stage.freshNumber()], message: 'hello' } }),
    as: async (stage) => (await stage.control.key(['sms:write'])).key,
    expect: { status: 403, type: 'insufficient_scope', scope: 'sms:send' },
  }),
  {
    name: 'a revoked key is unauthenticated from then on',
    clauses: ['7/401-revoked'],
    operations: ['listUsers'],
    needs: 'control',
    async run(stage) {
      const { key, name } = await stage.control.key(all);
      expect((await stage.ask('listUsers', {}, key)).status).toBe(200);
      await stage.control.revoke(name);
      expect(outcome(await stage.ask('listUsers', {}, key))).toEqual({ status: 401, type: 'unauthenticated' });
    },
  },
  row({
    name: 'an expired token is unauthenticated',
    clauses: ['5.3/expired-token', '7/401'],
    operation: 'listUsers',
    needs: 'control',
    request: {},
    as: async (stage) => stage.control.token(await stage.userId(), all, 0),
    expect: { status: 401, type: 'unauthenticated' },
  }),
  row({
    name: 'a token has no scope that was not granted, whatever its user may',
    clauses: ['5.3/narrow', '5/token'],
    operation: 'searchCalls',
    needs: 'control',
    request: { body: aWeek() },
    as: async (stage) => stage.token(['users:read']),
    expect: { status: 403, type: 'insufficient_scope', scope: 'reports:read' },
  }),
  {
    name: 'a token sees the lines and users that its role grants, and no others',
    clauses: ['4.1/lines/user', '4.5/seen', '5/token', '2.1/unrestricted'],
    operations: ['listLines', 'listUsers'],
    needs: 'control',
    async run(stage) {
      const { data: users } = await stage.bare('listUsers');
      const sales = users.find((user: { title: string }) => user.title === 'Sales manager');
      const [seen, unseen] = users.filter(({ id }: { id: number }) => id !== sales.id);
      await stage.control.role(sales.id, { users: [seen.id], phoneNumbers: true });
      const token = await stage.control.token(sales.id, all);
      const visible = (await stage.ask('listUsers', {}, token)).data.map(({ id }: { id: number }) => id);
      expect(visible).toContain(seen.id);
      expect(visible).not.toContain(unseen.id);

      type Line = { number: string; userIds: number[] };
      const lines: Line[] = (await stage.bare('listLines')).data;
      const mine = lines.filter(({ userIds }) => userIds.length === 0 || userIds.includes(sales.id));
      expect(mine.length).toBeLessThan(lines.length);
      const granted: Line[] = (await stage.ask('listLines', {}, token)).data;
      expect(granted.map(({ number }) => number)).toEqual(mine.map(({ number }) => number));
    },
  },
  ...(['readThread', 'resolveConversation', 'getBlockedSender', 'sendMessage'] as const).map((operation) =>
    row({
      name: `${operation} is denied to a user for a line of others`,
      clauses: [
        '5.2/phone-numbers',
        '4.2/line',
        '7/403-line',
        ...(operation === 'sendMessage' ? (['4.1/send/own-number'] as const) : []),
      ],
      operation,
      needs: 'control',
      async request(stage) {
        const line = await restrictedLine(stage);
        if (operation === 'sendMessage') return { body: { from: line, to: [stage.freshNumber()], message: 'hello' } };
        return { path: { line, number: stage.freshNumber() } };
      },
      as: (stage) => stage.token(),
      expect: denied,
    }),
  ),
  {
    name: 'sensitive content keeps recordings from the account itself',
    clauses: ['5.2/sensitive'],
    operations: ['listRecordings'],
    needs: 'control',
    async run(stage) {
      const { id } = await stage.control.call({ recorded: true, recordingAfterMs: 0 });
      await stage.control.account({ sensitiveContent: true });
      try {
        for (const credential of [stage.apiKey, await stage.token()]) {
          expect(outcome(await stage.ask('listRecordings', { path: { callid: id } }, credential))).toEqual(denied);
        }
      } finally {
        await stage.control.account({ sensitiveContent: false });
      }
    },
  },
  {
    name: 'no answer carries headers of a rate limit',
    clauses: ['8/no-rate-headers'],
    operations: ['listLines'],
    needs: 'read',
    only: 'bare',
    async run(stage) {
      const { headers } = await stage.bare('listLines');
      expect([...(headers?.keys() ?? [])].filter((name) => /rate-?limit|retry-after/i.test(name))).toEqual([]);
    },
  },
  {
    name: 'a pause that is asked for is rate_limited',
    clauses: ['7/429'],
    operations: ['listUsers'],
    needs: 'control',
    only: 'client',
    async run(stage) {
      await stage.control.faults({ errorRate: 1, status: 429, retryAfterSeconds: 3_600 });
      try {
        expect(outcome(await stage.ask('listUsers'))).toEqual({ status: 429, type: 'rate_limited' });
      } finally {
        await stage.control.faults({});
      }
    },
  },
];

/** A line that the user behind `stage.token` may not use. */
async function restrictedLine(stage: Stage): Promise<string> {
  const user = await stage.userId();
  const { data } = await stage.bare('listLines');
  return data.find(({ userIds }: { userIds: number[] }) => userIds.length > 0 && !userIds.includes(user)).number;
}
