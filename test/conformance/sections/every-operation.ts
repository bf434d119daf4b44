import { expect } from 'vitest';
import { type Case, cases, rows } from '../case.ts';
import { operationIds, operationOf } from '../operations.ts';
import { apiKey, ask, filled, newKey, scopes, token, under } from '../service.ts';

/** What holds for each operation alike: credentials, scopes, failures. */
export const everyOperation: readonly Case[] = operationIds.flatMap((id): Case[] => {
  const { example: request, scope, needsUser } = operationOf(id);
  return [
    ...cases('7 read', {
      async [`${id} without a credential is unauthenticated, and the challenge names its scope`]() {
        const { outcome, headers, text } = await ask(id, request, null);
        expect(outcome).toBe('401 unauthenticated');
        expect(headers.get('www-authenticate')).toMatch(/^Bearer\b/);
        expect(headers.get('www-authenticate')).toContain(scope);
        expect(JSON.parse(text)).toEqual({ error: { type: 'unauthenticated', message: filled } });
      },
    }),
    ...rows('7 read', id, {
      [`${id} with a wrong credential is unauthenticated`]: [
        request,
        '401 unauthenticated',
        async () => 'no-such-credential',
      ],
    }),
    ...rows('7 control', id, {
      [`${id} with every scope but its own is refused, and its own is named`]: [
        request,
        `403 insufficient_scope ${scope}`,
        async () => (await newKey(scopes.filter((each) => each !== scope))).key,
      ],
    }),
    ...cases('7 control', {
      async [`${id} answers internal_error when the service fails`]() {
        const credential = needsUser ? await token() : apiKey;
        const { outcome } = await under({ kind: 'answer' }, () => ask(id, request, credential));
        expect(outcome).toBe('500 internal_error');
      },
    }),
  ];
});
