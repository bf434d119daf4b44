import { expect } from 'vitest';
import type { Case } from '../case.ts';
import { row } from '../case.ts';
import { outcome } from '../harness/reply.ts';
import { type CaseContext, scopes } from '../harness/suite.ts';
import type { Request } from '../operation.ts';
import type { OperationId } from '../operations.ts';

const all = scopes.filter((scope) => scope !== null);

/** A token of a user whose role is set for the case. */
function tokenWith(role: Record<string, unknown>) {
  return async (context: CaseContext) => {
    const { data } = await context.bare('listUsers');
    const { id } = data.find((user: { title: string }) => user.title === 'Billing manager');
    await context.control.role(id, {
      users: 'all',
      phoneNumbers: true,
      callReports: true,
      allowRecordings: true,
      ...role,
    });
    return context.control.token(id, all);
  };
}

const denied = { status: 403, type: 'permission_denied' } as const;
const lastCall = async (context: CaseContext): Promise<Request> => ({
  path: { callid: (await context.control.call({})).id },
});
const freshPair = async (context: CaseContext): Promise<Request> => ({ path: { ...(await context.freshPair()) } });

const texting: readonly [OperationId, (context: CaseContext) => Promise<Request>][] = [
  [
    'sendMessage',
    async (context) => ({ body: { from: await context.line(), to: [context.freshNumber()], message: 'hello' } }),
  ],
  ['readThread', freshPair],
  ['resolveConversation', freshPair],
  ['commentOnConversation', async (context) => ({ ...(await freshPair(context)), body: { comment: 'a note' } })],
  ['assignConversation', async (context) => ({ ...(await freshPair(context)), body: { userId: null } })],
  ['reopenConversation', freshPair],
  ['markMessages', async (context) => ({ ...(await freshPair(context)), body: { messageIds: [1] } })],
  ['deleteMessage', async (context) => ({ path: { ...(await context.freshPair()), id: 1 } })],
  ['deleteThread', freshPair],
  [
    'blockSender',
    async (context) => ({ path: { line: await context.line() }, body: { number: context.freshNumber() } }),
  ],
  ['getBlockedSender', freshPair],
  ['markLineRead', async (context) => ({ path: { line: await context.line() }, body: {} })],
];

