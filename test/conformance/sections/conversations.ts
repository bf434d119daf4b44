import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import { type Case, cases, refusals, rows } from '../case.ts';
import type { OperationId } from '../operations.ts';
import { ask, formatted, freshNumber, freshPair, inPair, line, rfc3339, token, told, userId } from '../service.ts';

const stranger = 987_654_321;
const unresolved = { resolved: false };

const ofPairs: readonly [OperationId, body?: unknown][] = [
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
  ...ofPairs.flatMap(([operation, body]): Case[] => {
    const needs = operation === 'readThread' ? 'read' : 'write';
    const foreign = () => ({ path: { line: freshNumber(), number: freshNumber() }, body });
    return [
      ...refusals(`7 ${needs}`, operation, {
        [`${operation} refuses a line that is no number`]: { path: { line: 'reception', number: '12125550142' }, body },
        [`${operation} refuses a number that is none`]: async () => ({
          path: { line: await line(), number: 'someone' },
          body,
        }),
      }),
      ...rows(`4.2 ${needs}`, operation, {
        [`${operation} denies a line that is not the account's`]: [foreign, '403 permission_denied'],
      }),
    ];
  }),

  ...cases('3 write', {
    async 'resolving a pair without any state creates one, credited to nobody when an integration did it'() {
      const path = await freshPair();
      expect(await told('resolveConversation', { path })).toEqual({ ...path, resolved: true, resolvedAt: rfc3339 });
    },
    async 'an API key may credit a user; resolving again changes neither user nor time'() {
      const path = await freshPair();
      const [first, second] = await told('listUsers');
      const resolved = await told('resolveConversation', { path, body: { resolvedBy: first.id } });
      expect(resolved).toMatchObject({ ...path, resolved: true, resolvedBy: first.id });
      // Times have whole seconds: what is stamped again in the next one would show another.
      await wait(1_011 - (Date.now() % 1_000));
      expect(await told('resolveConversation', { path, body: { resolvedBy: second.id } })).toEqual(resolved);
    },
  }),
  ...cases('4.2 control', {
    async 'a token credits its owner, also when it names somebody else or is refused for it'() {
      const [path, asker, owner] = [await freshPair(), await token(), await userId()];
      const resolvedBy = (await told('listUsers')).find(({ id }: { id: number }) => id !== owner).id;
      const { outcome } = await ask('resolveConversation', { path, body: { resolvedBy } }, asker);
      expect(['200', '400 invalid_request']).toContain(outcome);
      expect((await told('resolveConversation', { path }, asker)).resolvedBy).toBe(owner);
    },
  }),
  ...cases('3 write', {
    async 'reopening opens what was resolved and forgets when; it can be resolved again by another'() {
      const path = await freshPair();
      const [first, second] = await told('listUsers');
      await told('resolveConversation', { path, body: { resolvedBy: first.id } });
      const written = { line: `+${path.line}`, number: formatted(path.number) };
      expect(await told('reopenConversation', { path: written })).toEqual({ ...path, ...unresolved });
      const again = await told('resolveConversation', { path, body: { resolvedBy: second.id } });
      expect(again.resolvedBy).toBe(second.id);
    },
    async 'reopening what was never resolved succeeds'() {
      const path = await freshPair();
      expect(await told('reopenConversation', { path })).toEqual({ ...path, ...unresolved });
    },
    async 'assigning and unassigning leave a conversation open or resolved as it was'() {
      const [{ id: userId }] = await told('listUsers');
      for (const isResolved of [false, true]) {
        const path = await freshPair();
        const state = isResolved ? await told('resolveConversation', { path }) : { ...path, ...unresolved };
        for (const body of [{ userId }, { userId: null }, { userId }, {}]) {
          expect(await told('assignConversation', { path, body })).toEqual(state);
        }
      }
    },
    async 'comments leave the state as it was and never stand among the messages'() {
      const path = await freshPair();
      const noted = (comment: string) => told('commentOnConversation', { path, body: { comment } });
      expect(await noted('call her back')).toEqual({ ...path, ...unresolved });
      const resolved = await told('resolveConversation', { path, body: { comment: 'all done' } });
      expect(await noted('was it?')).toEqual(resolved);
      expect((await told('readThread', { path })).messages).toEqual([]);
    },
  }),
  ...refusals('4.2 write', 'resolveConversation', {
    'a resolver who is not on the account is refused': inPair({ resolvedBy: stranger }),
    'a resolver that is no number is refused': inPair({ resolvedBy: 'Miriam' }),
    'an unknown field of a resolve is refused': inPair({ note: 'x' }),
  }),
  ...refusals('4 write', 'resolveConversation', { 'a body that is not JSON is refused': inPair('{"comment":') }),
  ...refusals('4.2 write', 'commentOnConversation', {
    'an empty comment is refused': inPair({ comment: '' }),
    'a missing comment is refused': inPair({}),
    'a comment that is no text is refused': inPair({ comment: 7 }),
    'an unknown field of a comment is refused': inPair({ comment: 'x', colour: 'red' }),
  }),
  ...refusals('4.2 write', 'assignConversation', {
    'assigning to a user who is not on the account is refused': inPair({ userId: stranger }),
    'assigning to a name is refused': inPair({ userId: 'Miriam' }),
    'an unknown field of an assignment is refused': inPair({ userId: null, queue: 'Sales' }),
  }),
];
