import { expect } from 'vitest';
import { type Case, row } from '../case.ts';
import { outcome } from '../harness/reply.ts';
import { scopes } from '../harness/suite.ts';
import { type OperationId, operationOf, operations } from '../operations.ts';

const all = Object.keys(operations) as OperationId[];

/** What holds for each operation alike: credentials, scopes, failures. */
export const everyOperation: readonly Case[] = all.flatMap((operation): Case[] => {
  const { example: request, client, scope, needsUser } = operationOf(operation);
  const only = client === null ? ({ only: 'bare' } as const) : {};
  return [
    {
      name: `${operation} without a credential is unauthenticated, and the challenge names its scope`,
      section: '7',
      operations: [operation],
      needs: 'read',
      only: 'bare',
      async run(context) {
        const reply = await context.bare(operation, request, null);
        expect(outcome(reply)).toEqual({ status: 401, type: 'unauthenticated' });
        expect(reply.headers?.get('www-authenticate')).toMatch(/^Bearer\b/);
        expect(reply.headers?.get('www-authenticate')).toContain(scope);
        expect(JSON.parse(reply.text ?? '')).toEqual({
          error: { type: 'unauthenticated', message: expect.stringMatching(/./) },
        });
      },
    },
    {
      name: `${operation} with a wrong credential is unauthenticated`,
      section: '7',
      operations: [operation],
      needs: 'read',
      ...only,
      async run(context) {
        const reply = await context.ask(operation, request, 'no-such-credential');
        expect(outcome(reply)).toEqual({ status: 401, type: 'unauthenticated' });
      },
    },
    row({
      name: `${operation} with every scope but its own is refused, and its own is named`,
      section: '7',
      operation,
      needs: 'control',
      ...only,
      request,
      as: async (context) => (await context.control.key(scopes.filter((each) => each !== scope))).key,
      expect: { status: 403, type: 'insufficient_scope', scope },
    }),
    {
      name: `${operation} answers internal_error when the service fails`,
      section: '7',
      operations: [operation],
      needs: 'control',
      ...only,
      async run(context) {
        const credential = needsUser ? await context.token() : context.apiKey;
        await context.control.faults({ kind: 'answer' });
        try {
          const reply = await context.ask(operation, request, credential);
          expect(outcome(reply)).toEqual({ status: 500, type: 'internal_error' });
        } finally {
          await context.control.faults();
        }
      },
    },
  ];
});