const byRole = (
  operation: OperationId,
  role: Record<string, unknown>,
  request: Request | ((context: CaseContext) => Promise<Request>),
) =>
  row({
    name: `${operation} is denied to a user whose role lacks ${Object.keys(role).join()}`,
    section: '5.2',
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
  byRole('listUsers', { users: null }, {}),
  byRole('searchCalls', { callReports: false }, { body: aWeek() }),
  byRole('getCall', { callReports: false }, lastCall),
  byRole('listRecordings', { allowRecordings: false }, lastCall),
  byRole('listTranscripts', { allowRecordings: false }, lastCall),
  ...texting.map(([operation, request]) => byRole(operation, { phoneNumbers: false }, request)),
  {
    name: 'an API key may do all of it without any role',
    section: '5',
    operations: ['listUsers', 'searchCalls', 'listLines'],
    needs: 'read',
    async run(context) {
      for (const [id, request] of [
        ['listUsers', {}],
        ['listLines', {}],
        ['searchCalls', { body: aWeek() }],
      ] as const) {
        expect((await context.ask(id, request)).status).toBe(200);
      }
    },
  },
  row({
    name: 'a key that may write texts may not send them',
    section: '5.1',
    operation: 'sendMessage',
    needs: 'control',
    request: async (context) => ({
      body: { from: await context.line(), to: [context.freshNumber()], message: 'hello' },
    }),
    as: async (context) => (await context.control.key(['sms:write'])).key,
    expect: { status: 403, type: 'insufficient_scope', scope: 'sms:send' },
  }),
  {
    name: 'a revoked key is unauthenticated from then on',
    section: '7',
    operations: ['listUsers'],
    needs: 'control',
    async run(context) {
      const { key, name } = await context.control.key(all);
      expect((await context.ask('listUsers', {}, key)).status).toBe(200);
      await context.control.revoke(name);
      expect(outcome(await context.ask('listUsers', {}, key))).toEqual({ status: 401, type: 'unauthenticated' });
    },
  },
  row({
    name: 'an expired token is unauthenticated',
    section: '5.3',
    operation: 'listUsers',
    needs: 'control',
    request: {},
    as: async (context) => context.control.token(await context.userId(), all, 0),
    expect: { status: 401, type: 'unauthenticated' },
  }),
  row({
    name: 'a token has no scope that was not granted, whatever its user may',
    section: '5.3',
    operation: 'searchCalls',
    needs: 'control',
    request: { body: aWeek() },
    as: async (context) => context.token(['users:read']),
    expect: { status: 403, type: 'insufficient_scope', scope: 'reports:read' },
  }),
  {
    name: 'a token sees the lines and users that its role grants, and no others',
    section: '4.1',
    operations: ['listLines', 'listUsers'],
    needs: 'control',
    async run(context) {
      const { data: users } = await context.bare('listUsers');
      const sales = users.find((user: { title: string }) => user.title === 'Sales manager');
      const [seen, unseen] = users.filter(({ id }: { id: number }) => id !== sales.id);
      await context.control.role(sales.id, { users: [seen.id], phoneNumbers: true });
      const token = await context.control.token(sales.id, all);
      const visible = (await context.ask('listUsers', {}, token)).data.map(({ id }: { id: number }) => id);
      expect(visible).toContain(seen.id);
      expect(visible).not.toContain(unseen.id);

      type Line = { number: string; userIds: number[] };
      const lines: Line[] = (await context.bare('listLines')).data;
      const mine = lines.filter(({ userIds }) => userIds.length === 0 || userIds.includes(sales.id));
      expect(mine.length).toBeLessThan(lines.length);
      const granted: Line[] = (await context.ask('listLines', {}, token)).data;
      expect(granted.map(({ number }) => number)).toEqual(mine.map(({ number }) => number));
    },
  },
  ...(['readThread', 'resolveConversation', 'getBlockedSender', 'sendMessage'] as const).map((operation) =>
    row({
      name: `${operation} is denied to a user for a line of others`,
      section: '5.2',
      operation,
      needs: 'control',
      async request(context) {
        const line = await restrictedLine(context);
        if (operation === 'sendMessage') return { body: { from: line, to: [context.freshNumber()], message: 'hello' } };
        return { path: { line, number: context.freshNumber() } };
      },
      as: (context) => context.token(),
      expect: denied,
    }),
  ),
  {
    name: 'sensitive content keeps recordings from the account itself',
    section: '5.2',
    operations: ['listRecordings'],
    needs: 'control',
    async run(context) {
      const { id } = await context.control.call({ recorded: true, recordingAfterMs: 0 });
      await context.control.account({ sensitiveContent: true });
      try {
        for (const credential of [context.apiKey, await context.token()]) {
          expect(outcome(await context.ask('listRecordings', { path: { callid: id } }, credential))).toEqual(denied);
        }
      } finally {
        await context.control.account({ sensitiveContent: false });
      }
    },
  },
  {
    name: 'no answer carries headers of a rate limit',
    section: '8',
    operations: ['listLines'],
    needs: 'read',
    only: 'bare',
    async run(context) {
      const { headers } = await context.bare('listLines');
      expect([...(headers?.keys() ?? [])].filter((name) => /rate-?limit|retry-after/i.test(name))).toEqual([]);
    },
  },
  {
    name: 'a pause that is asked for is rate_limited',
    section: '7',
    operations: ['listUsers'],
    needs: 'control',
    only: 'client',
    async run(context) {
      await context.control.faults({ kind: 'answer', status: 429, headers: { 'retry-after': '3600' } });
      try {
        expect(outcome(await context.ask('listUsers'))).toEqual({ status: 429, type: 'rate_limited' });
      } finally {
        await context.control.faults();
      }
    },
  },
];

/** A line that the user behind `context.token` may not use. */
async function restrictedLine(context: CaseContext): Promise<string> {
  const user = await context.userId();
  const { data } = await context.bare('listLines');
  return data.find(({ userIds }: { userIds: number[] }) => userIds.length > 0 && !userIds.includes(user)).number;
}
