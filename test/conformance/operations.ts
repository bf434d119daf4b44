import type { Operation } from './operation.ts';
import { accountOperations } from './operations/account.ts';
import { textingOperations } from './operations/texting.ts';

/** The operations of sections 4.1 to 4.7, by the ids that the OpenAPI document gives them. */
export const operations = { ...textingOperations, ...accountOperations } satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;

export function operationOf(id: OperationId): Operation & { method: string; path: string } {
  const operation: Operation = operations[id];
  const [method = '', path = ''] = operation.route.split(' ');
  return { ...operation, method, path };
}

/** The steps of OAuth (5.3), for which no scope is asked. The client has no method for them. */
export const oauthSteps = {
  discoverOAuth: { section: '5.3', route: 'GET /.well-known/oauth-authorization-server' },
  registerClient: { section: '5.3', route: 'POST /api/v1/oauth/register' },
  authorize: { section: '5.3', route: 'GET /api/v1/oauth/authorize' },
  getTokens: { section: '5.3', route: 'POST /api/v1/oauth/token' },
} as const;

export type StepId = keyof typeof oauthSteps;
