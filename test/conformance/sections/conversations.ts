import { expect } from 'vitest';
import { type Case, refusals, row } from '../case.ts';
import { outcome } from '../harness/reply.ts';
import type { CaseContext } from '../harness/suite.ts';
import type { Request } from '../operation.ts';
import type { OperationId } from '../operations.ts';

const stranger = 987_654_321;
const inPair =
  (body?: unknown) =>
  async (context: CaseContext): Promise<Request> => ({
    path: await context.freshPair(),
    ...(body !== undefined && { body }),
  });
const bare = { only: 'bare' } as const;
const rfc3339 = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);

const ofPairs: readonly [OperationId, Request['body']?][] = [
  ['readThread'],
  ['resolveConversation'],
  ['commentOnConversation', { comment: 'a note' }],
  ['assignConversation', { userId: null }],
  ['reopenConversation'],
  ['markMessages', { messageIds: [1] }],
  ['deleteThread'],
];

/** Sections 2.5, 3 and 4.2: the state of conversations. */
export const conversations: readonly Case[] = [
  ...ofPairs.flatMap(([operation, body]): Case[] => [
    ...refusals({ operation, needs: operation === 'readThread' ? 'read' : 'write', section: '7' }, [
      [`${operation} refuses a line that is no number`, { path: { line: 'reception', number: '12125550142' }, body }],
      [
        `${operation} refuses a number that is none`,
        async (context) => ({ path: { line: await context.line(), number: 'someone' }, body }),
      ],
    ]),
    row({
      name: `${operation} denies a line that is not the account's`,
      section: '4.2',
      operation,
      needs: operation === 'readThread' ? 'read' : 'write',
      request: async (context) => ({ path: { line: context.freshNumber(), number: context.freshNumber() }, body }),
      expect: { status: 403, type: 'permission_denied' },
    }),
  ]),

  {
    name: 'resolving a pair without any state creates one, credited to nobody when an integration did it',
    section: '3',
    operations: ['resolveConversation'],
    needs: 'write',
    async run(context) {
      const path = await context.freshPair();
      const { status, data } = await context.ask('resolveConversation', { path });
      expect([status, data]).toEqual([200, { ...path, resolved: true, resolvedAt: rfc3339 }]);
    },
  },
  {
    name: 'an API key may credit a user; resolving again changes neither user nor time',
    section: '3',
    operations: ['resolveConversation', 'listUsers'],
    needs: 'write',
    async run(context) {
      const path = await context.freshPair();
      const [first, second] = (await context.bare('listUsers')).data;
      const resolved = await context.ask('resolveConversation', { path, body: { resolvedBy: first.id } });
      expect(resolved.data).toMatchObject({ ...path, resolved: true, resolvedBy: first.id });
      await secondsPass();
      const again = await context.ask('resolveConversation', { path, body: { resolvedBy: second.id } });
      expect([again.status, again.data]).toEqual([200, resolved.data]);
    },
  },
  {
    name: 'a token credits its owner, also when it names somebody else or is refused for it',
    section: '4.2',
    operations: ['resolveConversation'],
    needs: 'control',
    async run(context) {
      const [path, token, owner] = [await context.freshPair(), await context.token(), await context.userId()];
      const { data: users } = await context.bare('listUsers');
      const other = users.find(({ id }: { id: number }) => id !== owner);
      const named = await context.ask('resolveConversation', { path, body: { resolvedBy: other.id } }, token);
      if (named.status !== 200) expect(outcome(named)).toEqual({ status: 400, type: 'invalid_request' });
      expect((await context.ask('resolveConversation', { path }, token)).data.resolvedBy).toBe(owner);
    },
  },
  {
    name: 'reopening opens what was resolved and forgets when; it can be resolved again by another',
    section: '3',
    operations: ['reopenConversation', 'resolveConversation'],
    needs: 'write',
    async run(context) {
      const path = await context.freshPair();
      const [first, second] = (await context.bare('listUsers')).data;
      await context.ask('resolveConversation', { path, body: { resolvedBy: first.id } });
      const formatted = { line: `+${path.line}`, number: `(${path.number.slice(1, 4)}) ${path.number.slice(4)}` };
      const { status, data } = await context.ask('reopenConversation', { path: formatted });
      expect([status, data]).toEqual([200, { ...path, resolved: false }]);
      const resolvedAgain = await context.ask('resolveConversation', { path, body: { resolvedBy: second.id } });
      expect(resolvedAgain.data.resolvedBy).toBe(second.id);
    },
  },
  {
    name: 'reopening what was never resolved succeeds',
    section: '3',
    operations: ['reopenConversation'],
    needs: 'write',
    async run(context) {
      const path = await context.freshPair();
      const { status, data } = await context.ask('reopenConversation', { path });
      expect([status, data]).toEqual([200, { ...path, resolved: false }]);
    },
  },
  {
    name: 'assigning and unassigning leave a conversation open or resolved as it was',
    section: '3',
    operations: ['assignConversation'],
    needs: 'write',
    async run(context) {
      const [user] = (await context.bare('listUsers')).data;
      for (const isResolved of [false, true]) {
        const path = await context.freshPair();
        if (isResolved) await context.ask('resolveConversation', { path });
        const before = isResolved
          ? (await context.ask('resolveConversation', { path })).data
          : { ...path, resolved: false };
        for (const body of [{ userId: user.id }, { userId: null }, { userId: user.id }, {}]) {
          const { status, data } = await context.ask('assignConversation', { path, body });
          expect([status, data]).toEqual([200, before]);
        }
      }
    },
  },
  {
    name: 'comments leave the state as it was and never stand among the messages',
    section: '3',
    operations: ['commentOnConversation', 'resolveConversation', 'readThread'],
    needs: 'write',
    async run(context) {
      const path = await context.freshPair();
      const open = await context.ask('commentOnConversation', { path, body: { comment: 'call her back' } });
      expect([open.status, open.data]).toEqual([201, { ...path, resolved: false }]);
      const resolved = await context.ask('resolveConversation', { path, body: { comment: 'all done' } });
      const noted = await context.ask('commentOnConversation', { path, body: { comment: 'was it?' } });
      expect([noted.status, noted.data]).toEqual([201, resolved.data]);
      expect((await context.ask('readThread', { path })).data.messages).toEqual([]);
    },
  },
  ...refusals({ operation: 'resolveConversation', needs: 'write', section: '4.2' }, [
    ['a resolver who is not on the account is refused', inPair({ resolvedBy: stranger })],
    ['a resolver that is no number is refused', inPair({ resolvedBy: 'Miriam' })],
  ]),
  ...refusals({ operation: 'resolveConversation', needs: 'write', section: '4.2' }, [
    ['an unknown field of a resolve is refused', inPair({ note: 'x' }), bare],
  ]),
  ...refusals({ operation: 'resolveConversation', needs: 'write', section: '4' }, [
    ['a body that is not JSON is refused', inPair('{"comment":'), bare],
  ]),
  ...refusals({ operation: 'commentOnConversation', needs: 'write', section: '4.2' }, [
    ['an empty comment is refused', inPair({ comment: '' })],
    ['a missing comment is refused', inPair({}), bare],
    ['a comment that is no text is refused', inPair({ comment: 7 }), bare],
    ['an unknown field of a comment is refused', inPair({ comment: 'x', colour: 'red' }), bare],
  ]),
  ...refusals({ operation: 'assignConversation', needs: 'write', section: '4.2' }, [
    ['assigning to a user who is not on the account is refused', inPair({ userId: stranger })],
    ['assigning to a name is refused', inPair({ userId: 'Miriam' })],
    ['an unknown field of an assignment is refused', inPair({ userId: null, queue: 'Sales' }), bare],
  ]),
];

/** Times have whole seconds: what is stamped again now would show another. */
function secondsPass(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, 1_001 - (Date.now() % 1_000) + 10);
  return promise;
}
