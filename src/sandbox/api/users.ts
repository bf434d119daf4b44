import type { User } from '../account.ts';
import type { Context } from '../context.ts';
import type { Api } from '../http/api.ts';
import { type Credential, credentialOf } from '../http/auth.ts';

/** GET /users (4.5): the one list with a guaranteed order. */
export function userRoutes(api: Api, { store }: Pick<Context, 'store'>): void {
  api.get('/users', {
    config: { scope: 'users:read', permission: 'users' },
    schema: { operationId: 'listUsers' },
    handler: (request) => ({ data: visibleTo(credentialOf(request), store.users.values()).sort(byName) }),
  });
}

/** A token sees the users that its user may see. */
function visibleTo(credential: Credential, users: User[]): User[] {
  if (credential.kind === 'key' || credential.role.users === 'all') return users;
  const visible = new Set([...(credential.role.users ?? []), credential.user.id]);
  return users.filter((user) => visible.has(user.id));
}

function byName(one: User, other: User): number {
  return compare(one.lastName, other.lastName) || compare(one.firstName, other.firstName) || one.id - other.id;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
