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

/** The steps of OAuth (5.3), for which no scope is asked; they are driven by a client of OAuth rather than by rows. */
export const oauthSteps = {
  discoverOAuth: {
    section: '5.3',
    route: 'GET /.well-known/oauth-authorization-server',
    client: 'oauth.discover',
  },
  registerClient: { section: '5.3', route: 'POST /api/v1/oauth/register', client: 'oauth.register' },
  authorize: { section: '5.3', route: 'GET /api/v1/oauth/authorize', client: 'oauth.begin' },
  getTokens: { section: '5.3', route: 'POST /api/v1/oauth/token', client: 'oauth.complete`, `oauth.refresh' },
} as const;

export type StepId = keyof typeof oauthSteps;
